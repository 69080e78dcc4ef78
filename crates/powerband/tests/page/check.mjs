// Report pages in a real browser, as their readers meet them: from a file, without a network.
//
//   node check.mjs MODULES FOLDER [SHOTS]
//
// MODULES is the folder npm filled, FOLDER holds the pages (*.html), SHOTS takes pictures of them where it is given.
// Prints a line of JSON for each thing that is wrong (page, picture where it is one's, what), and ends with 1 if there is one.
import { readFileSync, readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [modules, folder, shots] = process.argv.slice(2);
const require = createRequire(join(resolve(modules), "package.json"));
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

// A4 less the margins of the pages' @page, in CSS pixels.
const A4_HEIGHT_PX = ((297 - 30) / 25.4) * 96;
const A4_WIDTH_PX = ((210 - 30) / 25.4) * 96;

// Pages that are looked at at the same time.
const AT_ONCE = 2;

// How long anything may take that is waited for; far beyond what it takes.
const PATIENCE_MS = 120_000;

// Whether something becomes so.
const becomes = async (so) => {
  for (const end = performance.now() + PATIENCE_MS; performance.now() < end; await new Promise((wait) => setTimeout(wait, 20)))
    if (await so()) return true;
  return false;
};

const wrong = [];
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"], timeout: PATIENCE_MS });

// What a page is asked, inside it. Each returns sentences about what is wrong.
const overflows = () => {
  const wide = document.documentElement.scrollWidth;
  return wide > window.innerWidth ? [`it is ${wide} px wide in a window of ${window.innerWidth}`] : [];
};
// Whether points lie where the scales of their axes put their values, and the table of the picture has these values.
const misplaced = (picture, points) => {
  const told = [];
  const axis = (mark, name) => {
    for (let up = mark.parentElement; up; up = up.parentElement) {
      const found = [...up.children].find((child) => child.dataset?.axis === name);
      if (found) return found.dataset.scale.split(" ");
    }
  };
  const share = (kind, value, low, high) => (kind === "log" ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low));
  const numbers = picture.rows.map((row) => row.map((cell) => Number.parseFloat(cell)));
  // As a mark shows a name: what cannot be seen stands as its code point.
  const seen = (text) => text.replace(/[\n\t]/g, " ").replace(
    /[\p{Cc}\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ufffe\uffff]/gu,
    (c) => `U+${c.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`);
  const names = picture.rows.map((row) => row.map(seen));
  // A cell has four digits, a path its places to a hundredth.
  const says = (row, value) => row.some((cell) => Math.abs(cell - value) <= Math.abs(value) * 6e-4 + 1e-9);
  for (const mark of points) {
    const { x, y, label } = mark.dataset;
    for (const [name, value, side] of [["x", x, "left"], ["y", y, "top"]]) {
      if (value === undefined) continue;
      const scale = axis(mark, name);
      if (!scale) { told.push(`${picture.id} has no ${name} axis for ${label}`); continue; }
      const [low, high, from, to] = scale.slice(1).map(Number);
      const place = from + share(scale[0], Number(value), low, high) * (to - from);
      const own = Number(mark.getAttribute(`c${name}`) ?? mark.getAttribute(`data-c${name}`));
      if (!(Math.abs(place - own) < 0.06)) told.push(`${picture.id} draws ${name} ${value} of ${label} at ${own}, not at ${place}`);
      // Where the browser has put it: the middle of a disc, somewhere inside of any other shape.
      const box = mark.getBoundingClientRect();
      const matrix = mark.getScreenCTM();
      const seen = name === "x" ? matrix.a * place + matrix.e : matrix.d * place + matrix.f;
      const [first, last] = name === "x" ? [box.left, box.right] : [box.top, box.bottom];
      const off = mark.tagName === "circle" ? Math.abs((first + last) / 2 - seen) : Math.max(first - seen, seen - last);
      if (off > 0.6) told.push(`${picture.id} shows ${name} ${value} of ${label} ${off.toFixed(1)} px off`);
    }
    // A tail has shares up its axis, which its numbers name as percentiles.
    const value = Number(picture.id.startsWith("tail-") ? x : y ?? x);
    const row = numbers.findIndex((cells, at) => says(cells, value) && (!label || names[at].some((cell) => cell.includes(label) || label.includes(cell))));
    if (row < 0 && !/^(?:[a-z0-9-]*-)?(?:claims|again)-/.test(picture.id)) told.push(`the numbers of ${picture.id} have no ${value} of ${label}`);
  }
  return told;
};
// Whether intervals, bars, strips and lines have the lengths, heights and corners that their values, or the numbers of the
// picture, ask for.
const misshapen = (picture, marks) => {
  const told = [];
  const scaleOf = (mark, name) => {
    for (let up = mark.parentElement; up; up = up.parentElement) {
      const found = [...up.children].find((child) => child.dataset?.axis === name);
      if (!found) continue;
      const [kind, ...ends] = found.dataset.scale.split(" ");
      const [low, high, from, to] = ends.map(Number);
      const part = (value) => (kind === "log" ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low));
      const value = (place) => {
        const part = (place - from) / (to - from);
        return kind === "log" ? low * (high / low) ** part : low + part * (high - low);
      };
      return { value, place: (value) => Math.min(Math.max(from, to), Math.max(Math.min(from, to), from + part(value) * (to - from))) };
    }
  };
  const corners = (mark) => {
    let [x, y] = [0, 0];
    return [...mark.getAttribute("d").matchAll(/([MLHV])(-?[\d.]+)(?: (-?[\d.]+))?/g)].map(([, sign, one, other]) => {
      [x, y] = sign === "H" ? [Number(one), y] : sign === "V" ? [x, Number(one)] : [Number(one), Number(other)];
      return [x, y];
    });
  };
  const number = (name) => picture.columns.findIndex((column) => column === name || column.startsWith(`${name},`));
  const rowOf = (label) => picture.rows.find((row) => row[0] === label || `${row[0]}, ${row[1]}` === label);
  for (const mark of marks) {
    const { label, x, y, low, high } = mark.dataset;
    const whose = label ? `of ${label}` : "without a name";
    if (mark.matches(".pb-interval")) {
      const across = mark.dataset.x1 !== undefined;
      const scale = scaleOf(mark, across ? "x" : "y");
      const ends = across ? [mark.dataset.x1, mark.dataset.x2] : [mark.dataset.y1, mark.dataset.y2];
      const off = [low, high].map((end, at) => Math.abs(scale.place(Number(end)) - Number(ends[at])));
      if (!(Math.max(...off) < 0.06)) told.push(`draws the interval ${low} .. ${high} ${whose} at ${ends}`);
    } else if (mark.matches(".pb-bar") && picture.id.startsWith("use-")) {
      const scale = scaleOf(mark, "x");
      const [left, wide] = [Number(mark.getAttribute("x")), Number(mark.getAttribute("width"))];
      if (!(Math.abs(scale.place(Number(x)) - left - wide) < 0.06 && Math.abs(scale.place(0) - left) < 0.06))
        told.push(`draws the bar ${x} ${whose} from ${left}, ${wide} long`);
      const row = rowOf(label);
      if (!row || Math.abs(Number(row[number("mean")]) - Number(x)) > 1e-3 * Math.abs(x) + 1e-9) told.push(`has no mean ${x} ${whose} in its numbers`);
    } else if (mark.matches(".pb-strip")) {
      // Its mean height is its mean value, as a share of what fills a strip (told in the description).
      const full = Number(/a full strip is ([\d.]+)/.exec(document.querySelector(`#picture-${picture.id} svg desc`).textContent)?.[1]);
      const [ground, top] = [Number(mark.dataset.y0), Number(mark.dataset.y1)];
      const path = corners(mark);
      let sum = 0;
      for (let at = 1; at < path.length; at++) sum += (path[at][0] - path[at - 1][0]) * (ground - path[at - 1][1]);
      const mean = (sum / (path.at(-1)[0] - path[0][0]) / (ground - top)) * full;
      // The last reading counts in the mean and has no width.
      const last = (Number(high) - Number(low)) / Number(rowOf(label)?.[number("readings")]);
      if (!(Math.abs(mean - Number(y)) <= 0.02 * full + last)) told.push(`draws a strip ${whose} whose mean is ${mean}, not ${y}`);
    } else if (mark.matches(".pb-step") && !picture.id.startsWith("tail-") && number("least") > 0 && number("most") > 0) {
      const scale = scaleOf(mark, "y");
      const ys = corners(mark).map(([, y]) => scale.value(y));
      const row = rowOf(label);
      const near = (found, cell) => Math.abs(found - Number(cell)) <= 2e-3 * Math.abs(cell) + 1e-9;
      if (!row || !near(Math.min(...ys), row[number("least")]) || !near(Math.max(...ys), row[number("most")]))
        told.push(`draws a line ${whose} from ${Math.min(...ys)} to ${Math.max(...ys)}, which its numbers do not have`);
    } else if (mark.matches(".pb-line")) {
      // Straight lines go from point to point, where points are drawn.
      const points = [...mark.parentElement.querySelectorAll(".pb-point")].map((point) => [point.getAttribute("cx") ?? point.dataset.cx, point.getAttribute("cy") ?? point.dataset.cy].join());
      const loose = points.length ? corners(mark).filter((corner) => !points.includes(corner.join())) : [];
      if (loose.length) told.push(`draws a line ${whose} by ${loose[0]}, where no point is`);
    }
  }
  return told.map((what) => [what, picture.id]);
};
const drawn = () => {
  const data = JSON.parse(document.getElementById("powerband").textContent);
  const told = [];
  for (const picture of data.pictures ?? []) {
    const figure = document.getElementById(`picture-${picture.id}`);
    if (!figure) { told.push(`the picture ${picture.id} is not there`); continue; }
    const marks = [...figure.querySelectorAll("svg .pb-mark")];
    if (marks.length === 0) told.push(`the picture ${picture.id} has no mark`);
    const cells = new Set([...picture.rows.flat(), ...picture.columns]);
    for (const mark of marks) {
      const label = mark.dataset.label;
      if (label && ![...cells].some((cell) => cell.includes(label) || label.includes(cell)))
        told.push(`the picture ${picture.id} marks '${label}', which its numbers do not have`);
      for (const name of ["x", "y", "low", "high"]) {
        const value = mark.dataset[name];
        if (value !== undefined && value === "NaN") told.push(`the picture ${picture.id} has a mark at NaN`);
      }
      const box = mark.getBoundingClientRect();
      const frame = figure.querySelector("svg").getBoundingClientRect();
      if (box.right < frame.left - 1 || box.left > frame.right + 1 || box.bottom < frame.top - 1 || box.top > frame.bottom + 1)
        told.push(`the picture ${picture.id} has a mark outside its frame`);
    }
    const points = marks.filter((mark) => mark.matches(".pb-point"));
    told.push(...misplaced(picture, points).map((what) => [what, picture.id]), ...misshapen(picture, marks));
    if (picture.id.startsWith("levels-")) {
      // One point a row, at the level the report has, and further right where it is larger.
      if (points.length !== picture.rows.length) told.push(`${picture.id} has ${points.length} points for ${picture.rows.length} rows`);
      for (const { dataset } of marks.filter((mark) => mark.dataset.low !== undefined)) {
        const setting = data.report.settings.find((setting) => String(setting.index) === dataset.setting);
        const level = (it) => [it.typical, it.low, it.high].map(String).join() === [dataset.x, dataset.low, dataset.high].join();
        if (!setting || !Object.values(setting.levels).some(level)) told.push(`${picture.id} shows ${dataset.x} at ${dataset.setting}, which was not found`);
      }
      const middles = points.map((mark) => { const { left, right } = mark.getBoundingClientRect(); return (left + right) / 2; });
      const order = points.map((mark, at) => [Number(mark.dataset.x), middles[at]]).sort((a, b) => a[0] - b[0]);
      if (order.some(([, place], at) => at > 0 && place < order[at - 1][1] - 0.5)) told.push(`${picture.id} has its points out of order`);
    }
    if (figure.querySelectorAll("details tbody tr").length !== picture.rows.length)
      told.push(`the table of ${picture.id} has other rows than its data`);
  }
  const extra = document.querySelectorAll("figure").length - (data.pictures ?? []).length;
  if (extra !== 0) told.push(`${extra} figures more than pictures in the data`);
  if (document.querySelectorAll("h1").length !== 1) told.push("it has not one h1");
  if (!document.querySelector("main #verdict .finding")?.textContent.trim()) told.push("it has no verdict");
  const ids = [...document.querySelectorAll("[id]")].map((element) => element.id);
  const twice = ids.filter((id, at) => ids.indexOf(id) !== at);
  if (twice.length) told.push(`ids twice: ${[...new Set(twice)].join(", ")}`);
  if (document.querySelector("script[src], link, img[src^='http'], iframe, object, embed, base, form"))
    told.push("it holds an element that asks for something");
  // The pages made by hand are of a machine that was found otherwise at the end: what, as it was and as it is.
  if (/(?:made-up-|hostile)/.test(location.pathname)) {
    const rows = [...document.querySelectorAll("#machine tr")].filter((row) => row.checkVisibility()).map((row) => [...row.cells].map((cell) => cell.textContent));
    for (const [part, what, was] of [["clocks", "governor", "ondemand"], ["clocks", "boost", "1"], ["idle states", "", "absent"]])
      if (!rows.some((row) => row.length === 4 && row[0] === part && row[1].includes(what) && row[2] === was)) told.push(`it does not tell that ${part}, ${what} changed from ${was}`);
    if (!rows.some((row) => row[1] === "boost" && row[3] === "absent")) told.push("it does not tell what is gone");
  }
  if (window.hostile !== undefined) told.push("a name ran as a script");
  return told;
};
const cut = ([width, height]) => {
  const told = [];
  for (const figure of document.querySelectorAll("figure")) {
    const box = figure.getBoundingClientRect();
    if (getComputedStyle(figure).breakInside !== "avoid") told.push(`${figure.id} may be cut on paper`);
    if (figure.querySelector(".dense")?.checkVisibility() || !figure.querySelector("svg").checkVisibility()) told.push(`${figure.id} has no drawing on paper`);
    if (box.height > height) told.push(`${figure.id} is ${Math.round(box.height)} px high on paper, more than a sheet`);
    if (box.width > width + 1) told.push(`${figure.id} is ${Math.round(box.width)} px wide on paper`);
  }
  return told;
};

async function open(file, options) {
  const context = await browser.newContext({ offline: true, ...options });
  context.setDefaultTimeout(PATIENCE_MS);
  const page = await context.newPage();
  const say = (what, picture) => wrong.push({ page: basename(file), ...(picture ? { picture } : {}), what });
  page.on("console", (message) => { if (message.type() === "error") say(`console: ${message.text()}`); });
  page.on("pageerror", (error) => say(`script: ${error.message}`));
  page.on("request", (request) => { if (request.url() !== pathToFileURL(file).href) say(`asks for ${request.url()}`); });
  await page.goto(pathToFileURL(file).href);
  return { context, page, say };
}

async function accessible(page, say, rules) {
  const { violations } = await page.evaluate(
    (runOnly) => window.axe.run(document, { resultTypes: ["violations"], ...(runOnly ? { runOnly } : {}) }), rules);
  for (const { id, impact, nodes } of violations)
    if (impact === "serious" || impact === "critical") say(`axe ${impact}: ${id} at ${nodes[0].target} (${nodes.length})`);
}

async function moves(page, say) {
  const button = page.locator("#settings table[data-sortable] th button").first();
  if (await button.count()) {
    await button.click();
    const head = page.locator("#settings table[data-sortable] th[aria-sort]").first();
    if (!(await becomes(async () => (await head.getAttribute("aria-sort")) === "ascending"))) say("a table does not sort");
  }
  const mark = page.locator(".picture .pb-point:visible, .picture .pb-bar:visible").first();
  if (await mark.count()) {
    await page.mouse.move(0, 0);
    await page.evaluate(() => document.querySelector(".values").replaceChildren());
    await mark.scrollIntoViewIfNeeded();
    await mark.dispatchEvent("pointermove", { clientX: 50, clientY: 50, bubbles: true });
    if (!(await becomes(() => page.locator(".values").textContent()))) say("a mark does not tell its values");
  }
  const none = page.locator(".picks button", { hasText: "none" }).first();
  if (await none.count()) {
    await none.click();
    const left = () => page.evaluate(() => {
      const rows = [...document.querySelectorAll("[data-picks] tbody tr")].map((row) => row.dataset.setting);
      return [...document.querySelectorAll(".pb-mark")].filter((mark) => rows.includes(mark.dataset.setting) && mark.checkVisibility()).length;
    });
    if (!(await becomes(async () => (await left()) === 0))) say(`${await left()} marks stay when no setting is picked`);
  }
}

async function zooms(page, say) {
  const figure = page.locator("figure:has(.sizes)").last();
  if (!(await figure.count())) return;
  const svg = figure.locator("svg").first();
  const whole = await svg.getAttribute("viewBox");
  const before = (await svg.boundingBox()).width;
  await figure.locator(".sizes button").first().click();
  await svg.scrollIntoViewIfNeeded();
  if (!(await becomes(async () => (await svg.boundingBox()).width > before))) say("a picture does not become larger");
  await svg.scrollIntoViewIfNeeded();
  const at = await svg.boundingBox();
  await page.mouse.move(at.x + at.width * 0.3, at.y + Math.min(at.height, 300) * 0.3);
  await page.mouse.down();
  await page.mouse.move(at.x + at.width * 0.6, at.y + Math.min(at.height, 300) * 0.6, { steps: 4 });
  await page.mouse.up();
  const part = async () => (await svg.getAttribute("viewBox")).split(" ").map(Number);
  const all = whole.split(" ").map(Number);
  if (!(await becomes(async () => Math.abs((await part())[2] - all[2] * 0.3) < all[2] * 0.02))) say(`dragging over a picture shows ${await part()} of ${all}`);
  if (!(await becomes(async () => !(await page.locator(".dragged").count())))) say("the frame of what was dragged stays");
  await figure.locator(".sizes button").last().click();
  if (!(await becomes(async () => (await svg.getAttribute("viewBox")) === whole))) say("a picture does not come back whole");
}

// Lines of many readings: their values at the cursor are those of the data, dragging enlarges and a double click shows all again.
async function plotted(page, say) {
  const over = page.locator(".dense .u-over").first();
  if (!(await over.count())) {
    if (await page.evaluate(() => document.querySelector(".dense"))) say("a plot of many readings is not there");
    return;
  }
  const paperWordsSeen = () => [...document.querySelectorAll(".dense")].some((plot) => {
    const data = plot.closest("figure").querySelector("details");
    data.open = true;
    const seen = / Each column covers /.test(data.querySelector("p").innerText);
    data.open = false;
    return seen;
  });
  if (await page.evaluate(paperWordsSeen))
    say("what is true of the drawing alone stands above a plot");
  const shown = () => page.evaluate(() => {
    const figure = document.querySelector(".dense").closest("figure");
    const { dense } = JSON.parse(document.getElementById("powerband").textContent).pictures.find(({ id }) => `picture-${id}` === figure.id);
    const cells = [...figure.querySelectorAll(".u-legend tr")].map((row) => [row.querySelector(".u-label").textContent, parseFloat(row.querySelector(".u-value").textContent)]);
    const column = Math.round(cells[0][1] / dense.step_s);
    const wrong = dense.lines.filter(({ label, low, high }) => {
      const told = (name) => cells.find(([label]) => label === name)?.[1] ?? NaN;
      const [least, most] = high ? [told(`${label}, least`), told(`${label}, most`)] : [told(label), told(label)];
      const near = (value, cells) => [column - 1, column, column + 1].some((at) => Math.abs(value - cells[at]) <= 1e-4 * Math.abs(value));
      return low[column + 1] !== undefined && !(near(least, low) && near(most, high ?? low));
    });
    return { at_s: cells[0][1], wrong: wrong.map(({ label }) => label) };
  });
  await over.scrollIntoViewIfNeeded();
  const box = await over.boundingBox();
  const at = (share) => [box.x + box.width * share, box.y + box.height / 2];
  await page.mouse.move(...at(0.5));
  let before;
  await becomes(async () => (before = await shown()).wrong.length === 0);
  for (const label of before.wrong) say(`the plot shows ${label} otherwise than its data`);
  await page.mouse.move(...at(0.4));
  await page.mouse.down();
  await page.mouse.move(...at(0.45), { steps: 3 });
  await page.mouse.move(...at(0.6), { steps: 3 });
  await page.mouse.up();
  await page.mouse.move(...at(0.02));
  const left = (so) => becomes(async () => so((await shown()).at_s / before.at_s));
  if (!(await left((share) => share > 0.5 && share < 1))) say(`dragging enlarges nothing: ${(await shown()).at_s} s at the left`);
  // In other colours it stays enlarged.
  const painted = () => page.evaluate(() => document.querySelector(".dense canvas").toDataURL());
  const light = await painted();
  await page.emulateMedia({ colorScheme: "dark" });
  await page.waitForFunction((light) => document.querySelector(".dense canvas").toDataURL() !== light, light);
  await page.mouse.move(...at(0.021));
  if (!(await left((share) => share > 0.5))) say("dark colours undo what was enlarged");
  await page.emulateMedia({ colorScheme: "light" });
  await page.waitForFunction((light) => document.querySelector(".dense canvas").toDataURL() === light, light);
  // Lines are told apart without colour, in their legend as well.
  const alike = await page.evaluate(() => [...document.querySelectorAll(".dense")].flatMap((plot) => {
    const lines = [...plot.querySelectorAll(".u-series")].filter((row) => row.querySelector(".sample"));
    const looks = lines.map((row) => [row.querySelector(".u-label").textContent.replace(/, (?:least|most)$/, ""), row.querySelector(".sample line").getAttribute("stroke-dasharray")]);
    const labels = new Set(looks.map(([label]) => label));
    return labels.size > 4 || new Set(looks.map(([, dash]) => dash)).size === labels.size ? [] : [looks.join("; ")];
  }));
  for (const looks of alike) say(`lines of a plot differ in nothing but colour: ${looks}`);
  await over.dblclick({ position: { x: 20, y: 20 } });
  await page.mouse.move(...at(0.021));
  if (!(await left((share) => share < 0.2))) say("a double click does not show all again");
}

async function shot(page, name) {
  if (shots) await page.screenshot({ path: join(shots, `${name}.png`), fullPage: true });
}

async function check(name) {
  const file = resolve(folder, name);
  const { context, page, say } = await open(file, { viewport: { width: 1400, height: 900 }, colorScheme: "light" });
  await page.evaluate(`window.misplaced = ${misplaced}; window.misshapen = ${misshapen}`);
  for (const what of await page.evaluate(drawn)) say(...[what].flat());
  await page.evaluate(axe);
  for (const width of [1400, 390]) {
    await page.setViewportSize({ width, height: 900 });
    for (const what of await page.evaluate(overflows)) say(`${width} px: ${what}`);
    for (const colorScheme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme });
      await shot(page, `${name}-${width}-${colorScheme}`);
      // Contrast is all that differs in the dark, and the width makes no difference to it.
      if (width === 390 && colorScheme === "light") await accessible(page, say);
      if (width === 1400 && colorScheme === "dark") await accessible(page, say, ["color-contrast"]);
    }
  }
  await page.emulateMedia({ media: "print", colorScheme: "light" });
  await page.setViewportSize({ width: Math.floor(A4_WIDTH_PX), height: Math.floor(A4_HEIGHT_PX) });
  for (const what of await page.evaluate(cut, [A4_WIDTH_PX, A4_HEIGHT_PX])) say(what);
  const pdf = await page.pdf({ format: "A4", ...(shots ? { path: join(shots, `${name}.pdf`) } : {}) });
  if (pdf.subarray(0, 5).toString() !== "%PDF-") say("it makes no PDF");
  await page.emulateMedia({ media: "screen" });
  await page.setViewportSize({ width: 1400, height: 900 });
  await zooms(page, say).catch((error) => say(`it does not zoom: ${error.message.split("\n")[0]}`));
  await plotted(page, say).catch((error) => say(`its plot does not work: ${error.message.split("\n")[0]}`));
  await moves(page, say).catch((error) => say(`it does not move: ${error.message.split("\n")[0]}`));
  await context.close();
  const silent = await open(file, { javaScriptEnabled: false });
  for (const drawing of await silent.page.locator(".picture svg").all())
    if (!(await drawing.isVisible())) silent.say("without script a drawing is not shown");
  if (!(await silent.page.locator("#verdict .finding").textContent())) silent.say("without script it has no verdict");
  await silent.context.close();
}

const names = readdirSync(folder).filter((name) => name.endsWith(".html")).sort();
const checker = async () => {
  for (let name = names.shift(); name; name = names.shift()) {
    const began = performance.now();
    await check(name);
    console.error(`${name}: ${((performance.now() - began) / 1000).toFixed(1)} s`);
  }
};
await Promise.all(Array.from({ length: AT_ONCE }, checker));
await browser.close();
for (const what of wrong) console.log(JSON.stringify(what));
process.exit(wrong.length ? 1 : 0);
