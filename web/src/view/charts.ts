/** Time series of all senders over one axis: drag to zoom, double click for all of it, one cursor in all charts and strips. */

import uPlot from "uplot";
import { envelope, within } from "../model/envelope";
import { CHARTS, type Chart, type Context, type Line, edges, lastSample, placeOf } from "../model/lines";
import { clock, short, tickLabels, withUnit } from "../model/quantity";
import { type Mark, type Session, marks } from "../model/story";
import { factors, timeLabels, timeTicks } from "../model/time";
import { COLOURS, colour, dashed, token } from "./colours";
import { h } from "./dom";
import { drawing } from "./drawing";
import { saveable } from "./saving";

const HEIGHT = 190;
/** Of the axis of values, and free at the right; the strips above keep the same (parts.css). */
const [LEFT, RIGHT] = [56, 14];
const AXES = LEFT + RIGHT;
/** Pixels of a part of a line that has more samples than places. */
const PART = 3;
const NEAR = 6;
const MARK = 7;
const TICK_ROOM = 90;

export class Charts {
  readonly element = h("div", { class: "charts" });
  /** Whether lines are drawn as least, most and mean, since they have more samples than places. */
  isDense = false;
  private plots: uPlot[] = [];
  private drawn: (() => void) | null = null;
  private width = 0;
  private observer = new ResizeObserver(() => this.fit());

  constructor(private onZoom: (view: [number, number] | null) => void, private onCursor: (time: number | null) => void = () => undefined) {
    this.observer.observe(this.element);
  }

  /** `ids`: of the charts, if not all of them are to be shown. */
  draw(sessions: Session[], context: Context, view: [number, number] | null, ids?: string[]): void {
    this.drawn = () => this.draw(sessions, context, view, ids);
    this.plots.forEach((plot) => plot.destroy());
    this.width = this.element.clientWidth || 600;
    const shown = view ?? [0, lastSample(sessions)] as [number, number];
    this.isDense = false;
    const made = CHARTS.filter((chart) => ids?.includes(chart.id) ?? true).map((chart) => this.make(chart, sessions, context, shown)).filter((one) => one !== null);
    this.plots = made.map(({ plot }) => plot);
    this.element.replaceChildren(...made.map(({ figure }) => figure));
  }

  /** Moves the cursor of all charts to a time. */
  point(time: number | null): void {
    // Charts that have just been made know their scales with the next microtask.
    queueMicrotask(() => this.plots.forEach((plot) => plot.setCursor({ left: time === null ? -10 : plot.valToPos(time, "x"), top: time === null ? -10 : 0 })));
  }

  private make(chart: Chart, sessions: Session[], context: Context, view: [number, number]): { plot: uPlot; figure: HTMLElement } | null {
    const measured = chart.lines(sessions, context).filter((line) => line.values.some(Number.isFinite));
    if (!measured.some((line) => !line.role)) return null;
    const places = this.width - AXES;
    const isDense = measured.some((line) => !line.role && within(line.times, view).reduce((first, end) => end - first) > places);
    this.isDense ||= isDense;
    const behind = isDense ? [] : edges(measured, context, chart.band);
    const lines = [...behind, ...measured].flatMap((line) => (isDense && !line.role ? dense(line, view, Math.floor(places / PART)) : [cropped(line, view)]));
    const notes = sessions.flatMap((session, at) => marks(session.record).filter((mark) => chart.marks.includes(mark.kind) && (mark.path ?? context.path) === context.path).map((mark) => ({ ...mark, row: at, place: placeOf(at, context), sender: session.sender })));
    const tip = h("div", { class: "tip", hidden: true });
    const body = h("div", { class: "plot" });
    const plot = new uPlot({ ...this.options(chart, lines, view, notes, sessions.length, tip), width: this.width }, joined(lines, chart), body);
    plot.over.addEventListener("dblclick", () => this.onZoom(null));
    plot.over.append(tip);
    const title = `${chart.title} (${chart.unit})`;
    const figure = h("figure", { id: `chart-${chart.id}` });
    figure.append(
      h("figcaption", {}, h("h3", {}, title), saveable(figure, {
        name: chart.id, title: `${title} over time`,
        picture: () => new Promise((resolve) => plot.ctx.canvas.toBlob(resolve)),
        drawing: () => drawing(plot, chart.title, chart.unit, lines),
        numbers: () => table(joined(measured.map((line) => cropped(line, view)), chart), measured),
      })),
      body,
    );
    const canvas = plot.ctx.canvas;
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", `${chart.title} over time: ${measured.map((line) => `${line.label} ${withUnit(mean(line.values), chart.unit)} on average`).join("; ")}`);
    return { plot, figure };
  }

  private options(chart: Chart, lines: Line[], view: [number, number], notes: Note[], rows: number, tip: HTMLElement): Omit<uPlot.Options, "width"> {
    const text = token("text");
    const grid = { stroke: token("line"), width: 1 };
    // What the marks' rows need above the lines.
    const room = notes.length > 0 ? 1 / (1 - (rows * (MARK + 2) + 4) / (HEIGHT - 50)) : 1;
    const y: uPlot.Scale = chart.isLog
      ? { distr: 3, range: (_, min, max) => { const least = Math.max(1, min * 0.8); return [least, least * (Math.max(10, max * 1.1) / least) ** room]; } }
      : { range: (_, __, max) => [0, max > 0 ? max * 1.05 * room : 1] };
    return {
      height: HEIGHT, padding: [8, RIGHT, 0, 0],
      cursor: { sync: { key: "playpath" }, drag: { x: true, y: false, setScale: false }, focus: { prox: 30 } },
      legend: { live: true, markers: { dash: (_, i) => (dashed(lines[i - 1]?.place ?? 0) ? "dashed" : "solid") } },
      scales: { x: { time: false, range: () => view }, y },
      axes: [
        { stroke: text, grid, ticks: grid, size: 30, splits: (plot, _, min, max) => timeTicks(min, max, plot.bbox.width / devicePixelRatio / TICK_ROOM), values: (_, splits) => timeLabels(splits) },
        { stroke: text, grid, ticks: grid, size: LEFT, values: (_, splits) => (chart.isLog ? splits.map((value) => (value === null ? null : short(value))) : tickLabels(splits)), ...(chart.isLog ? { splits: (_: uPlot, __: number, min: number, max: number) => factors(min, max) } : {}) },
      ],
      series: [{ label: "time", value: (_, time) => (time === null ? "–" : clock(time)) }, ...lines.map((line, i) => series(line, i, lines, chart.unit))],
      bands: lines.flatMap((line, i) => (line.role === "high" ? [{ series: [i + 1, i] as [number, number], fill: `${colour(line.place)}38` }] : [])),
      hooks: {
        draw: [(plot) => drawMarks(plot, notes)],
        setSelect: [(plot) => {
          const { left, width } = plot.select;
          if (width > 4) this.onZoom([plot.posToVal(left, "x"), plot.posToVal(left + width, "x")]);
          plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
        }],
        setCursor: [(plot) => {
          const { left } = plot.cursor;
          this.onCursor(left === undefined || left < 0 ? null : plot.posToVal(left, "x"));
          showTip(plot, tip, notes);
        }],
      },
    };
  }

  /** Another width has other places. */
  private fit(): void {
    if (this.element.clientWidth > 0 && this.element.clientWidth !== this.width) this.drawn?.();
  }
}

/** A line with its least and most beneath it. */
function dense(line: Line, view: [number, number], count: number): Line[] {
  const { times, low, high, mean } = envelope(line.times, line.values, view, count);
  return [{ ...line, label: `${line.label}, minimum`, times, values: low, role: "low" }, { ...line, label: `${line.label}, maximum`, times, values: high, role: "high" }, { ...line, times, values: mean }];
}

function cropped(line: Line, view: [number, number]): Line {
  const [first, end] = within(line.times, view);
  return { ...line, times: line.times.subarray(first, end), values: line.values.subarray(first, end) };
}

const joined = (lines: Line[], { isLog }: Chart): uPlot.AlignedData =>
  uPlot.join(lines.map((line) => [Array.from(line.times), Array.from(line.values, (value) => (Number.isFinite(value) && !(isLog && value <= 0) ? value : null))]) as uPlot.AlignedData[]);

function series(line: Line, i: number, lines: Line[], unit: string): uPlot.Series {
  const isEdge = line.role === "low" || line.role === "high";
  const hasRange = !line.role && lines[i - 1]?.role === "high" && lines[i - 1].times === line.times;
  return {
    label: line.label,
    class: isEdge ? "edge" : undefined,
    stroke: line.role === "capacity" ? token("faint") : line.role === "need" ? token("soft") : isEdge ? "transparent" : colour(line.place),
    fill: line.role === "capacity" ? token("shade") : undefined,
    dash: line.dash ?? dashed(line.place), width: line.role ? 1 : 1.6, spanGaps: true, points: { show: false },
    value: (plot, value, _, at) => {
      if (value === null) return "–";
      const range = hasRange && at !== null ? ` (${short(plot.data[i - 1][at])} to ${short(plot.data[i][at])})` : "";
      return `${withUnit(value, unit)}${range}`;
    },
  };
}

const mean = (values: Float64Array): number => {
  const known = values.filter((value) => Number.isFinite(value));
  return known.reduce((sum, value) => sum + value, 0) / known.length;
};

/** A mark on the row of its session. */
type Note = Mark & { row: number; place: number; sender: string };

/** A row for each session along the upper edge: a triangle for each mark, or, where they would run together, bars as high as they are many. */
function drawMarks(plot: uPlot, notes: Note[]): void {
  const { ctx, bbox } = plot;
  const size = MARK * devicePixelRatio;
  const inks = Array.from({ length: COLOURS }, (_, place) => colour(place));
  const stall = token("stall");
  ctx.save();
  for (const row of grouped(notes, (note) => note.row).values()) {
    const places = row.map((note) => Math.round(plot.valToPos(note.time, "x", true))).filter((x) => x >= bbox.left && x <= bbox.left + bbox.width);
    const bins = grouped(places, (x) => Math.floor((x - bbox.left) / (size / 2)));
    const isCrowded = bins.size > bbox.width / size / 3;
    const most = Math.max(...[...bins.values()].map((bin) => bin.length));
    const top = bbox.top + row[0].row * (size + 2);
    ctx.fillStyle = row[0].kind === "stall" ? stall : inks[row[0].place % COLOURS];
    for (const [bin, [x, ...others]] of bins) {
      const high = (size * (others.length + 1)) / most;
      ctx.beginPath();
      if (isCrowded) ctx.rect(bbox.left + (bin * size) / 2, top + size - high, size / 2 - 1, high);
      else for (const [dx, dy] of [[-size / 2, 0], [size / 2, 0], [0, size]]) ctx.lineTo(x + dx, top + dy);
      ctx.fill();
    }
  }
  ctx.restore();
}

function grouped<T>(all: T[], of: (one: T) => number): Map<number, T[]> {
  const found = new Map<number, T[]>();
  for (const one of all) {
    const group = found.get(of(one));
    if (group) group.push(one);
    else found.set(of(one), [one]);
  }
  return found;
}

const MOST_TOLD = 5;

function showTip(plot: uPlot, tip: HTMLElement, notes: Note[]): void {
  const { left } = plot.cursor;
  const near = left === undefined || left < 0 ? [] : notes.filter((note) => Math.abs(plot.valToPos(note.time, "x") - left) < NEAR);
  tip.hidden = near.length === 0;
  if (near.length === 0) return;
  const more = near.length - MOST_TOLD;
  tip.replaceChildren(...near.slice(0, MOST_TOLD).map((note) => h("div", {}, `${clock(note.time)} ${note.sender}: ${note.text}`)), more > 0 ? h("div", {}, `and ${more} more`) : "");
  const isRight = left! > plot.over.clientWidth / 2;
  tip.style.left = isRight ? "" : `${left! + 10}px`;
  tip.style.right = isRight ? `${plot.over.clientWidth - left! + 10}px` : "";
}

function table(data: uPlot.AlignedData, lines: Line[]): string[][] {
  const rows = Array.from(data[0], (time, i) => [time, ...data.slice(1).map((values) => values[i] ?? "")].map(String));
  return [["time_s", ...lines.map((line) => line.label)], ...rows];
}
