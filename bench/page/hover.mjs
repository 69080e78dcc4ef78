// How long a page takes from a pointer's move over a line to its values beside it, in Chromium.
//
//   node hover.mjs MODULES PAGE...
//
// MODULES is the folder npm filled with playwright-core. Prints a line of JSON: for each page the milliseconds of every move, and
// how long opening it took. A move counts until what it changed is laid out; the frame that shows it comes at the screen's pace.
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [modules, ...pages] = process.argv.slice(2);
const { chromium } = createRequire(join(resolve(modules), "package.json"))("playwright-core");
const MOVES = 400;

const moves = async (count) => {
  const figure = document.querySelector("figure[id^='picture-power-']");
  const dense = figure.querySelector(".u-over");
  const target = dense ?? figure.querySelector(".pb-step");
  target.scrollIntoView({ block: "center" });
  const box = target.getBoundingClientRect();
  const told = () => (dense ? figure.querySelector(".u-legend").textContent : document.querySelector(".values").textContent);
  const took = [];
  let known = 0;
  for (let move = 0; move < count; move += 1) {
    // Here and there, so that no two moves are beside one another.
    const share = ((move * 0.618034) % 1) * 0.98 + 0.01;
    const at = { clientX: box.left + box.width * share, clientY: box.top + box.height / 2, bubbles: true };
    const began = performance.now();
    target.dispatchEvent(new PointerEvent("pointermove", at));
    if (dense) target.dispatchEvent(new MouseEvent("mousemove", at));
    await Promise.resolve();
    document.body.getBoundingClientRect();
    took.push(performance.now() - began);
    if (/\d|setting/.test(told())) known += 1;
    if (move % 50 === 49) await new Promise((next) => requestAnimationFrame(next));
  }
  return { took, known };
};

const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
const told = [];
for (const file of pages) {
  const page = await browser.newPage({ viewport: { width: 1400, height: 900 } });
  const began = performance.now();
  await page.goto(pathToFileURL(resolve(file)).href);
  const opened_ms = performance.now() - began;
  await page.evaluate(moves, 50);
  const { took, known } = await page.evaluate(moves, MOVES);
  told.push({ opened_ms, moves_ms: took, known });
  await page.close();
}
await browser.close();
console.log(JSON.stringify(told));
