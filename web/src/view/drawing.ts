/** What a chart shows now, as an SVG file that needs no page around it. */

import type uPlot from "uplot";
import { short } from "../model/quantity";
import { type Line, factors } from "./charts";
import { colour, token } from "./colours";
import { svg } from "./dom";

const [WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [900, 320, 64, 12, 48, 36];
const LETTER = 7;

/** A line of a drawing, as the data of an SVG path; it has a name in the legend if it has one. */
export interface Stroke {
  d: string;
  ink: string;
  width: number;
  dash?: number[];
  name: string | null;
}

type Place = (value: number) => number;

export function drawing(plot: uPlot, title: string, unit: string, lines: Line[]): string {
  const shown = lines.map((line, i) => ({ line, points: points(plot, i + 1) })).filter(({ points }) => points.length > 0);
  return sheet(plot, `${title} (${unit})`, ({ x, y }) => shown.map(({ line, points }) => ({
    d: points.map(([at, value], i) => `${i ? "L" : "M"}${x(at).toFixed(1)} ${y(value).toFixed(1)}`).join(""),
    ink: ink(line), width: 1.3, dash: line.dash, name: line.role === "low" || line.role === "high" ? null : line.label,
  })));
}

/** Title, axes and legend around what `make` draws on the scales. */
export function sheet(plot: uPlot, title: string, make: (scales: { x: Place; y: Place }) => Stroke[]): string {
  const [x, y] = [scale(plot, "x", LEFT, WIDTH - RIGHT), scale(plot, "y", HEIGHT - BOTTOM, TOP)];
  const strokes = make({ x, y });
  const frame = svg("clipPath", { id: "frame" }, svg("rect", { x: LEFT, y: TOP, width: WIDTH - LEFT - RIGHT, height: HEIGHT - TOP - BOTTOM }));
  const paths = strokes.map(({ d, ink, width, dash }) => svg("path", { d, "clip-path": "url(#frame)", fill: "none", stroke: ink, "stroke-width": width, "stroke-dasharray": dash?.join(" ") ?? null }));
  let left = LEFT;
  const names = strokes.filter((stroke) => stroke.name !== null).map(({ name, ink }) => {
    const at = left;
    left += name!.length * LETTER + 24;
    return svg("text", { x: at, y: 36, fill: ink, "font-weight": 600 }, name);
  });
  const root = svg(
    "svg", { xmlns: "http://www.w3.org/2000/svg", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, width: WIDTH, height: HEIGHT, "font-family": "sans-serif", "font-size": 12, fill: token("text") },
    frame, svg("rect", { width: WIDTH, height: HEIGHT, fill: token("back") }), svg("text", { x: LEFT, y: 18, "font-size": 14 }, title),
    ...ticks(plot, "x").map((at) => svg("text", { x: x(at), y: HEIGHT - BOTTOM + 18, "text-anchor": "middle" }, `${short(at)} s`)),
    ...ticks(plot, "y").flatMap((at) => [svg("line", { x1: LEFT, x2: WIDTH - RIGHT, y1: y(at), y2: y(at), stroke: token("line") }), svg("text", { x: LEFT - 6, y: y(at) + 4, "text-anchor": "end" }, short(at))]),
    ...paths, ...names,
  );
  return new XMLSerializer().serializeToString(root);
}

const ink = (line: Line): string => (line.role === "capacity" || line.role === "need" ? token("soft") : colour(line.place));

function scale(plot: uPlot, name: "x" | "y", from: number, until: number): (value: number) => number {
  const { min = 0, max = 1, distr } = plot.scales[name];
  const share = distr === 3 ? (value: number) => Math.log(value / min!) / Math.log(max! / min!) : (value: number) => (value - min!) / (max! - min! || 1);
  return (value) => from + share(value) * (until - from);
}

/** About six round numbers within a scale. */
function ticks(plot: uPlot, name: "x" | "y"): number[] {
  const { min = 0, max = 1, distr } = plot.scales[name];
  if (distr === 3) return factors(min, max);
  const raw = (max - min) / 6 || 1;
  const ten = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((factor) => factor * ten).find((one) => one >= raw)!;
  const first = Math.ceil(min / step);
  return Array.from({ length: Math.floor(max / step) - first + 1 }, (_, i) => Number(((first + i) * step).toPrecision(12)));
}

/** Samples of a series in what is zoomed to, with one neighbour on either side. */
function points(plot: uPlot, series: number): [number, number][] {
  const [times, values] = [plot.data[0], plot.data[series]];
  const { min = -Infinity, max = Infinity } = plot.scales.x;
  const found: [number, number][] = [];
  for (let i = 0; i < times.length; i++) {
    const value = values[i];
    if (value !== null && value !== undefined && Number.isFinite(value) && times[Math.min(i + 1, times.length - 1)] >= min && times[Math.max(0, i - 1)] <= max) found.push([times[i], value]);
  }
  return found;
}
