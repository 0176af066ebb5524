// SPDX-License-Identifier: BSD-3-Clause
// Draws each chart from the specification that stands inside its place, and says on the page itself when one fails.
(() => {
  const options = {
    renderer: "svg",
    actions: false, // weft report --figures writes files
  };
  // a drawing shrinks to the window only as far as its smallest words can be read; beyond that it scrolls
  const legible = (canvas) => {
    const svg = canvas.querySelector("svg.marks");
    const sizes = [...svg.querySelectorAll("text")].map((each) => parseFloat(getComputedStyle(each).fontSize));
    const least = Math.min(1, 7.1 / Math.min(...sizes)) * parseFloat(svg.getAttribute("width"));
    // panels that would be narrower than that beside each other stand one below the other
    if (least > canvas.closest(".chart").clientWidth + 1) canvas.closest(".panels").classList.add("stacked");
    if (Number.isFinite(least) && least > svg.getBoundingClientRect().width) svg.style.minWidth = `${Math.ceil(least)}px`;
  };
  const draw = async (place) => {
    const specification = JSON.parse(place.querySelector("script").textContent);
    const canvas = document.createElement("div");
    canvas.className = "canvas";
    place.append(canvas);
    try {
      const { view, vgSpec } = await window.vegaEmbed(canvas, specification, options);
      // Vega's own double click is not heard over a line or in the legend
      if (vgSpec.data.some((each) => each.name === "chosen_store"))
        canvas.addEventListener("dblclick", () => view.data("chosen_store", []).runAsync());
      legible(canvas);
      place.dataset.drawn = "yes";
    } catch (problem) {
      place.append(`This figure could not be drawn: ${problem.message}`);
      console.error(problem);
    }
  };
  // what is folded away is drawn when it is opened: charts fill a width that is not known before
  const pending = (within) => [...within.querySelectorAll(".chart")].filter((each) => !each.querySelector(".canvas"));
  const folded = (place) => place.closest("details:not([open])");
  const drawSeen = (within) => pending(within).filter((each) => !folded(each)).forEach(draw);
  drawSeen(document);
  document.addEventListener("toggle", (event) => { if (event.target.open) drawSeen(event.target); }, true);
  // a spreadsheet takes what begins with one of these for a formula; the apostrophe says that it is text
  const inert = (text) => (/^[=+@]|^-(?![\d.])/.test(text) ? `'${text}` : text);
  const field = (text) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const tidy = (text) => text.trim().replace(/\s+/g, " ");
  const number = (text) => (/^-?\d{1,3}(,\d{3})+(\.\d+)?(?![\d,])/.test(text) ? text.replace(/(\d),(?=\d{3})/g, "$1") : text);
  // the small text of a cell (an interval, the bound's name) is a column of its own, wherever a column has one
  const grid = (table) => {
    const rows = [...table.rows].map((row) => [...row.cells].map((cell) => {
      const small = cell.querySelector("small");
      const whole = tidy(cell.textContent);
      const beside = small ? tidy(small.textContent) : "";
      return small ? [number(tidy(cell.firstChild.textContent)), beside] : [number(whole), ""];
    }));
    const double = rows[0].map((_, k) => rows.some((row) => row[k]?.[1]));
    return rows.map((row) => row.flatMap(([main, small], k) => (double[k] ? [main, small] : [main])));
  };
  const copy = async (text) => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {  // a page opened as a file may not write there
      const area = document.createElement("textarea");
      area.value = text;
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
  };
  for (const button of document.querySelectorAll("button.copy")) {
    const table = button.parentElement.querySelector("table");
    button.hidden = false;
    button.addEventListener("click", async () => {
      await copy(grid(table).map((row) => row.map((text) => field(inert(text))).join(",")).join("\n") + "\n");
      button.textContent = "Copied";
    });
  }
  // paper shows all: what is folded away on the screen is printed
  window.addEventListener("beforeprint", () => {
    for (const folded of document.querySelectorAll("details")) folded.open = true;
  });
})();
