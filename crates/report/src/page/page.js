// What moves on a page: values of marks, tables sorted by a column, settings picked. The page is whole without it.
"use strict";
(() => {
  const marks = () => document.querySelectorAll(".pb-mark");

  // A mark's values, beside the pointer or the mark that has the focus.
  const box = document.createElement("div");
  box.className = "values";
  box.setAttribute("role", "status");
  box.hidden = true;
  document.body.append(box);
  const short = (number) => (Number.isFinite(Number(number)) ? String(Number(Number(number).toPrecision(4))) : number);
  const told = (mark) => {
    const { label, x, y, low, high } = mark.dataset;
    const lines = label ? [label] : [];
    const at = [x, y].filter((number) => number !== undefined).map(short);
    if (at.length) lines.push(at.join(": "));
    if (low !== undefined && high !== undefined) lines.push(`${short(low)} .. ${short(high)}`);
    return lines.join("\n");
  };
  const show = (mark, x, y) => {
    const text = told(mark);
    if (!text) return;
    box.textContent = text;
    box.hidden = false;
    const { width, height } = box.getBoundingClientRect();
    const left = Math.min(x + 12, document.documentElement.clientWidth - width - 4);
    const top = y + 16 + height > window.innerHeight ? y - height - 8 : y + 16;
    box.style.left = `${Math.max(4, left)}px`;
    box.style.top = `${Math.max(4, top)}px`;
  };
  const hide = () => { box.hidden = true; };
  for (const picture of document.querySelectorAll(".picture")) {
    picture.addEventListener("pointermove", (event) => {
      const mark = event.target.closest(".pb-mark");
      if (mark) show(mark, event.clientX, event.clientY);
      else hide();
    });
    picture.addEventListener("pointerleave", hide);
    picture.addEventListener("focusin", (event) => {
      const mark = event.target.closest(".pb-mark");
      if (!mark) return;
      const at = mark.getBoundingClientRect();
      show(mark, at.right, at.top);
    });
    picture.addEventListener("focusout", hide);
  }
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });

  // Tables: a button in each head sorts by that column, numbers as numbers; cells without one come last.
  const value = (row, column) => {
    const cell = row.cells[column];
    return cell.dataset.sort === undefined ? cell.textContent.trim() : Number(cell.dataset.sort);
  };
  const compared = (a, b, falling) => {
    if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
    const order = typeof a === "number" ? a - b : a.localeCompare(b, "en", { numeric: true });
    return falling ? -order : order;
  };
  for (const table of document.querySelectorAll("table[data-sortable]")) {
    const heads = [...table.tHead.rows[0].cells];
    const body = table.tBodies[0];
    if (body.rows.length < 2) continue;
    heads.forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = head.textContent;
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const falling = head.getAttribute("aria-sort") === "ascending";
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", falling ? "descending" : "ascending");
        const rows = [...body.rows].sort((a, b) => compared(value(a, column), value(b, column), falling));
        body.append(...rows);
      });
    });
  }

  // Settings: a box in each row hides or shows the marks of that setting.
  const picked = (setting, on) => {
    for (const mark of marks()) if (mark.dataset.setting === setting) mark.classList.toggle("pb-off", !on);
    document.dispatchEvent(new CustomEvent("powerband:picked", { detail: { setting, on } }));
  };
  const drawn = new Set([...marks()].map((mark) => mark.dataset.setting));
  for (const table of document.querySelectorAll("table[data-picks]")) {
    const boxes = [];
    for (const row of table.tBodies[0].rows) {
      if (!drawn.has(row.dataset.setting)) continue;
      const pick = document.createElement("label");
      const input = document.createElement("input");
      pick.className = "pick";
      input.type = "checkbox";
      input.checked = true;
      input.addEventListener("change", () => picked(row.dataset.setting, input.checked));
      const head = row.cells[0];
      const words = document.createElement("span");
      words.append(...head.childNodes);
      pick.append(input, words);
      head.append(pick);
      boxes.push([row.dataset.setting, input]);
    }
    if (boxes.length < 2) continue;
    const bar = document.createElement("div");
    bar.className = "picks";
    bar.append("In the charts:");
    for (const [name, on] of [["all", true], ["none", false]]) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = name;
      button.addEventListener("click", () => {
        for (const [setting, input] of boxes) {
          input.checked = on;
          picked(setting, on);
        }
      });
      bar.append(button);
    }
    table.closest(".scroll").before(bar);
  }
})();
