/** Drawn figures: what the cursor is on, and pictures and numbers to take away. */

import { csv } from "../view/csv";
import { download, h } from "../view/dom";

/** What the page knows of a figure: places in the drawing's own units with what is there, and its numbers as a table. */
interface Drawn {
  name: string;
  points: [x: number, y: number, told: string][];
  table: string[][];
}

const NEAR = 14;
const PICTURE_SCALE = 2;

export function figure(element: HTMLElement): void {
  const drawing = element.querySelector("svg")!;
  const drawn: Drawn = JSON.parse(element.querySelector("script")!.textContent!);
  const title = drawing.getAttribute("aria-label")!;
  const button = (label: string, what: string, take: () => void) => h("button", { type: "button", "aria-label": `${label}, ${what} of: ${title}`, onclick: take }, label);
  element.append(
    h("div", { class: "tools" },
      button("PNG", "a picture", () => void picture(drawing).then((blob) => blob && download(`${drawn.name}.png`, blob))),
      button("SVG", "a drawing", () => download(`${drawn.name}.svg`, new Blob([alone(drawing)], { type: "image/svg+xml" }))),
      drawn.table.length > 1 && button("CSV", "the numbers", () => download(`${drawn.name}.csv`, new Blob([csv(drawn.table)], { type: "text/csv" }))))
  );
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

/** The drawing without the page: its colours and fonts written out. */
function alone(drawing: SVGSVGElement): string {
  const copy = drawing.cloneNode(true) as SVGSVGElement;
  const { width, height } = drawing.viewBox.baseVal;
  copy.setAttribute("width", String(width));
  copy.setAttribute("height", String(height));
  const style = getComputedStyle(document.documentElement);
  const text = new XMLSerializer().serializeToString(copy);
  return text.replace(/var\(--([\w-]+)\)/g, (_, name) => (name === "font" ? "sans-serif" : style.getPropertyValue(`--${name}`).trim()));
}

async function picture(drawing: SVGSVGElement): Promise<Blob | null> {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(alone(drawing))}`;
  await image.decode();
  const canvas = h("canvas", { width: image.width * PICTURE_SCALE, height: image.height * PICTURE_SCALE });
  const context = canvas.getContext("2d")!;
  context.fillStyle = getComputedStyle(document.documentElement).getPropertyValue("--back");
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve) => canvas.toBlob(resolve));
}
