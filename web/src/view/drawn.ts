/** What every drawing of a page has: a title, as much width as there is, a tip under the cursor, and a way to be saved. */

import { h } from "./dom";
import { alone, picture, saveable } from "./saving";

export interface Titled {
  /** Of the files that it is saved as. */
  id: string;
  title: string;
}

export const FONT = 13;

export abstract class Drawn {
  readonly element: HTMLElement;
  private readonly place = h("div", { class: "place" });
  private readonly tip = h("div", { class: "tip", hidden: true });
  private readonly pen = h("canvas").getContext("2d")!;
  private width = 0;

  /** `least`: pixels that it needs; where the page has fewer, its place scrolls. */
  protected constructor(kind: string, { id, title }: Titled, private readonly least = 0) {
    this.element = h("figure", { class: `made ${kind}` });
    const drawing = () => this.place.querySelector("svg")!;
    const saving = saveable(this.element, { name: id, title, picture: () => picture(drawing()), drawing: () => alone(drawing()), numbers: () => this.numbers() });
    this.element.append(h("figcaption", {}, h("h3", {}, title), saving), this.place, this.tip);
    this.place.addEventListener("pointerleave", () => this.tell(null));
    new ResizeObserver(() => this.fit()).observe(this.place);
  }

  /** Draws it anew if its width has changed. */
  fit(): void {
    const width = this.place.clientWidth;
    if (width === 0 || width === this.width) return;
    this.width = width;
    this.pen.font = `${FONT}px ${getComputedStyle(this.element).fontFamily}`;
    const isPaper = document.documentElement.dataset.paper !== undefined;
    const scrolls = width < this.least && !isPaper;
    this.tell(null);
    const drawn = this.draw(scrolls ? this.least : width);
    drawn.setAttribute("width", String(scrolls ? this.least : width));
    this.place.replaceChildren(drawn);
    for (const [name, value] of Object.entries({ tabindex: "0", role: "region", "aria-label": this.element.querySelector("h3")!.textContent! })) {
      if (scrolls) this.place.setAttribute(name, value);
      else this.place.removeAttribute(name);
    }
  }

  protected abstract draw(width: number): SVGElement;

  protected abstract numbers(): string[][];

  protected measure(text: string): number {
    return this.pen.measureText(text).width;
  }

  /** A text that fits. */
  protected cut(text: string, width: number): string {
    let shown = text;
    while (shown.length > 1 && this.measure(shown) > width) shown = `${shown.slice(0, -2)}…`;
    return shown;
  }

  /** Lines of text at a place of the drawing; null takes them away. */
  protected tell(lines: string[] | null, x = 0, y = 0): void {
    this.tip.hidden = lines === null;
    if (lines === null) return;
    this.tip.replaceChildren(...lines.map((line) => h("div", {}, line)));
    const [left, width] = [x - this.place.scrollLeft, this.element.clientWidth];
    this.tip.style.left = left > width / 2 ? "auto" : `${Math.max(0, left)}px`;
    this.tip.style.right = left > width / 2 ? `${Math.max(0, width - left)}px` : "auto";
    this.tip.style.top = `${this.place.offsetTop + y}px`;
  }
}
