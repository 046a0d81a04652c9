/** Elements made of text that is never read as markup. */

type Child = Node | string | null | false;
type Props = Record<string, unknown>;

/** `h("button", { onclick, "aria-pressed": "true" }, "Text")`: functions become listeners, the rest attributes. */
export function h<K extends keyof HTMLElementTagNameMap>(tag: K, props: Props = {}, ...children: Child[]): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  dress(element, props);
  element.append(...children.filter((child): child is Node | string => child !== null && child !== false));
  return element;
}

/** The same for SVG. */
export function svg(tag: string, props: Props = {}, ...children: Child[]): SVGElement {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  dress(element, props);
  element.append(...children.filter((child): child is Node | string => child !== null && child !== false));
  return element;
}

function dress(element: Element, props: Props): void {
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name.replace(/^on/, ""), value as EventListener);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
}

/** A section with a heading that a link and a reader of screens can go to. */
export function section(id: string, title: string, ...children: Child[]): HTMLElement {
  return h("section", { id, "aria-labelledby": `${id}-title` }, h("h2", { id: `${id}-title` }, title), ...children);
}

export function download(name: string, content: Blob): void {
  const address = URL.createObjectURL(content);
  h("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/** Text in which what stands between backticks is code. */
export const prose = (text: string): Child[] => text.split("`").map((part, i) => (i % 2 ? h("code", {}, part) : part));
