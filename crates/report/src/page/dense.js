// Lines of many readings, drawn by uPlot where the page's drawing has not room for all: the cursor tells values, dragging enlarges,
// a double click shows all again. Without this the drawing stays, and it is what is printed.
"use strict";
(() => {
  const { pictures } = JSON.parse(document.getElementById("powerband").textContent);
  const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  // As the drawings have them: the reference of ink, then the eight colours.
  const colour = (setting) => style(setting === 0 ? "--pb-ink" : `--pb-${((setting - 1) % 8) + 1}`);
  const off = new Set();
  const plots = [];

  const draw = ({ title, dense }, holder) => {
    const { step_s, unit, lines } = dense;
    const length = Math.max(...lines.map(({ low }) => low.length)) + 1;
    const values = [Array.from({ length }, (_, column) => column * step_s)];
    const series = [{ label: "s", value: (_, at) => (at == null ? "–" : at.toFixed(2)) }];
    const bands = [];
    const add = (label, setting, cells) => {
      // The last value holds until the end of its column.
      const padded = cells.concat(cells.at(-1), Array(length).fill(null)).slice(0, length);
      values.push(padded);
      series.push({
        label, setting, stroke: () => colour(setting), width: 1.2, points: { show: false }, show: !off.has(String(setting)),
        paths: uPlot.paths.stepped({ align: 1 }),
        value: (_, value) => (value == null ? "–" : `${Number(value.toPrecision(5))} ${unit}`),
      });
      return series.length - 1;
    };
    for (const { label, setting, low, high } of lines) {
      const least = add(high ? `${label}, least` : label, setting, low);
      if (!high) continue;
      const most = add(`${label}, most`, setting, high);
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
    const columns = readings > 1 ? `A column stands for up to ${readings} readings.` : "Here every reading is shown.";
    hint.textContent = `Drag to enlarge, double-click to see all. ${columns}`;
    drawing.after(holder);
    holder.append(hint);
    drawing.classList.add("plotted");
    const entry = { plot: draw(picture, holder), again: () => { entry.plot.destroy(); entry.plot = draw(picture, holder); } };
    plots.push(entry);
    new ResizeObserver(() => {
      const width = Math.max(200, holder.clientWidth);
      if (width !== entry.plot.width) entry.plot.setSize({ width, height: 280 });
    }).observe(holder);
  }
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => plots.forEach(({ again }) => again()));
  document.addEventListener("powerband:picked", ({ detail: { setting, on } }) => {
    if (on) off.delete(setting);
    else off.add(setting);
    for (const { plot } of plots)
      plot.series.forEach((line, place) => { if (String(line.setting) === setting) plot.setSeries(place, { show: on }); });
  });
})();
