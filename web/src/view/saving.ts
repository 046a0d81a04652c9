/** One place from which every figure of the page can be saved, as a picture, a drawing or numbers. */

import { token } from "./colours";
import { csv } from "./csv";
import { download, h } from "./dom";

export interface Saveable {
  /** Of the files, without an ending. */
  name: string;
  title: string;
  picture: () => Promise<Blob | null>;
  drawing: () => string;
  /** Those of figures that are drawn elsewhere are in tables of their own. */
  numbers?: () => string[][];
}

const PICTURE_SCALE = 2;

/** The figures that the page shows, by the elements that they are drawn in. */
const figures = new Map<Element, Saveable>();

/** A small button for the figure's corner. Keys reach every figure through `saveButton`: this one costs no Tab stop. */
export function saveable(element: Element, figure: Saveable): HTMLElement {
  figures.set(element, figure);
  return h("button", { type: "button", class: "save-one", tabindex: "-1", title: "Save this figure", "aria-label": `Save: ${figure.title}`, onclick: () => open(element) }, "⤓");
}

/** The button of the whole page. */
export const saveButton = (): HTMLElement => h("button", { type: "button", class: "small save-any", onclick: () => open(null) }, "Save a figure …");

function open(chosen: Element | null): void {
  // Those that have been drawn anew, or hidden, are gone.
  for (const element of figures.keys()) if (!element.isConnected) figures.delete(element);
  const shown = [...figures].sort(([a], [b]) => (a.compareDocumentPosition(b) & Node.DOCUMENT_POSITION_FOLLOWING ? -1 : 1));
  if (shown.length === 0) return;
  const select = h("select", { "aria-label": "Figure" }, ...shown.map(([element, { title }]) => h("option", { selected: element === chosen }, title)));
  const button = (label: string, take: (figure: Saveable) => void) => h("button", { type: "button", onclick: () => take(shown[select.selectedIndex][1]) }, label);
  const numbers = button("Numbers (CSV)", (figure) => download(`${figure.name}.csv`, new Blob([csv(figure.numbers!())], { type: "text/csv" })));
  const offer = () => (numbers.hidden = !shown[select.selectedIndex][1].numbers);
  select.addEventListener("change", offer);
  offer();
  const dialog = h(
    "dialog", { class: "save", "aria-labelledby": "save-title", onclose: () => dialog.remove() },
    h("h2", { id: "save-title" }, "Save a figure"), select,
    h("p", { class: "buttons" },
      button("Picture (PNG)", ({ name, picture }) => void picture().then((blob) => blob && download(`${name}.png`, blob))),
      button("Drawing (SVG)", ({ name, drawing }) => download(`${name}.svg`, new Blob([drawing()], { type: "image/svg+xml" }))),
      numbers,
      h("button", { type: "button", class: "small", onclick: () => dialog.close() }, "Close")),
  );
  document.body.append(dialog);
  dialog.showModal();
}

/** A drawing without the page: its colours and fonts written out. */
export function alone(drawing: SVGSVGElement): string {
  const copy = drawing.cloneNode(true) as SVGSVGElement;
  const { width, height } = drawing.viewBox.baseVal;
  copy.setAttribute("width", String(width));
  copy.setAttribute("height", String(height));
  copy.setAttribute("font-family", "sans-serif");
  const text = new XMLSerializer().serializeToString(copy);
  return text.replace(/var\(--([\w-]+)\)/g, (_, name) => (name === "font" ? "sans-serif" : token(name)));
}

export async function picture(drawing: SVGSVGElement): Promise<Blob | null> {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(alone(drawing))}`;
  await image.decode();
  const canvas = h("canvas", { width: image.width * PICTURE_SCALE, height: image.height * PICTURE_SCALE });
  const context = canvas.getContext("2d")!;
  context.fillStyle = token("back");
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve) => canvas.toBlob(resolve));
}
