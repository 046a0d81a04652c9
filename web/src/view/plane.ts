/** A figure over two axes of numbers: lines with marks and intervals, distributions with bands, clouds of marks. */

import { short, tickLabels, withUnit } from "../model/quantity";
import { factors, timeLabels, timeTicks, valueTicks } from "../model/time";
import { svg } from "./dom";
import { Drawn, FONT, type Titled } from "./drawn";
import { COLOURS } from "./colours";
import { inkOf } from "./spread";

export type Point = [x: number, y: number, low: number | null, high: number | null];

export interface Series {
  name: string;
  /** Number of its colour; null is that of text. */
  place: number | null;
  points: Point[];
  /** Whether the points are joined. */
  isLine: boolean;
  isHollow?: boolean;
  /** Of the points only these have a mark; by default all. */
  marked?: number[];
  /** What each point is. */
  names?: string[];
}

interface Axis {
  label: string;
  unit: string;
  isLog?: boolean;
  /** Where the ticks are, if not at round numbers; their words, if not the numbers. */
  ticks?: number[];
  words?: string[];
  /** By default what the points need. */
  range?: [number, number];
  /** Seconds of a session, told as minutes and seconds. */
  isTime?: boolean;
}

export interface PlaneFigure extends Titled {
  x: Axis;
  y: Axis;
  /** What low and high of a point are: an interval of its height, the edges of a band to its left and right, or a layer's. */
  spread: "interval" | "band" | "layer";
  series: Series[];
  /** Parts of the horizontal axis in which the picture stands still. */
  stops?: [number, number][];
}

/** As high as wide by this share, between the two. */
const [SHAPE, LOWEST, HIGHEST] = [0.68, 220, 290];
const [TOP, RIGHT, FOOT] = [24, 16, 42];
const LEGEND = 20;
const SAMPLE = 30;
const [X_ROOM, Y_ROOM] = [64, 44];
const NEAR = 16;
const MARK = 4.5;
const DASHES = ["none", "7 4", "2 3", "9 3 2 3"];

/** So that lines are told apart without colour, and those of one colour from the ninth on. */
export const dashAt = (i: number): string => DASHES[(i + Math.floor(i / COLOURS)) % DASHES.length];

interface Scale {
  at: (value: number) => number;
  ticks: number[];
}

export class Plane extends Drawn {
  private spots: { x: number; y: number; label: string[] }[] = [];

  constructor(private readonly figure: PlaneFigure) {
    super("plane", figure);
    this.element.addEventListener("pointermove", (event) => this.point(event));
  }

  protected draw(width: number): SVGElement {
    const { figure } = this;
    const { items, height: legend } = this.legend(width);
    const values = (which: 0 | 1) => figure.series.flatMap(({ points }) => points.flatMap((point) => (which === (figure.spread === "band" ? 0 : 1) ? [point[which], point[2] ?? point[which], point[3] ?? point[which]] : [point[which]])));
    const height = legend + Math.min(HIGHEST, Math.max(LOWEST, SHAPE * width));
    const bottom = height - FOOT;
    const y = scaleOf(figure.y, values(1), bottom, legend + TOP, (bottom - legend - TOP) / Y_ROOM);
    const words = tickLabels(y.ticks);
    const left = 14 + Math.max(...words.map((word) => this.measure(word)));
    const x = scaleOf(figure.x, values(0), left, width - RIGHT, (width - left) / X_ROOM);
    const text = (props: Record<string, unknown>, label: string) => svg("text", { fill: "var(--soft)", ...props }, label);
    const frame = [
      ...y.ticks.flatMap((value, i) => [svg("line", { x1: left, x2: width - RIGHT, y1: y.at(value), y2: y.at(value), stroke: value === 0 ? "var(--soft)" : "var(--line)" }), text({ x: left - 6, y: y.at(value) + 4.5, "text-anchor": "end" }, words[i])]),
      ...this.ticks(x, bottom, legend + TOP),
      text({ x: (left + width - RIGHT) / 2, y: bottom + 36, "text-anchor": "middle" }, this.cut(titled(figure.x), width - left)),
      text({ x: 2, y: legend + 13 }, this.cut(titled(figure.y), width - 4)),
    ];
    const stops = (figure.stops ?? []).map(([begin, end]) => svg("rect", { x: x.at(begin), y: legend + TOP, width: Math.max(1, x.at(end) - x.at(begin)), height: bottom - legend - TOP, fill: "var(--stall)", "fill-opacity": 0.22 }));
    this.spots = figure.series.flatMap((series) => marked(series).map((i) => ({ x: x.at(series.points[i][0]), y: y.at(series.points[i][1]), label: inWords(figure, series, i) })));
    const label = `${figure.title}: ${figure.series.map((series) => this.summary(series)).join("; ")}`;
    return svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label, "font-size": FONT, "font-family": "var(--font)" }, ...items, ...frame, ...figure.series.flatMap((series, i) => shape(figure, series, i, x, y)), ...stops);
  }

  /** Of a line its ends, of a cloud how many there are. */
  private summary({ name, points, isLine }: Series): string {
    const [first, last] = [points[0], points.at(-1)!];
    const at = (point: Point) => `${withUnit(point[1], this.figure.y.unit)} at ${withUnit(point[0], this.figure.x.unit)}`;
    return isLine && points.length > 1 ? `${name} from ${at(first)} to ${at(last)}` : `${name}: ${points.length}`;
  }

  /** Names along the axis, as many as there is room for. */
  private ticks(x: Scale, bottom: number, top: number): SVGElement[] {
    const { isTime, ticks } = this.figure.x;
    const words = isTime ? timeLabels(x.ticks) : this.figure.x.words;
    const numbers = tickLabels(x.ticks);
    let free = -Infinity;
    return x.ticks.flatMap((value, i) => {
      const at = x.at(value);
      const word = words?.[(ticks ?? x.ticks).indexOf(value)] ?? numbers[i];
      const half = this.measure(word) / 2;
      const line = svg("line", { x1: at, x2: at, y1: top, y2: bottom, stroke: "var(--line)" });
      if (at - half < free) return [line];
      free = at + half + 8;
      return [line, svg("text", { x: at, y: bottom + 18, "text-anchor": "middle", fill: "var(--soft)" }, word)];
    });
  }

  private legend(width: number): { items: SVGElement[]; height: number } {
    let [x, y] = [2, LEGEND / 2 + 2];
    const items = this.figure.series.flatMap((series, i) => {
      const wanted = SAMPLE + this.measure(series.name) + 18;
      if (x > 2 && x + wanted > width) [x, y] = [2, y + LEGEND];
      const at = x;
      x += wanted;
      const line = series.isLine ? [svg("line", { x1: at, x2: at + 24, y1: y, y2: y, stroke: ink(series), "stroke-width": 2, "stroke-dasharray": dashAt(i) })] : [];
      return [...line, mark(series, at + 12, y), svg("text", { x: at + SAMPLE, y: y + 4.5, fill: "var(--text)" }, series.name)];
    });
    return { items, height: y + LEGEND / 2 };
  }

  private point(event: PointerEvent): void {
    const drawing = this.element.querySelector("svg")!;
    const box = drawing.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const distance = (spot: { x: number; y: number }) => Math.hypot(spot.x - x, spot.y - y);
    const nearest = this.spots.reduce((a, b) => (distance(b) < distance(a) ? b : a), this.spots[0]);
    if (!nearest || distance(nearest) > NEAR) return this.tell(null);
    const same = this.spots.filter((spot) => Math.hypot(spot.x - nearest.x, spot.y - nearest.y) < 2).slice(0, 6);
    this.tell(same.flatMap(({ label }) => label), nearest.x + (nearest.x > box.width / 2 ? -12 : 12), nearest.y + 8);
  }

  protected numbers(): string[][] {
    const { x, y, series } = this.figure;
    return [["series", titled(x), titled(y), "low", "high"], ...series.flatMap(({ name, names, points }) => points.map((point, i) => [names ? `${name}: ${names[i]}` : name, ...point.map((value) => (value === null ? "" : String(value)))]))];
  }
}

const titled = ({ label, unit }: Axis): string => `${label}${unit ? ` (${unit})` : ""}`;

const ink = ({ place }: Series): string => (place === null ? "var(--text)" : inkOf(place));

const marked = ({ marked: some, points }: Series): number[] => some ?? points.map((_, i) => i);

export function scaleOf({ isLog, isTime, ticks, range }: Axis, values: number[], from: number, until: number, most: number): Scale {
  let [low, high] = range ?? [Math.min(...values), Math.max(...values)];
  if (!range && !isLog && low >= 0 && low < 0.5 * high && !ticks) low = 0;
  if (low === high) [low, high] = low === 0 ? [0, 1] : isLog ? [low / 2, high * 2] : [low - 1, high + 1];
  const share = isLog ? (value: number) => Math.log(value / low) / Math.log(high / low) : (value: number) => (value - low) / (high - low);
  const pad = range ? 0 : 0.03 * Math.abs(until - from);
  const [begin, end] = [low === 0 ? from : from + Math.sign(until - from) * pad, until - Math.sign(until - from) * pad];
  return { at: (value) => begin + share(value) * (end - begin), ticks: ticks ?? (isTime ? timeTicks(low, high, most) : isLog ? factors(low, high) : valueTicks(low, high, Math.min(8, most))) };
}

const path = (points: [number, number][]): string => points.map(([left, top], k) => `${k ? "L" : "M"}${left.toFixed(1)} ${top.toFixed(1)}`).join("");

/** What lies between two edges; nothing where there are no points: a path of "Z" alone is an error. */
export const surface = (edge: [number, number][], other: [number, number][]): string => (edge.length > 0 ? `${path([...edge, ...[...other].reverse()])}Z` : "");

function shape({ spread }: PlaneFigure, series: Series, i: number, x: Scale, y: Scale): SVGElement[] {
  const stroke = ink(series);
  const known = series.points.filter(([, , low]) => low !== null);
  const band = spread === "band" ? [svg("path", { d: surface(known.map(([, at, low]) => [x.at(low!), y.at(at)]), known.map(([, at, , high]) => [x.at(high!), y.at(at)])), fill: stroke, "fill-opacity": 0.18 })] : [];
  const layer = spread === "layer" ? [svg("path", { d: surface(known.map(([at, , , high]) => [x.at(at), y.at(high!)]), known.map(([at, , low]) => [x.at(at), y.at(low!)])), fill: stroke, "fill-opacity": i % 2 ? 0.75 : 0.4 })] : [];
  const bars = spread === "interval" ? known.map(([at, , low, high]) => svg("path", { d: `M${x.at(at)} ${y.at(low!)}V${y.at(high!)}m-3.5 0h7M${x.at(at) - 3.5} ${y.at(low!)}h7`, stroke, "stroke-opacity": 0.75, fill: "none" })) : [];
  const line = series.isLine ? [svg("path", { d: path(series.points.map(([left, at]) => [x.at(left), y.at(at)])), fill: "none", stroke, "stroke-width": 2, "stroke-dasharray": spread === "layer" ? "none" : dashAt(i) })] : [];
  return [...band, ...layer, ...bars, ...line, ...marked(series).map((k) => mark(series, x.at(series.points[k][0]), y.at(series.points[k][1])))];
}

/** A circle, a square, a triangle or a diamond. */
function mark(series: Series, x: number, y: number): SVGElement {
  const place = series.place ?? 0;
  const look = { fill: series.isHollow ? "var(--back)" : ink(series), stroke: series.isHollow ? ink(series) : "var(--back)", "stroke-width": series.isHollow ? 1.6 : 1 };
  if (place % 4 === 0) return svg("circle", { cx: x, cy: y, r: MARK, ...look });
  const [a, b] = [MARK + 0.5, MARK + 1.2];
  const d = [`M${x - MARK} ${y - MARK}h${2 * MARK}v${2 * MARK}h${-2 * MARK}Z`, `M${x} ${y - b}L${x + b} ${y + a}H${x - b}Z`, `M${x} ${y - b - 0.6}L${x + b + 0.6} ${y}L${x} ${y + b + 0.6}L${x - b - 0.6} ${y}Z`][(place % 4) - 1];
  return svg("path", { d, ...look });
}

function inWords({ x, y, spread }: PlaneFigure, { name, names, points }: Series, i: number): string[] {
  const [left, at, low, high] = points[i];
  const word = x.words?.[x.ticks!.indexOf(left)];
  const unit = spread === "band" ? x.unit : y.unit;
  return [
    `${names ? `${names[i]}, ` : ""}${name}: ${x.label} ${word ?? withUnit(left, x.unit)}, ${y.label} ${withUnit(at, y.unit)}`,
    low === null ? "" : `95\u00a0% interval${spread === "interval" ? " of the median" : ""}: ${short(low)} to ${withUnit(high, unit)}`,
  ].filter(Boolean);
}
