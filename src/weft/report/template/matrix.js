// SPDX-License-Identifier: BSD-3-Clause
// Finds its picture by its position on the page, so that several pictures need no names.
(() => {
  const own = document.currentScript, data = JSON.parse(own.previousElementSibling.textContent);
  const line = own.parentElement.querySelector(".pointed"), svg = own.parentElement.querySelector(".picture svg");
  const exact = new Float32Array(Uint8Array.from(atob(data.exact), (c) => c.charCodeAt(0)).buffer);
  const [left, top, side, width] = data.box, count = data.nodes.length, ranks = data.ends[count - 1];
  const node = (share) => data.ends.findIndex((end) => share * ranks < end);
  const idle = line.textContent;
  svg.addEventListener("pointermove", (event) => {
    const place = svg.getBoundingClientRect(), scale = width / place.width;
    const column = node(((event.clientX - place.left) * scale - left) / side);
    const row = node(((event.clientY - place.top) * scale - top) / side);
    const beyond = event.clientX < place.left + left / scale || event.clientY < place.top + top / scale;
    const inside = column >= 0 && row >= 0 && !beyond;
    if (!inside) { line.textContent = idle; return; }
    const value = exact[row * count + column], [unit, size] = data.unit;
    const text = Number.isNaN(value) ? "not measured" : `${(value / size).toPrecision(3)} ${unit}, ${data.what}`;
    line.textContent = `${data.nodes[row]} \u2192 ${data.nodes[column]}: ${text}`;
    svg.dataset.pointed = line.textContent;
  });
  svg.addEventListener("pointerleave", () => { line.textContent = idle; });
})();
