/** A figure with a row each for senders, pairs or groups: medians and intervals, differences, shares of viewers, two worlds. */

import { signed, tickLabels, withUnit } from "../model/quantity";
import { valueTicks } from "../model/time";
import { svg } from "./dom";
import { Drawn, FONT, type Titled } from "./drawn";
import { inkOf, spread } from "./spread";

interface Measured {
  value: number;
  ci95: [number, number] | null;
}

export interface Row {
  name: string;
  /** Number of its colour. */
  place: number;
  value: number | null;
  ci95: [number, number] | null;
  /** One value a seed. */
  seeds: number[];
  /** Of a difference: whether it is proven, and within what nobody would notice it. */
  state?: "proven" | "clear" | "open";
  margin?: number;
  /** Of shares: those on the other side of zero. Of pairs: the same in the other world. */
  second?: Measured | null;
  /** At the end of the row. */
  verdict?: string;
  /** What the tip says, if it is not what follows from the figures. */
  lines?: string[];
}

export interface RowFigure extends Titled {
  unit: string;
  /** Bars begin at zero; dots need not; differences have a line there; shares lie on both sides of it; pairs are two marks. */
  kind: "bar" | "dot" | "difference" | "shares" | "pair";
  /** What counts as alike does not fill the axis. */
  least: number;
  rows: Row[];
  /** What the first column of its numbers is. */
  of?: string;
}

const ROW = 30;
const [TOP, BOTTOM, RIGHT] = [4, 24, 16];
const TICK_ROOM = 52;
const MEAN = 5.5;
/** Of a pair's marks from the middle of their row, so that equal ones do not hide each other. */
const APART = 6;
const [BETTER, WORSE] = ["var(--sender2)", "var(--sender1)"];

interface Scale {
  x: (value: number) => number;
  ticks: number[];
}

export class Rows extends Drawn {
  constructor(private readonly figure: RowFigure) {
    super("rows", { id: figure.id, title: `${figure.title}${figure.unit ? ` (${figure.unit})` : ""}` });
  }

  protected draw(width: number): SVGElement {
    const { figure } = this;
    const longest = (texts: string[]) => Math.max(0, ...texts.map((text) => this.measure(text)));
    const left = Math.min(0.4 * width, 14 + longest(figure.rows.map((row) => row.name)));
    const right = width - RIGHT - longest(figure.rows.map((row) => row.verdict ?? ""));
    const height = TOP + ROW * figure.rows.length + BOTTOM;
    const scale = scaleOf(figure, left, right, (right - left) / TICK_ROOM);
    const foot = height - BOTTOM;
    const words = tickLabels(scale.ticks).map((word) => (figure.kind === "shares" ? word.replace("−", "") : word));
    const grid = scale.ticks.flatMap((value, i) => [
      svg("line", { x1: scale.x(value), x2: scale.x(value), y1: TOP, y2: foot, stroke: value === 0 ? "var(--soft)" : "var(--line)" }),
      svg("text", { x: scale.x(value), y: foot + 17, "text-anchor": "middle", fill: "var(--soft)" }, words[i]),
    ]);
    const bands = figure.rows.flatMap((row, i) => (row.margin === undefined || row.value === null ? [] : [band(row.margin, TOP + ROW * (i + 0.5), scale)]));
    const rows = figure.rows.map((row, i) => this.row(row, TOP + ROW * (i + 0.5), left, width, scale));
    const lines = figure.rows.map((row) => inWords(figure, row)[0]).join("; ");
    return svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${figure.title}: ${lines}`, "font-size": FONT, "font-family": "var(--font)" }, ...bands, ...grid, ...rows);
  }

  private row(row: Row, y: number, left: number, width: number, scale: Scale): SVGElement {
    const ground = svg("rect", { x: 0, y: y - ROW / 2, width, height: ROW, fill: "transparent" });
    const shown = row.value === null && !row.second ? [svg("text", { x: left + 6, y: y + 4.5, fill: "var(--soft)" }, "no value")] : shape(this.figure, row, y, scale);
    const verdict = row.verdict ? [svg("text", { x: width, y: y + 4.5, "text-anchor": "end", fill: "var(--soft)" }, row.verdict)] : [];
    const group = svg("g", {}, ground, svg("text", { x: left - 8, y: y + 4.5, "text-anchor": "end", fill: "var(--text)" }, this.cut(row.name, left - 12)), ...shown, ...verdict);
    group.addEventListener("pointerenter", () => this.tell(inWords(this.figure, row), 10, y + ROW / 2 - 4));
    return group;
  }

  protected numbers(): string[][] {
    const { kind, of = "sender", rows, title, unit } = this.figure;
    const second = kind === "shares" || kind === "pair" ? ["second", "second_low", "second_high"] : [];
    return [
      [of, `${title}${unit ? ` (${unit})` : ""}`, "low", "high", ...second, ...(rows[0]?.seeds ?? []).map((_, i) => `run_${i + 1}`)],
      ...rows.map((row) => [row.name, row.value ?? "", ...(row.ci95 ?? ["", ""]), ...(second.length ? [row.second?.value ?? "", ...(row.second?.ci95 ?? ["", ""])] : []), ...row.seeds].map(String)),
    ];
  }
}

function scaleOf({ kind, least, rows }: RowFigure, left: number, right: number, most: number): Scale {
  const both = rows.flatMap((row) => [row, row.second].filter((one): one is Measured => one?.value != null));
  const all = [...both.flatMap(({ value, ci95 }) => [value, ...(ci95 ?? [])]), ...rows.flatMap((row) => [...row.seeds, ...(kind === "difference" ? [0, row.margin ?? 0, -(row.margin ?? 0)] : [])])];
  let [low, high] = all.length > 0 ? [Math.min(...all), Math.max(...all)] : [0, 0];
  if (kind === "bar") [low, high] = [Math.min(0, low), Math.max(high, least || 1)];
  if (kind === "shares") [low, high] = [Math.min(-least, low), Math.max(high, least)];
  if (low === high) [low, high] = [low - (least || 1), high + (least || 1)];
  const pad = kind === "bar" ? 0 : 0.04 * (high - low);
  [low, high] = [low - pad, high + 0.04 * (high - low)];
  if (kind === "pair" && Math.min(...all) >= 0) low = Math.max(low, 0);
  return { x: (value) => left + ((value - low) / (high - low)) * (right - left), ticks: valueTicks(low, high, Math.min(8, most)) };
}

/** Within what nobody would notice. */
const band = (margin: number, y: number, { x }: Scale): SVGElement => svg("rect", { x: x(-margin), y: y - 11, width: x(margin) - x(-margin), height: 22, fill: "var(--shade)" });

const whisker = (ci95: [number, number] | null, y: number, { x }: Scale): SVGElement[] =>
  ci95 ? [svg("path", { d: `M${x(ci95[0])} ${y}H${x(ci95[1])}M${x(ci95[0])} ${y - 5}v10M${x(ci95[1])} ${y - 5}v10`, stroke: "var(--text)", "stroke-width": 1.4, fill: "none" })] : [];

function shape({ kind }: RowFigure, row: Row, y: number, scale: Scale): SVGElement[] {
  if (kind === "pair") return pair(row, y, scale);
  const { x } = scale;
  const ink = inkOf(row.place);
  const mean = x(row.value!);
  const bar = (value: number, fill: string) => svg("rect", { x: Math.min(x(0), x(value)), y: y - 9, width: Math.abs(x(value) - x(0)), height: 18, fill, "fill-opacity": 0.5 });
  const end = (value: number, stroke: string) => svg("line", { x1: x(value), x2: x(value), y1: y - 9, y2: y + 9, stroke, "stroke-width": 3 });
  if (kind === "shares") return [[row as Measured, BETTER] as const, [row.second!, WORSE] as const].flatMap(([one, fill]) => [bar(one.value, fill), ...whisker(one.ci95, y, scale), end(one.value, fill)]);
  if (kind === "difference") {
    const filled = row.state === "proven" ? ink : "var(--back)";
    const half = row.state === "clear" ? [svg("path", { d: `M${mean} ${y - MEAN}A${MEAN} ${MEAN} 0 0 0 ${mean} ${y + MEAN}Z`, fill: ink })] : [];
    return [...whisker(row.ci95, y, scale), svg("circle", { cx: mean, cy: y, r: MEAN, fill: filled, stroke: ink, "stroke-width": 1.6 }), ...half];
  }
  const mark = kind === "dot" ? svg("circle", { cx: mean, cy: y, r: MEAN, fill: ink, stroke: "var(--back)" }) : end(row.value!, ink);
  return [...(kind === "bar" ? [bar(row.value!, ink)] : []), ...spread(row.seeds, null, x, y + 10, "var(--soft)"), ...whisker(row.ci95, y, scale), mark];
}

/** An open circle for the first world, a square for the second, and a line from one to the other. */
function pair(row: Row, y: number, scale: Scale): SVGElement[] {
  const { x } = scale;
  const [first, second] = [row.value === null ? null : (row as Measured), row.second ?? null];
  return [
    ...(first && second ? [svg("line", { x1: x(first.value), x2: x(second.value), y1: y - APART, y2: y + APART, stroke: "var(--faint)", "stroke-width": 1.6 })] : []),
    ...(first ? [...whisker(first.ci95, y - APART, scale), svg("circle", { cx: x(first.value), cy: y - APART, r: 4.5, fill: "var(--back)", stroke: "var(--text)", "stroke-width": 1.4 })] : []),
    ...(second ? [...whisker(second.ci95, y + APART, scale), svg("rect", { x: x(second.value) - 4.5, y: y + APART - 4.5, width: 9, height: 9, fill: inkOf(row.place), stroke: "var(--text)" })] : []),
  ];
}

function inWords({ kind, unit }: RowFigure, row: Row): string[] {
  if (row.lines) return row.lines;
  if (row.value === null) return [`${row.name}: no value`];
  const value = (number: number) => (kind === "difference" ? signed(number, unit) : withUnit(number, unit));
  const state = row.state && { proven: "proven", clear: "awaits more runs", open: "not proven" }[row.state];
  return [
    `${row.name}: ${value(row.value)}${state ? `, ${state}` : row.ci95 ? "" : " on average"}`,
    row.ci95 ? `95\u00a0% interval: ${value(row.ci95[0])} to ${value(row.ci95[1])}` : "",
  ].filter(Boolean);
}
