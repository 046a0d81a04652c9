/** What a chart shows now, as an SVG file that needs no page around it. */

import type uPlot from "uplot";
import type { Line } from "../model/lines";
import { tickLabels } from "../model/quantity";
import { factors, timeLabels, timeTicks, valueTicks } from "../model/time";
import { colour, dashed, token } from "./colours";
import { svg } from "./dom";

const [WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [900, 320, 64, 12, 48, 36];
const LETTER = 7;
const TIMES = 10;

/** A line of a drawing, as the data of an SVG path; it has a name in the legend if it has one. */
export interface Stroke {
  d: string;
  ink: string;
  width: number;
  dash?: number[];
  name: string | null;
  /** A surface instead of a line. */
  isSurface?: boolean;
}

type Place = (value: number) => number;

export function drawing(plot: uPlot, title: string, unit: string, lines: Line[]): string {
  const shown = lines.map((line, i) => ({ line, points: points(plot, i + 1) })).filter(({ points }) => points.length > 0);
  return sheet(plot, `${title} (${unit})`, ({ x, y }) => shown.flatMap(({ line, points }, i): Stroke[] => {
    const d = (all: [number, number][]) => all.map(([at, value], k) => `${k ? "L" : "M"}${x(at).toFixed(1)} ${y(value).toFixed(1)}`).join("");
    // The edges of a band follow each other: a surface between them.
    if (line.role === "low") return [];
    if (line.role === "high") return [{ d: `${d([...shown[i - 1].points, ...[...points].reverse()])}Z`, ink: ink(line), width: 0, name: null, isSurface: true }];
    return [{ d: d(points), ink: ink(line), width: 1.3, dash: line.dash ?? dashed(line.place), name: line.label }];
  }));
}

/** Title, axes and legend around what `make` draws on the scales. */
export function sheet(plot: uPlot, title: string, make: (scales: { x: Place; y: Place }) => Stroke[]): string {
  const [x, y] = [scale(plot, "x", LEFT, WIDTH - RIGHT), scale(plot, "y", HEIGHT - BOTTOM, TOP)];
  const strokes = make({ x, y });
  const frame = svg("clipPath", { id: "frame" }, svg("rect", { x: LEFT, y: TOP, width: WIDTH - LEFT - RIGHT, height: HEIGHT - TOP - BOTTOM }));
  const paths = strokes.map(({ d, ink, width, dash, isSurface }) => svg("path", { d, "clip-path": "url(#frame)", ...(isSurface ? { fill: ink, "fill-opacity": 0.22 } : { fill: "none", stroke: ink, "stroke-width": width, "stroke-dasharray": dash?.join(" ") ?? null }) }));
  const { min: from = 0, max: until = 1 } = plot.scales.x;
  const times = timeTicks(from, until, TIMES);
  const labels = timeLabels(times);
  const values = valuesOf(plot);
  const words = tickLabels(values);
  let left = LEFT;
  const names = strokes.filter((stroke) => stroke.name !== null).flatMap(({ name, ink, dash }) => {
    const [at, width] = [left, name!.length * LETTER];
    left += width + 24;
    const sample = dash ? [svg("line", { x1: at, x2: at + width, y1: 41, y2: 41, stroke: ink, "stroke-width": 1.6, "stroke-dasharray": dash.join(" ") })] : [];
    return [svg("text", { x: at, y: 36, fill: ink, "font-weight": 600 }, name), ...sample];
  });
  const root = svg(
    "svg", { xmlns: "http://www.w3.org/2000/svg", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, width: WIDTH, height: HEIGHT, "font-family": "sans-serif", "font-size": 12, fill: token("text") },
    frame, svg("rect", { width: WIDTH, height: HEIGHT, fill: token("back") }), svg("text", { x: LEFT, y: 18, "font-size": 14 }, title),
    ...times.map((at, i) => svg("text", { x: x(at), y: HEIGHT - BOTTOM + 18, "text-anchor": "middle" }, labels[i])),
    ...values.flatMap((at, i) => [svg("line", { x1: LEFT, x2: WIDTH - RIGHT, y1: y(at), y2: y(at), stroke: token("line") }), svg("text", { x: LEFT - 6, y: y(at) + 4, "text-anchor": "end" }, words[i])]),
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

function valuesOf(plot: uPlot): number[] {
  const { min = 0, max = 1, distr } = plot.scales.y;
  return distr === 3 ? factors(min, max) : valueTicks(min, max, 6);
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
