/** Drawings that Python made: what the cursor is on, and what can be saved of them. */

import { h } from "../view/dom";
import { alone, picture, saveable } from "../view/saving";

/** What the page knows of a drawing: places in the drawing's own units with what is there, and its numbers as a table. */
interface Drawn {
  name: string;
  points: [x: number, y: number, told: string][];
  table: string[][];
}

const NEAR = 14;

export function figure(element: HTMLElement): void {
  const drawing = element.querySelector("svg")!;
  const drawn: Drawn = JSON.parse(element.querySelector("script")!.textContent!);
  const title = drawing.getAttribute("aria-label")!;
  element.append(saveable(element, { name: drawn.name, title, picture: () => picture(drawing), drawing: () => alone(drawing), numbers: () => drawn.table }));
  if (drawn.points.length > 0) tips(element, drawing, drawn);
}

function tips(element: HTMLElement, drawing: SVGSVGElement, { points }: Drawn): void {
  const tip = h("div", { class: "tip", hidden: true });
  element.append(tip);
  drawing.addEventListener("pointermove", (event) => {
    const box = drawing.getBoundingClientRect();
    const factor = drawing.viewBox.baseVal.width / box.width;
    const [x, y] = [(event.clientX - box.left) * factor, (event.clientY - box.top) * factor];
    const distance = ([px, py]: Drawn["points"][number]) => Math.hypot(px - x, py - y);
    const nearest = points.reduce((a, b) => (distance(b) < distance(a) ? b : a));
    tip.hidden = distance(nearest) > NEAR * Math.max(1, factor);
    if (tip.hidden) return;
    const same = points.filter((point) => Math.hypot(point[0] - nearest[0], point[1] - nearest[1]) < 2).slice(0, 6);
    tip.replaceChildren(...same.map(([, , told]) => h("div", {}, told)));
    const frame = element.getBoundingClientRect();
    const isRight = event.clientX - frame.left > frame.width / 2;
    tip.style.left = isRight ? "auto" : `${nearest[0] / factor + box.left - frame.left + 12}px`;
    tip.style.right = isRight ? `${frame.right - box.left - nearest[0] / factor + 12}px` : "auto";
    tip.style.top = `${nearest[1] / factor + box.top - frame.top + 8}px`;
  });
  drawing.addEventListener("pointerleave", () => (tip.hidden = true));
}
