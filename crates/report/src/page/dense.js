// Lines of many readings, drawn by uPlot where the page's drawing has not room for all: the cursor tells values, dragging enlarges,
// a double click shows all again. Without this the drawing stays, and it is what is printed.
"use strict";
(() => {
  const { pictures } = JSON.parse(document.getElementById("powerband").textContent);
  const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  // As the drawings have them: the reference of ink, then the eight colours, and dashes that say the same without colour.
  const property = (setting) => (setting === 0 ? "--pb-ink" : `--pb-${((setting - 1) % 8) + 1}`);
  const colour = (setting) => style(property(setting));
  const DASHES = [[], [6, 3], [2, 2.5], [8, 3, 2, 3]];
  const dash = (line) => DASHES[(line + Math.floor(line / 8)) % 4];
  // A piece of the line as it is drawn, in place of uPlot's box of colour; it follows the page's colours by itself.
  const sample = (setting, line) => {
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    const piece = document.createElementNS("http://www.w3.org/2000/svg", "line");
    for (const [name, value] of [["class", "sample"], ["viewBox", "0 0 26 8"], ["width", 26], ["height", 8], ["aria-hidden", "true"]])
      svg.setAttribute(name, value);
    for (const [name, value] of [["x2", 26], ["y1", 4], ["y2", 4], ["stroke", `var(${property(setting)})`], ["stroke-width", 2], ["stroke-dasharray", dash(line).join(" ")]])
      piece.setAttribute(name, value);
    svg.append(piece);
    return svg;
  };
  const off = new Set();
  const plots = [];

  const draw = ({ title, dense }, holder) => {
    const { step_s, unit, lines } = dense;
    const length = Math.max(...lines.map(({ low }) => low.length)) + 1;
    const values = [Array.from({ length }, (_, column) => column * step_s)];
    const series = [{ label: "at, s", value: (_, at) => (at == null ? "–" : at.toFixed(2)) }];
    const bands = [];
    const add = (label, setting, line, cells) => {
      // The last value holds until the end of its column.
      const padded = cells.concat(cells.at(-1), Array(length).fill(null)).slice(0, length);
      values.push(padded);
      series.push({
        label, setting, line, stroke: () => colour(setting), dash: dash(line), width: 1.2, points: { show: false }, show: !off.has(String(setting)),
        paths: uPlot.paths.stepped({ align: 1 }),
        value: (_, value) => (value == null ? "–" : `${Number(value.toPrecision(5))} ${unit}`),
      });
      return series.length - 1;
    };
    for (const [line, { label, setting, low, high }] of lines.entries()) {
      const least = add(high ? `${label}, least` : label, setting, line, low);
      if (!high) continue;
      const most = add(`${label}, most`, setting, line, high);
      bands.push({ series: [most, least], fill: () => `${colour(setting)}40` });
    }
    const axis = (label, size) => ({
      label, size, stroke: () => style("--pb-ink"), font: "12px system-ui", labelFont: "12px system-ui",
      grid: { stroke: () => style("--pb-grid"), width: 1 }, ticks: { stroke: () => style("--pb-grid"), width: 1 },
    });
    const plot = new uPlot({
      width: Math.max(200, holder.clientWidth), height: 280, series, bands, scales: { x: { time: false } },
      axes: [axis("seconds from the first reading", 36), axis(unit, 56)],
      cursor: { drag: { x: true, y: false }, points: { size: 6 } },
    }, values, holder);
    plot.root.querySelectorAll(".u-legend .u-series").forEach((row, place) => {
      const { setting, line } = plot.series[place];
      const marker = row.querySelector(".u-marker");
      if (line !== undefined) marker.replaceWith(sample(setting, line));
      else marker?.remove();
    });
    plot.root.setAttribute("role", "group");
    plot.root.setAttribute("aria-label", title);
    plot.root.querySelector("canvas").setAttribute("aria-hidden", "true");
    return plot;
  };

  for (const picture of pictures.filter(({ dense }) => dense)) {
    const drawing = document.querySelector(`#picture-${picture.id} .picture`);
    const holder = document.createElement("div");
    const hint = document.createElement("p");
    holder.className = "dense";
    hint.className = "hint";
    const { readings } = picture.dense;
    const columns = readings > 1 ? `A column covers up to ${readings} readings.` : "Here every reading is shown.";
    hint.textContent = `Drag to enlarge, double-click to see all. ${columns}`;
    drawing.after(holder);
    holder.append(hint);
    drawing.classList.add("plotted");
    // What the words say of columns is true of the drawing, which stays for paper.
    const words = drawing.closest("figure").querySelector("details p");
    const [told, ofColumns] = words.textContent.split(/(?= Each column covers )/);
    if (ofColumns) {
      const onPaper = document.createElement("span");
      onPaper.className = "on-paper";
      onPaper.textContent = ofColumns;
      words.replaceChildren(told, onPaper);
    }
    const plot = draw(picture, holder);
    plots.push(plot);
    new ResizeObserver(() => {
      const width = Math.max(200, holder.clientWidth);
      if (width !== plot.width) plot.setSize({ width, height: 280 });
    }).observe(holder);
  }
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => plots.forEach((plot) => plot.redraw(false, false)));
  document.addEventListener("powerband:picked", ({ detail: { setting, on } }) => {
    if (on) off.delete(setting);
    else off.add(setting);
    for (const plot of plots)
      plot.series.forEach((line, place) => { if (String(line.setting) === setting) plot.setSeries(place, { show: on }); });
  });
})();
