# SPDX-License-Identifier: BSD-3-Clause
"""What is wrong with a page as a browser draws it: scripts that run inside of the page and tell it in words."""

#: Errors of a page from its first line on.
LISTEN = """
window.heard = [];
addEventListener("error", (event) => heard.push(String(event.message)));
addEventListener("unhandledrejection", (event) => heard.push(String(event.reason)));
const tell = console.error;
console.error = (...words) => { heard.push(words.join(" ")); tell(...words); };
"""

#: Colours: a CSS colour as [red, green, blue, opacity], one over another, and the contrast of two by WCAG 2.
COLOURS = """
  const numbers = (text) => {
    const found = text.match(/^rgba?\\(([^)]*)\\)$/);
    const [r, g, b, a] = found ? found[1].split(/[ ,/]+/).map(Number) : [0, 0, 0, 0];
    return [r, g, b, a ?? 1];
  };
  const over = (above, below) => [0, 1, 2].map((k) => above[k] * above[3] + below[k] * (1 - above[3])).concat(1);
  const light = (colour) => {
    const [r, g, b] = colour.slice(0, 3).map((part) => part / 255)
      .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (one, other) => {
    const [low, high] = [light(one), light(other)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  };
  const ground = (each) => {
    const layers = [];
    for (let place = each; place; place = place.parentElement) {
      const colour = numbers(getComputedStyle(place).backgroundColor);
      if (colour[3]) layers.push(colour);
      if (colour[3] === 1) break;
    }
    return layers.reverse().reduce((below, above) => over(above, below), [255, 255, 255, 1]);
  };
"""

#: Where links within the page lead: nowhere, or to one of two places.
ANCHORS = """
  const ids = [...document.querySelectorAll("[id]")].filter((each) => !each.closest("svg")).map((each) => each.id);
  for (const id of new Set(ids.filter((each, k) => ids.indexOf(each) < k))) found.push(`two parts have one id: ${id}`);
  for (const link of document.querySelectorAll("a[href]")) {
    if (link.closest(".vega-embed details, .vega-actions")) continue;
    const to = link.getAttribute("href");
    if (!to.startsWith("#")) { found.push(`a link leads off the page: ${to}`); continue; }
    const place = document.getElementById(decodeURIComponent(to.slice(1)));
    if (!place) { found.push(`a link leads nowhere: ${to}`); continue; }
  }
"""

#: Everything wrong with the page as it is drawn, in words.
FAULTS = (
    """(() => {
  const found = [...heard.map((each) => `console: ${each}`)];
  const folded = [...document.querySelectorAll("details")].filter((each) => !each.open);
  for (const each of folded) each.open = true;
  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth > width) found.push("the page is wider than the window");
  const words = (each) => each.textContent.trim().replace(/\\s+/g, " ").slice(0, 60);
  const blocks = "h1, h2, h3, p, li, summary, dt, dd, figcaption, th, td, button, a, svg";
  for (const each of document.querySelectorAll(blocks)) {
    const box = each.getBoundingClientRect();
    if (!box.width || each.closest(".vega-embed details")) continue;
    const scrolls = each.closest(".wide") || (width < 1280 && each.closest(".canvas"));
    if (!scrolls && (box.right > width + 1 || box.left < -1)) found.push(`clipped: ${each.tagName} ${words(each)}`);
    if (each.scrollWidth > each.clientWidth + 1 && getComputedStyle(each).overflowX === "hidden")
      found.push(`cut off: ${each.tagName} ${words(each)}`);
  }
  for (const each of document.querySelectorAll(".wide")) {  // on a narrow page a wide table may be scrolled, never cut
    const scrolls = ["auto", "scroll"].includes(getComputedStyle(each).overflowX) && width < 1280;
    const box = each.getBoundingClientRect();
    if ((each.scrollWidth > each.clientWidth + 1 && !scrolls) || box.right > width + 1 || box.left < -1)
      found.push(`a table is clipped: ${each.ariaLabel}`);
  }
"""
    + ANCHORS
    + COLOURS
    + """
  const smallest = matchMedia("print").matches ? 4 : 7;  // paper cannot be scrolled, and is finer than a screen
  const beyond = (box, frame, by) => box.left < frame.left - by || box.right > frame.right + by
    || box.top < frame.top - by || box.bottom > frame.bottom + by;
  const faint = (colour, below, size, weight, what) => {
    const large = size >= 24 || (size >= 18.66 && weight >= 700);
    const ratio = contrast(over(colour, below), below);
    if (ratio < (large ? 3 : 4.5) - 0.05) found.push(`too little contrast (${ratio.toFixed(1)}): ${what}`);
  };
  const walker = document.createTreeWalker(document.querySelector("body"), NodeFilter.SHOW_TEXT);
  const seen = new Set();
  const silent = "svg, script, style, noscript, .vega-embed details";
  while (walker.nextNode()) {
    const place = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || seen.has(place) || place.closest(silent)) continue;
    seen.add(place);
    if (!place.getClientRects().length) continue;
    const odd = /\\b(NaN|undefined|Infinity|null)\\b|^None$|\\[object /;
    if (odd.test(walker.currentNode.data.trim())) found.push(`no word for people: ${words(place)}`);
    const style = getComputedStyle(place);
    faint(numbers(style.color), ground(place), parseFloat(style.fontSize), +style.fontWeight, words(place));
  }
  for (const svg of document.querySelectorAll(".canvas svg.marks, .picture svg")) {
    const texts = [...svg.querySelectorAll("text")]
      .filter((each) => each.textContent.trim() && getComputedStyle(each).opacity !== "0")
      .filter((each) => getComputedStyle(each).stroke === "none");  // a halo lies under its own text
    const boxes = texts.map((each) => each.getBoundingClientRect());
    const own = svg.getBoundingClientRect();
    if (own.width < 120 || own.height < 40) found.push(`a figure is empty: ${svg.closest("figure")?.id}`);
    const filled = [...svg.querySelectorAll(".mark-rect path, .mark-arc path, .mark-area path, rect, image")]
      .map((each) => [each, each.getBoundingClientRect()]);
    const turned = texts.map((each) => { const m = each.getScreenCTM(); return Math.atan2(m.b, m.a); });
    // boxes of slanted labels overlap where their lines lie beside each other
    const beside = (i, j) => {
      if (turned[i] !== turned[j] || Math.abs(Math.sin(2 * turned[i])) < 0.1) return false;
      const [x, y] = ["x", "y"].map((axis) => {
        const [from, to] = axis === "x" ? ["left", "right"] : ["top", "bottom"];
        return (boxes[i][from] + boxes[i][to] - boxes[j][from] - boxes[j][to]) / 2;
      });
      return Math.abs(x * Math.sin(turned[i]) - y * Math.cos(turned[i])) > 8;
    };
    for (let i = 0; i < boxes.length; i++) {
      for (let j = 0; j < i; j++) {
        const across = Math.min(boxes[i].right, boxes[j].right) - Math.max(boxes[i].left, boxes[j].left);
        const down = Math.min(boxes[i].bottom, boxes[j].bottom) - Math.max(boxes[i].top, boxes[j].top);
        if (across > 2 && down > 4 && !beside(i, j))
          found.push(`labels overlap: "${words(texts[j])}" and "${words(texts[i])}"`);
      }
      const [x, y] = [(boxes[i].left + boxes[i].right) / 2, (boxes[i].top + boxes[i].bottom) / 2];
      let below = ground(svg.parentElement);
      for (const [each, box] of filled) {
        const under = each.compareDocumentPosition(texts[i]) & Node.DOCUMENT_POSITION_FOLLOWING;
        if (!under || x < box.left || x > box.right || y < box.top || y > box.bottom) continue;
        const style = getComputedStyle(each);
        const colour = numbers(style.fill);
        below = over([...colour.slice(0, 3), colour[3] * style.fillOpacity * style.opacity], below);
      }
      const style = getComputedStyle(texts[i]);
      const colour = numbers(style.fill);
      const whole = [...colour.slice(0, 3), colour[3] * style.fillOpacity * style.opacity];
      faint(whole, below, parseFloat(style.fontSize), +style.fontWeight, `figure, ${words(texts[i])}`);
      if (beyond(boxes[i], own, 2)) found.push(`a label is cut off: ${words(texts[i])}`);
      const drawn = parseFloat(style.fontSize) * Math.hypot(texts[i].getScreenCTM().a, texts[i].getScreenCTM().b);
      if (drawn < smallest) found.push(`a label is too small (${drawn.toFixed(1)} px): ${words(texts[i])}`);
    }
    if (/NaN|Infinity|undefined/.test([...svg.querySelectorAll("path, line, rect")]
      .map((each) => `${each.getAttribute("d")}${each.getAttribute("transform")}`).join(" ")))
      found.push(`a mark has no place: ${svg.closest("figure")?.id}`);
    const frame = svg.querySelector("g.mark-group path.background");
    if (!frame || !svg.querySelector("g.role-axis")) continue;
    const plot = frame.getBoundingClientRect();
    for (const legend of svg.querySelectorAll("g.role-legend")) {
      const box = legend.getBoundingClientRect();
      if (Math.min(box.right, plot.right) - Math.max(box.left, plot.left) > 2
        && Math.min(box.bottom, plot.bottom) - Math.max(box.top, plot.top) > 2)
        found.push(`a legend lies over the marks: ${svg.closest("figure")?.id}`);
    }
    for (const mark of svg.querySelectorAll("g.mark-symbol.role-mark path")) {
      const box = mark.getBoundingClientRect();
      const [x, y] = [(box.left + box.right) / 2, (box.top + box.bottom) / 2];
      if (x < plot.left - 2 || x > plot.right + 2 || y < plot.top - 2 || y > plot.bottom + 2)
        found.push(`a mark is outside of the axes: ${svg.closest("figure")?.id}`);
    }
    const lines = ["line path", "rule line", "area path", "rect path"].map((each) => {
      const [kind, part] = each.split(" ");
      return `g.mark-${kind}.role-mark ${part}`;
    });
    for (const mark of svg.querySelectorAll(lines.join())) {
      if (mark.closest("[clip-path]")) continue;
      if (beyond(mark.getBoundingClientRect(), plot, 3))
        found.push(`a line is outside of the axes: ${svg.closest("figure")?.id}`);
    }
  }
  for (const each of folded) each.open = false;
  return [...new Set(found)];
})()"""
)


#: Tables that reach beyond the paper, and what stays folded on it.
CUT = """(() => {
  const width = document.documentElement.clientWidth;
  const found = [];
  for (const each of document.querySelectorAll("table"))
    if (each.getBoundingClientRect().right > width + 1)
      found.push(`cut on paper: ${each.textContent.trim().slice(0, 60)}`);
  for (const each of document.querySelectorAll("main details:not([open])"))
    if (!each.closest(".vega-embed")) found.push(`folded on paper: ${each.querySelector("summary").textContent}`);
  return found;
})()"""
