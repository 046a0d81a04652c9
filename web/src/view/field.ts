/** A field of tiles over two settings: who wins in each, by how much, and whether it is proven. */

import { svg } from "./dom";
import { Drawn, FONT, type Titled } from "./drawn";
import { inkOf } from "./spread";

export interface Tile {
  column: number;
  /** From below. */
  row: number;
  name: string;
  /** Below the name. */
  more: string;
  place: number;
  /** Filled where the viewer notices it, outlined where not, pale where it is open. */
  state: "felt" | "unfelt" | "open";
}

export interface FieldFigure extends Titled {
  x: string;
  y: string;
  columns: string[];
  rows: string[];
  tiles: Tile[];
  /** Of the first two and the other columns of its numbers. */
  head: string[];
}

const [TILE, LEAST, MOST] = [46, 92, 320];
const [TOP, FOOT] = [24, 44];

export class Field extends Drawn {
  constructor(private readonly figure: FieldFigure) {
    super("field-map", figure, 70 + LEAST * figure.columns.length);
  }

  protected draw(width: number): SVGElement {
    const { columns, rows, tiles, title, x, y } = this.figure;
    const left = Math.min(0.3 * width, 12 + Math.max(...rows.map((name) => this.measure(name))));
    const across = Math.min(MOST, (width - left - 2) / columns.length);
    const bottom = TOP + TILE * rows.length;
    const text = (props: Record<string, unknown>, label: string, room: number) => svg("text", { fill: "var(--soft)", ...props }, this.cut(label, room));
    const names = [
      ...rows.map((name, row) => text({ x: left - 8, y: bottom - TILE * (row + 0.5) + 4.5, "text-anchor": "end" }, name, left - 10)),
      ...columns.map((name, column) => text({ x: left + across * (column + 0.5), y: bottom + 18, "text-anchor": "middle" }, name, across - 6)),
      text({ x: left + (across * columns.length) / 2, y: bottom + 37, "text-anchor": "middle" }, x, width - left),
      text({ x: 2, y: 13 }, y, width),
    ];
    const label = tiles.map((tile) => `${columns[tile.column]}, ${rows[tile.row]}: ${inWords(tile)}`).join("; ");
    const drawn = tiles.map((tile) => this.tile(tile, left + across * tile.column, bottom - TILE * (tile.row + 1), across));
    return svg("svg", { viewBox: `0 0 ${width} ${bottom + FOOT}`, role: "img", "aria-label": `${title}: ${label}`, "font-size": FONT, "font-family": "var(--font)" }, ...names, ...drawn);
  }

  private tile(tile: Tile, x: number, y: number, width: number): SVGElement {
    const { columns, rows } = this.figure;
    const ink = inkOf(tile.place);
    const look = tile.state === "unfelt" ? { fill: "var(--back)", stroke: ink, "stroke-width": 2 } : { fill: ink, "fill-opacity": tile.state === "felt" ? 0.34 : 0.12 };
    const middle = x + width / 2;
    const line = (label: string, at: number, props: Record<string, unknown>) => svg("text", { x: middle, y: at, "text-anchor": "middle", fill: "var(--text)", ...props }, this.cut(label, width - 10));
    const group = svg(
      "g", {}, svg("rect", { x: x + 2, y: y + 2, width: width - 4, height: TILE - 4, rx: 3, ...look }),
      line(tile.name, y + (tile.more ? 20 : 28), { "font-weight": tile.state === "felt" ? 600 : 400 }), ...(tile.more ? [line(tile.more, y + 36, { "font-size": 12 })] : []),
    );
    group.addEventListener("pointerenter", () => this.tell([`${this.figure.x} ${columns[tile.column]}, ${this.figure.y} ${rows[tile.row]}: ${inWords(tile)}`], middle, y + TILE));
    return group;
  }

  protected numbers(): string[][] {
    const { columns, head, rows, tiles } = this.figure;
    return [head, ...tiles.map((tile) => [columns[tile.column], rows[tile.row], tile.name, tile.more, tile.state])];
  }
}

const STATES = { felt: "decided, and the viewer notices it", unfelt: "decided, and the viewer does not notice it", open: "undecided" };

const inWords = ({ name, more, state }: Tile): string => `${name}${more ? ` ${more}` : ""}, ${STATES[state]}`;
