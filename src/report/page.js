// Draws each plot of the page. What a record holds is data here, never code: specifications are parsed as JSON.
const dark = window.matchMedia("(prefers-color-scheme: dark)");
const letter = 7, widest = 820, narrow = 600;  // in pixels: a letter of a plot, and the width for which specifications are made

function colours(isDark) {
  const text = isDark ? "#e4e7eb" : "#1d2127", quiet = isDark ? "#a0a7b2" : "#5d6470", line = isDark ? "#4a515b" : "#c9ced6";
  return {
    axis: {labelColor: quiet, titleColor: quiet, gridColor: line, domainColor: line, tickColor: line},
    legend: {labelColor: text, titleColor: quiet},
    title: {color: text, subtitleColor: quiet},
    text: {color: quiet},
  };
}

// A long text in lines of so many pixels.
function lines(text, width) {
  if (typeof text !== "string" || text.length * letter <= width) return text;
  const most = Math.max(8, Math.floor(width / letter)), made = [""];
  for (const word of text.split(/(?<=[ ,:._])/)) {
    if (made.at(-1) && (made.at(-1) + word).trimEnd().length > most) made.push("");
    made[made.length - 1] += word;
  }
  return made.map(line => line.trimEnd());
}

function legendColumns(channel, rows, width) {
  const names = channel.scale?.domain ?? [...new Set(rows.map(row => row[channel.field]))];
  const widths = names.map(name => String(name).length * letter + 34);
  if (widths.reduce((sum, each) => sum + each, 0) <= width) return width < narrow ? names.length : channel.legend?.columns;
  return Math.max(1, Math.floor(width / Math.max(...widths)));
}

// Names beside rows take at most a part of the plot: long ones continue in further lines, and rows become as high.
function fitNames(view, width, rows) {
  const channels = [view, ...(view.layer ?? [])].map(each => each.encoding?.y).filter(y => y?.type === "nominal");
  const names = [...new Set(channels.flatMap(y => y.scale?.domain ?? y.sort ?? rows.map(row => row[y.field])))];
  const longest = Math.max(0, ...names.map(name => String(name).length * letter));
  const room = Math.floor(width < narrow ? width * .38 : Math.min(...channels.map(y => y.axis?.labelLimit ?? 320)));
  const letters = Math.floor(room / letter);
  if (longest <= room) return;
  const most = Math.max(...names.map(name => [lines(String(name), letters * letter)].flat().length));
  for (const y of channels) {
    if (y.axis === null) continue;
    y.axis = {...y.axis, labelLimit: room, labelLineHeight: 12, labelFontSize: 11, labelExpr: `lines(${y.axis?.labelExpr ?? "datum.label"}, ${letters * letter})`};
  }
  if (typeof view.height === "number") view.height = Math.max(view.height, names.length * (12 * most + 4));
}

// What a specification says of its texts, for a plot of so many pixels.
function fit(view, width, rows = []) {
  rows = view.data?.values ?? (view.layer ?? []).flatMap(layer => layer.data?.values ?? []).concat(rows);
  fitNames(view, width, rows);
  if (view.title) {
    const title = typeof view.title === "string" ? {text: view.title} : view.title;
    view.title = {...title, text: lines(title.text, width - 40), ...(title.subtitle && {subtitle: lines(title.subtitle, width - 40)})};
  }
  for (const [name, channel] of Object.entries(view.encoding ?? {})) {
    if (name === "x" && channel.title) channel.title = lines(channel.title, width - 120);
    if (channel.axis?.labelAngle && width < narrow) channel.axis.labelAngle = -90;
    if (!["color", "strokeDash", "shape"].includes(name) || !channel.field || channel.legend === null) continue;
    const columns = legendColumns(channel, rows, width - 110);
    if (columns) channel.legend = {...channel.legend, columns, labelLimit: width - 60};
  }
  for (const part of [...(view.layer ?? []), ...(view.vconcat ?? [])]) fit(part, width, rows);
}

// A view alone is fitted by Vega. Of a stack the axes are as wide as names and titles beside them leave room.
async function draw(place, isDark, width) {
  const options = {
    mode: "vega-lite",
    renderer: "svg",
    config: {...colours(isDark), ...(width < narrow && {legend: {...colours(isDark).legend, layout: {top: {direction: "vertical", anchor: "start"}}}})},
    actions: {export: {svg: true, png: true}, source: false, compiled: false, editor: false},
    downloadFileName: place.id,
    expressionFunctions: {lines},
  };
  let beside = 0;
  for (let attempt = 0; attempt < 3; ++attempt) {
    const spec = JSON.parse(place.nextElementSibling.textContent);
    delete spec.$schema;  // of the version that notebooks know; this one draws it as well
    fit(spec, width);
    if (spec.width) spec.width = width;
    for (const view of spec.vconcat ?? []) view.width = Math.max(60, Math.min(view.width, width) - beside);
    place.drawn?.finalize();
    place.drawn = await vegaEmbed(place, spec, options);
    place.view = place.drawn.view;
    const over = Math.ceil(Number(place.querySelector("svg.marks").getAttribute("width")) - width);
    if (!spec.vconcat || over <= 0) return;
    beside += over;
  }
}

// Names of points that would meet on a plot this narrow are under the pointer and in the table only.
function hideMeeting(place) {
  const edge = place.querySelector("svg.marks").getBoundingClientRect(), kept = [];
  for (const side of ["right", "left"]) {
    const [names, leaders] = ["names", "leaders"].map(kind => [...place.querySelectorAll(`.${kind}_${side}_marks > *`)]);
    names.forEach((name, index) => {
      const box = name.getBoundingClientRect();
      const meets = kept.some(other => box.left < other.right && other.left < box.right && box.top < other.bottom && other.top < box.bottom);
      if (!meets && box.left >= edge.left && box.right <= edge.right) kept.push(box);
      else for (const mark of [name, leaders[index]]) mark.style.display = "none";
    });
  }
}

let drawnAs = "";
async function drawAll(isDark) {
  for (const place of document.querySelectorAll(".plot")) {
    try {
      await draw(place, isDark, Math.min(widest, place.clientWidth || widest));
      hideMeeting(place);
    } catch (problem) {
      place.textContent = "This plot cannot be drawn: " + problem.message;
      console.error(problem);
    }
  }
  document.documentElement.dataset.drawn = isDark ? "dark" : "light";
  document.documentElement.dataset.width = window.innerWidth;
}

let resized;
function drawAgain(isDark) {
  const as = `${isDark} ${document.body.clientWidth}`;
  if (as === drawnAs) return;
  drawnAs = as;
  drawAll(isDark);
}

drawAgain(dark.matches);
dark.addEventListener("change", () => drawAgain(dark.matches));
window.addEventListener("resize", () => {
  clearTimeout(resized);
  resized = setTimeout(() => drawAgain(dark.matches), 150);
});
// Paper is white.
window.addEventListener("beforeprint", () => drawAgain(false));
window.addEventListener("afterprint", () => drawAgain(dark.matches));
