// What makes a picture larger: a button that gives it the page's whole width, and a part of it that is dragged over fills
// its frame. The page is whole without it.
"use strict";
(() => {
  // Fewer pixels than these are a click that slipped.
  const LEAST_PX = 8;

  for (const figure of document.querySelectorAll("figure")) {
    const picture = figure.querySelector(".picture");
    const svg = picture?.querySelector("svg");
    if (!svg) continue;
    const title = figure.querySelector("figcaption h3, figcaption h4")?.textContent ?? "";
    const whole = svg.getAttribute("viewBox");

    const bar = document.createElement("div");
    bar.className = "sizes";
    const button = (words) => {
      const made = document.createElement("button");
      made.type = "button";
      made.textContent = words;
      made.setAttribute("aria-label", `${words}: ${title}`);
      bar.append(made);
      return made;
    };
    const larger = button("Enlarge");
    larger.setAttribute("aria-pressed", "false");
    larger.addEventListener("click", () => {
      const before = larger.getBoundingClientRect().top;
      const wide = figure.classList.toggle("wide");
      larger.setAttribute("aria-pressed", String(wide));
      // What is below the pointer stays in sight: of a larger picture its head, else the button.
      if (wide) figure.scrollIntoView({ block: "start" });
      else window.scrollBy(0, larger.getBoundingClientRect().top - before);
    });
    const all = button("show all of it");
    all.hidden = true;
    const show = (box) => {
      svg.setAttribute("viewBox", box);
      all.hidden = box === whole;
    };
    all.addEventListener("click", () => { show(whole); larger.focus(); });
    picture.after(bar);

    // A point of the window in the drawing's own units.
    const inside = ({ clientX, clientY }) => new DOMPoint(clientX, clientY).matrixTransform(svg.getScreenCTM().inverse());
    let from = null;
    let frame = null;
    const drop = () => {
      from = null;
      frame?.remove();
      frame = null;
    };
    svg.addEventListener("pointerdown", (event) => {
      if (event.button !== 0 || event.pointerType === "touch") return;
      from = event;
      event.preventDefault();
    });
    window.addEventListener("pointermove", (event) => {
      if (!from) return;
      if (!frame) {
        frame = document.createElement("div");
        frame.className = "dragged";
        document.body.append(frame);
      }
      frame.style.left = `${Math.min(from.clientX, event.clientX)}px`;
      frame.style.top = `${Math.min(from.clientY, event.clientY)}px`;
      frame.style.width = `${Math.abs(from.clientX - event.clientX)}px`;
      frame.style.height = `${Math.abs(from.clientY - event.clientY)}px`;
    });
    window.addEventListener("pointerup", (event) => {
      if (!from) return;
      const wide = Math.abs(from.clientX - event.clientX);
      const high = Math.abs(from.clientY - event.clientY);
      if (wide >= LEAST_PX && high >= LEAST_PX) {
        const [a, b] = [inside(from), inside(event)];
        // As wide to high as the whole, so that the frame keeps its size.
        const [, , width, height] = whole.split(/[ ,]+/).map(Number);
        const part = Math.max(Math.abs(a.x - b.x) / width, Math.abs(a.y - b.y) / height);
        show([(a.x + b.x - part * width) / 2, (a.y + b.y - part * height) / 2, part * width, part * height].join(" "));
      }
      drop();
    });
    window.addEventListener("pointercancel", drop);
    document.addEventListener("keydown", (event) => { if (event.key === "Escape") drop(); });
    svg.addEventListener("dblclick", () => show(whole));
  }
})();
