// Draws each plot of the page. What a record holds is data here, never code: specifications are parsed as JSON.
const dark = window.matchMedia("(prefers-color-scheme: dark)");

function colours(isDark) {
  const text = isDark ? "#e4e7eb" : "#1d2127", quiet = isDark ? "#a0a7b2" : "#5d6470", line = isDark ? "#4a515b" : "#c9ced6";
  return {
    axis: {labelColor: quiet, titleColor: quiet, gridColor: line, domainColor: line, tickColor: line},
    legend: {labelColor: text, titleColor: quiet},
    title: {color: text, subtitleColor: quiet},
  };
}

async function drawAll(isDark) {
  for (const place of document.querySelectorAll(".plot")) {
    const spec = JSON.parse(place.nextElementSibling.textContent);
    delete spec.$schema;  // of the version that notebooks know; this one draws it as well
    const options = {
      mode: "vega-lite",
      renderer: "svg",
      config: colours(isDark),
      actions: {export: {svg: true, png: true}, source: false, compiled: false, editor: false},
      downloadFileName: place.id,
    };
    try {
      const drawn = await vegaEmbed(place, spec, options);
      place.view = drawn.view;
    } catch (problem) {
      place.textContent = "This plot cannot be drawn: " + problem.message;
      console.error(problem);
    }
  }
  document.documentElement.dataset.drawn = isDark ? "dark" : "light";
}

drawAll(dark.matches);
dark.addEventListener("change", () => drawAll(dark.matches));
// Paper is white.
window.addEventListener("beforeprint", () => { if (dark.matches) drawAll(false); });
window.addEventListener("afterprint", () => { if (dark.matches) drawAll(true); });
