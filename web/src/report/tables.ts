/** Tables whose rows are put in order by the heads of their columns. */

import { h } from "../view/dom";

const FEWEST_ROWS = 3;

/** Makes a button of every head; the first press puts the smallest first. */
export function sortable(table: HTMLTableElement): void {
  const body = table.tBodies[0];
  if (!body || body.rows.length < FEWEST_ROWS) return;
  for (const [column, head] of [...(table.tHead?.rows[0]?.cells ?? [])].entries()) {
    const button = h("button", { type: "button", class: "sort", title: "Put the rows in this order", onclick: () => order(table, column) }, ...head.childNodes);
    head.replaceChildren(button);
  }
}

function order(table: HTMLTableElement, column: number): void {
  const heads = [...table.tHead!.rows[0].cells];
  const isRising = heads[column].getAttribute("aria-sort") !== "ascending";
  heads.forEach((head) => head.removeAttribute("aria-sort"));
  heads[column].setAttribute("aria-sort", isRising ? "ascending" : "descending");
  const body = table.tBodies[0];
  const rows = [...body.rows].map((row) => ({ row, key: key(row.cells[column]) }));
  rows.sort((a, b) => (isRising ? 1 : -1) * compare(a.key, b.key));
  body.append(...rows.map(({ row }) => row));
}

type Key = { number: number | null; text: string };

/** What a cell is ordered by: the first number in it, or its text. */
export function keyOf(text: string): Key {
  const trimmed = text.replace(/[,\s]+/g, " ").trim();
  const found = /^[^\w−-]*([−+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?)/i.exec(trimmed.replace(/(\d) (?=\d{3}\b)/g, "$1"));
  return { number: found ? Number(found[1].replace("−", "-")) : null, text: trimmed };
}

const key = (cell: HTMLTableCellElement | undefined): Key => keyOf(cell?.dataset.sort ?? cell?.textContent ?? "");

/** Numbers before words, words in the order of the alphabet. */
export function compare(a: Key, b: Key): number {
  if (a.number !== null && b.number !== null) return a.number - b.number;
  if (a.number !== null || b.number !== null) return a.number !== null ? -1 : 1;
  return a.text.localeCompare(b.text);
}
