// SPDX-License-Identifier: BSD-3-Clause
// Draws each chart from the specification that stands inside its place, and says on the page itself when one fails.
(() => {
  const options = {
    renderer: "svg",
    actions: { export: { svg: true, png: true }, source: false, compiled: false, editor: false },
  };
  const draw = async (place) => {
    const specification = JSON.parse(place.querySelector("script").textContent);
    const canvas = document.createElement("div");
    canvas.className = "canvas";
    place.append(canvas);
    try {
      // a menu on each of many small panels would be in the way; the page's folder has them as files
      const several = place.parentElement.classList.contains("several");
      await window.vegaEmbed(canvas, specification, { ...options, actions: several ? false : options.actions });
      place.dataset.drawn = "yes";
    } catch (problem) {
      place.append(`This figure could not be drawn: ${problem.message}`);
      console.error(problem);
    }
  };
  for (const place of document.querySelectorAll(".chart")) draw(place);
  const field = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
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
    const rows = [...button.parentElement.querySelectorAll("tr")];
    const cells = (row) => [...row.cells].map((cell) => field(cell.textContent.trim().replace(/\s+/g, " ")));
    button.hidden = false;
    button.addEventListener("click", async () => {
      await copy(rows.map((row) => cells(row).join(",")).join("\n") + "\n");
      button.textContent = "Copied";
    });
  }
  // paper shows all: what is folded away on the screen is printed
  window.addEventListener("beforeprint", () => {
    for (const folded of document.querySelectorAll("details")) folded.open = true;
  });
})();
