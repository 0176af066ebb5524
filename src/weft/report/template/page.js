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
  // paper shows all: what is folded away on the screen is printed
  window.addEventListener("beforeprint", () => {
    for (const folded of document.querySelectorAll("details")) folded.open = true;
  });
})();
