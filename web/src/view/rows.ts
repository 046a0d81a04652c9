/** A figure of every sender, a row each: mean, 95 % interval of the median, seeds; or its difference from the best. */

import { short, signed, withUnit } from "../model/quantity";
import { valueTicks } from "../model/time";
import { h, svg } from "./dom";
import { alone, picture, saveable } from "./saving";
import { inkOf, spread } from "./spread";

export interface Row {
  name: string;
  /** Number of its colour. */
  place: number;
  mean: number | null;
  ci95: [number, number] | null;
  /** One value a seed. */
  seeds: number[];
  /** Of a difference: whether it is proven, and within what nobody would notice it. */
  state?: "proven" | "clear" | "open";
  margin?: number;
}

export interface RowFigure {
  id: string;
  title: string;
  unit: string;
  /** Bars begin at zero; dots need not; differences have a line there. */
  kind: "bar" | "dot" | "difference";
  /** What counts as alike does not fill the axis. */
  least: number;
  rows: Row[];
}

const ROW = 30;
const [TOP, BOTTOM, RIGHT] = [4, 24, 16];
const FONT = 13;
const TICK_ROOM = 52;
const MEAN = 5.5;

interface Scale {
  x: (value: number) => number;
  ticks: number[];
}

export class Rows {
  readonly element = h("figure", { class: "rows" });
  private readonly place = h("div", { class: "rows-place" });
  private readonly tip = h("div", { class: "tip", hidden: true });
  private readonly pen = h("canvas").getContext("2d")!;
  private width = 0;

  constructor(private readonly figure: RowFigure) {
    const title = `${figure.title}${figure.unit ? ` (${figure.unit})` : ""}`;
    const drawing = () => this.place.querySelector("svg")!;
    const saving = saveable(this.element, { name: figure.id, title, picture: () => picture(drawing()), drawing: () => alone(drawing()), numbers: () => numbers(figure) });
    this.element.append(h("figcaption", {}, h("h3", {}, title), saving), this.place, this.tip);
    new ResizeObserver(() => this.fit()).observe(this.place);
  }

  /** Draws it anew if its width has changed. */
  fit(): void {
    const width = this.place.clientWidth;
    if (width === 0 || width === this.width) return;
    this.width = width;
    this.place.replaceChildren(this.draw(width));
  }

  private draw(width: number): SVGElement {
    const { figure } = this;
    const measure = this.pen.measureText.bind(this.pen);
    this.pen.font = `${FONT}px ${getComputedStyle(this.element).fontFamily}`;
    const left = Math.min(0.4 * width, 14 + Math.max(...figure.rows.map((row) => measure(row.name).width)));
    const height = TOP + ROW * figure.rows.length + BOTTOM;
    const scale = scaleOf(figure, left, width - RIGHT, (width - left) / TICK_ROOM);
    const foot = height - BOTTOM;
    const grid = scale.ticks.flatMap((value) => [
      svg("line", { x1: scale.x(value), x2: scale.x(value), y1: TOP, y2: foot, stroke: value === 0 ? "var(--soft)" : "var(--line)" }),
      svg("text", { x: scale.x(value), y: foot + 17, "text-anchor": "middle", fill: "var(--soft)" }, short(value)),
    ]);
    const bands = figure.rows.flatMap((row, i) => (row.margin === undefined || row.mean === null ? [] : [band(row.margin, TOP + ROW * (i + 0.5), scale)]));
    const rows = figure.rows.map((row, i) => this.row(row, TOP + ROW * (i + 0.5), left, width, scale));
    const told = figure.rows.map((row) => `${row.name} ${row.mean === null ? "no value" : withUnit(row.mean, figure.unit)}`).join("; ");
    return svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${figure.title}: ${told}`, "font-size": FONT, "font-family": "var(--font)" }, ...bands, ...grid, ...rows);
  }

  private row(row: Row, y: number, left: number, width: number, scale: Scale): SVGElement {
    let name = row.name;
    while (name.length > 1 && this.pen.measureText(name).width > left - 12) name = `${name.slice(0, -2)}…`;
    const ground = svg("rect", { x: 0, y: y - ROW / 2, width, height: ROW, fill: "transparent" });
    const group = svg("g", {}, ground, svg("text", { x: left - 8, y: y + 4.5, "text-anchor": "end", fill: "var(--text)" }, name), ...(row.mean === null ? [svg("text", { x: left + 6, y: y + 4.5, fill: "var(--soft)" }, "no value")] : shape(this.figure, row, y, scale)));
    group.addEventListener("pointerenter", () => this.tell(row, y));
    group.addEventListener("pointerleave", () => (this.tip.hidden = true));
    return group;
  }

  private tell(row: Row, y: number): void {
    this.tip.hidden = false;
    this.tip.replaceChildren(...inWords(this.figure, row).map((line) => h("div", {}, line)));
    this.tip.style.top = `${this.place.offsetTop + y + ROW / 2 - 4}px`;
    this.tip.style.left = "10px";
  }
}

function scaleOf({ kind, least, rows }: RowFigure, left: number, right: number, most: number): Scale {
  const all = rows.flatMap((row) => [row.mean ?? 0, ...(row.ci95 ?? []), ...row.seeds, ...(kind === "difference" ? [0, row.margin ?? 0, -(row.margin ?? 0)] : [])].filter((_, i) => row.mean !== null || i > 0));
  let [low, high] = [Math.min(...all), Math.max(...all)];
  if (kind === "bar") [low, high] = [Math.min(0, low), Math.max(high, least || 1)];
  if (low === high) [low, high] = [low - (least || 1), high + (least || 1)];
  const pad = kind === "bar" ? 0 : 0.04 * (high - low);
  [low, high] = [low - pad, high + 0.04 * (high - low)];
  return { x: (value) => left + ((value - low) / (high - low)) * (right - left), ticks: valueTicks(low, high, Math.min(8, most)) };
}

/** Within what nobody would notice. */
const band = (margin: number, y: number, { x }: Scale): SVGElement => svg("rect", { x: x(-margin), y: y - 11, width: x(margin) - x(-margin), height: 22, fill: "var(--shade)" });

function shape({ kind }: RowFigure, row: Row, y: number, { x }: Scale): SVGElement[] {
  const ink = inkOf(row.place);
  const mean = x(row.mean!);
  const interval = row.ci95 ? [svg("path", { d: `M${x(row.ci95[0])} ${y}H${x(row.ci95[1])}M${x(row.ci95[0])} ${y - 5}v10M${x(row.ci95[1])} ${y - 5}v10`, stroke: "var(--text)", "stroke-width": 1.4, fill: "none" })] : [];
  if (kind === "difference") {
    const filled = row.state === "proven" ? ink : "var(--back)";
    const half = row.state === "clear" ? [svg("path", { d: `M${mean} ${y - MEAN}A${MEAN} ${MEAN} 0 0 0 ${mean} ${y + MEAN}Z`, fill: ink })] : [];
    return [...interval, svg("circle", { cx: mean, cy: y, r: MEAN, fill: filled, stroke: ink, "stroke-width": 1.6 }), ...half];
  }
  const bar = kind === "bar" ? [svg("rect", { x: Math.min(x(0), mean), y: y - 9, width: Math.abs(mean - x(0)), height: 18, fill: ink, "fill-opacity": 0.5 })] : [];
  const mark = kind === "dot" ? [svg("circle", { cx: mean, cy: y, r: MEAN, fill: ink, stroke: "var(--back)" })] : [svg("line", { x1: mean, x2: mean, y1: y - 9, y2: y + 9, stroke: ink, "stroke-width": 3 })];
  return [...bar, ...spread(row.seeds, null, x, y + 10, "var(--soft)"), ...interval, ...mark];
}

function inWords({ kind, unit }: RowFigure, row: Row): string[] {
  if (row.mean === null) return [`${row.name}: no value`];
  const value = (number: number) => (kind === "difference" ? signed(number, unit) : withUnit(number, unit));
  const state = row.state && { proven: "proven", clear: "awaits more runs", open: "not proven" }[row.state];
  return [
    `${row.name}: ${value(row.mean)}${state ? `, ${state}` : " on average"}`,
    row.ci95 ? `95\u00a0% interval of the median: ${value(row.ci95[0])} to ${value(row.ci95[1])}` : "",
  ].filter(Boolean);
}

const numbers = ({ rows, title, unit }: RowFigure): string[][] => [
  ["sender", `mean of ${title}${unit ? ` (${unit})` : ""}`, "median_low", "median_high", ...(rows[0]?.seeds ?? []).map((_, i) => `run_${i + 1}`)],
  ...rows.map((row) => [row.name, row.mean ?? "", ...(row.ci95 ?? ["", ""]), ...row.seeds].map(String)),
];
