// SPDX-License-Identifier: BSD-3-Clause
// Zoom and pan move the view of the raster; what is under the pointer is read from its colours.
(() => {
  const own = document.currentScript, data = JSON.parse(own.previousElementSibling.textContent);
  const figure = own.parentElement, svg = figure.querySelector("svg.timeline"), lanes = svg.querySelector("svg.lanes");
  const ticks = [...svg.querySelectorAll(".ticks text")], line = figure.querySelector(".zoom");
  const image = lanes.querySelector("image"), columns = lanes.viewBox.baseVal.width, pointed = line.querySelector("span");
  const [left, inner, width] = data.box, pixels = document.createElement("canvas").getContext("2d");
  let from = 0, wide = columns;
  const time = (s) => {
    const [unit, size] = s >= 1 || s === 0 ? ["s", 1] : s >= 1e-3 ? ["ms", 1e-3] : s >= 1e-6 ? ["us", 1e-6]
      : ["ns", 1e-9];
    return `${Number((s / size).toPrecision(wide < columns ? 5 : 3))} ${unit}`;
  };
  const at = (column) => data.seconds * column / columns;
  const draw = () => {
    wide = Math.min(columns, Math.max(16, wide));
    from = Math.min(columns - wide, Math.max(0, from));
    lanes.setAttribute("viewBox", `${from} 0 ${wide} ${data.height}`);
    ticks.forEach((each, k) => { each.textContent = time(at(from + wide * k / 4)); });
    svg.dataset.view = `${Math.round(from)} ${Math.round(wide)}`;
  };
  const share = (event) => {
    const place = svg.getBoundingClientRect();
    return ((event.clientX - place.left) * width / place.width - left) / inner;
  };
  const zoom = (by, centre) => { from += centre * wide * (1 - by); wide *= by; draw(); };
  line.hidden = false;
  line.addEventListener("click", (event) => {
    const by = Number(event.target.dataset.by ?? NaN);
    if (by) zoom(by, 0.5); else if (by === 0) { from = 0; wide = columns; draw(); }
  });
  svg.addEventListener("wheel", (event) => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    zoom(event.deltaY < 0 ? 0.7 : 1 / 0.7, Math.min(1, Math.max(0, share(event))));
  }, { passive: false });
  let last = null;
  svg.addEventListener("pointerdown", (event) => { last = event.clientX; svg.setPointerCapture(event.pointerId); });
  svg.addEventListener("pointerup", () => { last = null; });
  const source = new Image();
  source.onload = () => {
    pixels.canvas.width = source.width; pixels.canvas.height = source.height;
    pixels.drawImage(source, 0, 0);
  };
  source.src = image.getAttribute("href");
  const near = ([r, g, b, a]) => data.colours.map(([name, text]) => {
    const [x, y, z] = [1, 3, 5].map((k) => parseInt(text.slice(k, k + 2), 16));
    return [Math.abs(x - r) + Math.abs(y - g) + Math.abs(z - b), name];
  }).reduce((one, other) => (one[0] <= other[0] ? one : other), [1e9, ""])[1];
  svg.addEventListener("pointermove", (event) => {
    if (last !== null) {
      from -= (event.clientX - last) * width / svg.getBoundingClientRect().width / inner * wide;
      last = event.clientX;
      draw();
    }
    const place = lanes.getBoundingClientRect(), down = (event.clientY - image.getBoundingClientRect().top);
    const tall = image.getBoundingClientRect().height, column = from + wide * share(event);
    if (down < 0 || down >= tall || column < 0 || column >= columns) { pointed.textContent = ""; return; }
    const seen = pixels.getImageData(Math.floor(column), Math.floor(down / tall * pixels.canvas.height), 1, 1).data;
    const rank = data.ranks[Math.floor(down / tall * data.ranks.length)];
    pointed.textContent = `rank ${rank}, ${time(at(column))}: ${seen[3] ? near(seen) : "not traced"}`;
    svg.dataset.pointed = pointed.textContent;
  });
})();
