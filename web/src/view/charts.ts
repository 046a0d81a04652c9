/** Time series of all senders over one axis: drag to zoom, double click for all of it, one cursor in all charts. */

import uPlot from "uplot";
import type { Columns, PathFigures, TraceFigures } from "../engine/types";
import { untilLastByte } from "../model/measured";
import { clock, short } from "../model/quantity";
import { type Mark, type Session, marks } from "../model/story";
import { COLOURS, colour, token } from "./colours";
import { csv } from "./csv";
import { download, h } from "./dom";
import { drawing } from "./drawing";

export interface Line {
  label: string;
  times: Float64Array;
  values: Float64Array;
  place: number;
  dash?: number[];
  /** Of which sender's series it is a column. */
  source?: { sender: string; series: string };
  /** Drawn as a background: what the link could carry, an edge of the seeds' band, what the film needs. */
  role?: "capacity" | "low" | "high" | "need";
}

/** Where most seeds lie, at times that all of a sender share. */
export interface Band {
  sender: string;
  series: string;
  column: string;
  times: Float64Array;
  low: Float64Array;
  high: Float64Array;
}

interface Chart {
  id: string;
  title: string;
  unit: string;
  lines: (sessions: Session[], context: Context) => Line[];
  /** The column whose spread over the seeds is drawn behind the lines. */
  band?: string;
  /** A scale of factors: a cut by a third is as high at 30 packets as at 300. */
  isLog?: boolean;
  /** Which marks are drawn on it. */
  marks: Mark["kind"][];
}

export interface Context {
  paths: (Pick<PathFigures, "name" | "rate_mbps"> & { rtt_ms: number | null })[];
  /** Mbit/s that a film of one rate needs, and payload bytes of a full packet. */
  film: { mbps: number; mss: number } | null;
  traces: (TraceFigures | null)[];
  /** Number of the path that is looked at. */
  path: number;
  bands?: Band[];
  /** Number of each session's colour; by default its place among them. */
  places?: number[];
}

const MOST_FLOWS = 6;

const placeOf = (at: number, { places }: Context): number => places?.[at] ?? at;

/** The first flow of each group, then the second …: whichever opens first, which chance decides in some scenarios. */
function byPlace(a: string, b: string): number {
  const number = (name: string) => Number(/\.(\d+)$/.exec(name)?.[1] ?? 1);
  return number(a) - number(b) || (a < b ? -1 : 1);
}

interface Flow {
  label: string;
  place: number;
  columns: Columns;
  source: Line["source"];
}

/** The video's flow over the path that is looked at; without a video, which senders would carry, the first flows of the session. */
function flowsOf(session: Session, at: number, context: Context): Flow[] {
  const { paths, path } = context;
  const place = placeOf(at, context);
  const { sender } = session;
  const found = [`flow.video/${paths[path]?.name}`, "flow.video"].find((name) => session.series[name]);
  if (found) return [{ label: sender, place, columns: untilLastByte(session.series[found]), source: { sender, series: found } }];
  const names = Object.keys(session.series).filter((name) => name.startsWith("flow.")).sort(byPlace);
  if (names.some((name) => name.startsWith("flow.video"))) return [];
  return names.slice(0, MOST_FLOWS).map((name, i) => ({ label: name.slice("flow.".length), place: place + i, columns: untilLastByte(session.series[name]), source: { sender, series: name } }));
}

const ofFlows = (make: (columns: Columns) => Float64Array): Chart["lines"] => (sessions, context) =>
  sessions.flatMap((session, at) => flowsOf(session, at, context).map(({ label, place, columns, source }) => ({ label, place, source, times: columns.time_s, values: make(columns) })));

const inFlight = (columns: Columns): Float64Array => columns.unacked.map((unacked, i) => unacked - columns.sacked[i] - columns.lost[i] + columns.retrans[i]);

/** Zero stands for “no sample yet”. */
const roundTrip = ({ rtt_ms }: Columns): Float64Array => rtt_ms.map((value) => (value > 0 ? value : NaN));

function buffer(sessions: Session[], context: Context): Line[] {
  return sessions.flatMap((session, at) => (session.series.player ? [{ label: session.sender, place: placeOf(at, context), source: { sender: session.sender, series: "player" }, times: session.series.player.time_s, values: session.series.player.buffer_level_s }] : []));
}

/** The queue of the path towards the viewer; where links have names of their own, the longest. */
function queue(sessions: Session[], context: Context): Line[] {
  const name = `link.path.${context.paths[context.path]?.name}/down`;
  return sessions.flatMap((session, at) => {
    const series = session.series[name] ? name : longestQueue(session);
    if (!series) return [];
    const { time_s, queue_packets } = session.series[series];
    return [{ label: session.sender, place: placeOf(at, context), source: { sender: session.sender, series }, times: time_s, values: queue_packets }];
  });
}

function longestQueue(session: Session): string | undefined {
  const links = Object.entries(session.series).filter(([name, columns]) => name.startsWith("link.") && columns.queue_packets);
  const peak = (columns: Columns) => columns.queue_packets.reduce((most, value) => Math.max(most, value), 0);
  return links.sort(([, a], [, b]) => peak(b) - peak(a))[0]?.[0];
}

/** The last sample of all: every chart has the same axis. */
const endOf = (sessions: Session[]): number => Math.max(1e-3, ...sessions.flatMap((session) => Object.values(session.series).map((columns) => columns.time_s.at(-1) ?? 0)));

/** So many packets must be on their way to carry the film, while nothing waits; over several paths they share them. */
function needed(sessions: Session[], { film, paths }: Context): Line[] {
  const rtt = paths.length === 1 ? paths[0].rtt_ms : null;
  if (!film || !film.mss || !rtt) return [];
  const packets = (film.mbps * 1e3 * rtt) / (film.mss * 8);
  return [{ label: "what the film needs", place: -1, role: "need", dash: [8, 4], times: Float64Array.of(0, endOf(sessions)), values: Float64Array.of(packets, packets) }];
}

/** What the link could carry: constant, or the trace, again and again. */
function capacity(sessions: Session[], { paths, traces, path }: Context): Line[] {
  const end = endOf(sessions);
  const trace = traces[path];
  const rate = paths[path]?.rate_mbps;
  const line = (times: number[], values: number[]): Line => ({ label: "link’s capacity", times: Float64Array.from(times), values: Float64Array.from(values), place: -1, role: "capacity" });
  if (!trace) return rate ? [line([0, end], [rate, rate])] : [];
  const step = trace.period_s / trace.bins_mbps.length;
  const times = Array.from({ length: Math.ceil(end / step) }, (_, i) => i * step);
  return [line(times, times.map((_, i) => trace.bins_mbps[i % trace.bins_mbps.length]))];
}

/** Samples of a tenth of a second show single bursts; a viewer's rate is a mean over a second. */
function overASecond({ times, values }: Line): Float64Array {
  let [first, sum] = [0, 0];
  return values.map((value, i) => {
    sum += value;
    while (times[i] - times[first] >= 0.999) sum -= values[first++];
    return sum / (i - first + 1);
  });
}

const CHARTS: Chart[] = [
  { id: "buffer", title: "Player’s buffer", unit: "s", lines: buffer, band: "buffer_level_s", marks: ["stall"] },
  {
    id: "window", title: "Window", unit: "packets", band: "snd_cwnd", isLog: true, marks: ["loss", "timeout", "window"],
    lines: (sessions, context) => [...needed(sessions, context), ...ofFlows((columns) => columns.snd_cwnd)(sessions, context)],
  },
  { id: "flight", title: "Packets in flight", unit: "packets", lines: ofFlows(inFlight), marks: [] },
  { id: "rtt", title: "Round-trip time", unit: "ms", lines: ofFlows(roundTrip), band: "rtt_ms", marks: ["timeout"] },
  { id: "queue", title: "Queue at the link", unit: "packets", lines: queue, band: "queue_packets", marks: [] },
  {
    id: "goodput", title: "Goodput (mean over a second), and what the link could carry", unit: "Mbit/s", band: "goodput_mbps", marks: ["segment", "switch"],
    lines: (sessions, context) => [...capacity(sessions, context), ...ofFlows((columns) => columns.goodput_mbps)(sessions, context).map((line) => ({ ...line, values: overASecond(line) }))],
  },
];

/** The edges of the lines' bands. */
function edges(lines: Line[], { bands = [] }: Context, column: string | undefined): Line[] {
  return lines.flatMap(({ label, place, source }) => {
    const band = source && bands.find((one) => one.column === column && one.sender === source.sender && one.series === source.series);
    if (!band) return [];
    const { times, low, high } = band;
    return [{ label: `${label}, low`, times, values: low, place, role: "low" as const }, { label: `${label}, high`, times, values: high, place, role: "high" as const }];
  });
}

const NEAR = 6;

/** 1, 2, 5, 10, 20 … within a scale of factors. */
export function factors(min: number, max: number): number[] {
  const found: number[] = [];
  for (let ten = 10 ** Math.floor(Math.log10(min)); ten <= max; ten *= 10) found.push(...[1, 2, 5].map((step) => step * ten));
  return found.filter((value) => value >= min && value <= max);
}

export class Charts {
  readonly element = h("div", { class: "charts" });
  private plots: uPlot[] = [];
  private zoomed: [number, number] | null = null;
  private observer = new ResizeObserver(() => this.fit());

  constructor(private onZoom: (view: [number, number] | null) => void) {
    this.observer.observe(this.element);
  }

  draw(sessions: Session[], context: Context, view: [number, number] | null): void {
    this.plots.forEach((plot) => plot.destroy());
    this.zoomed = view;
    const made = CHARTS.map((chart) => this.make(chart, sessions, context)).filter((one) => one !== null);
    this.plots = made.map(({ plot }) => plot);
    this.element.replaceChildren(...made.map(({ figure }) => figure));
    this.fit();
  }

  private make(chart: Chart, sessions: Session[], context: Context): { plot: uPlot; figure: HTMLElement } | null {
    const measured = chart.lines(sessions, context).filter((line) => line.values.some(Number.isFinite));
    if (!measured.some((line) => !line.role)) return null;
    const lines = [...edges(measured, context, chart.band), ...measured];
    const data = uPlot.join(lines.map((line) => [Array.from(line.times), Array.from(line.values, (value) => (Number.isFinite(value) && !(chart.isLog && value <= 0) ? value : null))]) as uPlot.AlignedData[]);
    const notes = sessions.flatMap((session, at) => marks(session.record).filter((mark) => chart.marks.includes(mark.kind) && (mark.path ?? context.path) === context.path).map((mark) => ({ ...mark, row: at, place: placeOf(at, context), sender: session.sender })));
    const tip = h("div", { class: "tip", hidden: true });
    const text = token("text");
    const grid = { stroke: token("line"), width: 1 };
    const options: uPlot.Options = {
      width: 600, height: 190,
      cursor: { sync: { key: "playpath" }, drag: { x: true, y: false, setScale: false }, focus: { prox: 30 } },
      legend: { live: true },
      scales: { x: { time: false, range: () => this.zoomed ?? [0, endOf(sessions)] }, y: chart.isLog ? { distr: 3, range: (_, min, max) => [Math.max(1, min * 0.8), Math.max(10, max * 1.2)] } : { range: (_, __, max) => [0, max > 0 ? max * 1.05 : 1] } },
      axes: [
        { stroke: text, grid, ticks: grid, values: (_, splits) => splits.map((time) => `${short(time)} s`) },
        { stroke: text, grid, ticks: grid, size: 56, label: chart.unit, labelSize: 18, ...(chart.isLog ? { splits: (_: uPlot, __: number, min: number, max: number) => factors(min, max) } : {}) },
      ],
      series: [
        { label: "time", value: (_, time) => (time === null ? "–" : clock(time)) },
        ...lines.map((line): uPlot.Series => ({
          label: line.label,
          class: line.role === "low" || line.role === "high" ? "edge" : undefined,
          stroke: line.role === "capacity" ? token("faint") : line.role === "need" ? token("soft") : line.role ? "transparent" : colour(line.place),
          fill: line.role === "capacity" ? token("shade") : undefined,
          dash: line.dash, width: line.role ? 1 : 1.6, spanGaps: true, points: { show: false },
          value: (_, value) => (value === null ? "–" : `${short(value)} ${chart.unit}`),
        })),
      ],
      bands: lines.flatMap((line, i) => (line.role === "high" ? [{ series: [i + 1, i] as [number, number], fill: `${colour(line.place)}2e` }] : [])),
      hooks: {
        draw: [(plot) => drawMarks(plot, notes)],
        setSelect: [(plot) => {
          const { left, width } = plot.select;
          if (width > 4) this.onZoom([plot.posToVal(left, "x"), plot.posToVal(left + width, "x")]);
          plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
        }],
        setCursor: [(plot) => showTip(plot, tip, notes)],
      },
    };
    const body = h("div", { class: "plot" });
    const plot = new uPlot(options, data, body);
    plot.over.addEventListener("dblclick", () => this.onZoom(null));
    plot.over.append(tip);
    const figure = h(
      "figure", { id: `chart-${chart.id}` },
      h("figcaption", {}, h("h3", {}, chart.title), h("span", { class: "tools" },
        h("button", { type: "button", "aria-label": `PNG, a picture of: ${chart.title}`, onclick: () => plot.ctx.canvas.toBlob((blob) => blob && download(`${chart.id}.png`, blob)) }, "PNG"),
        h("button", { type: "button", "aria-label": `SVG, a drawing of: ${chart.title}`, onclick: () => download(`${chart.id}.svg`, new Blob([drawing(plot, chart.title, chart.unit, lines)], { type: "image/svg+xml" })) }, "SVG"),
        h("button", { type: "button", "aria-label": `CSV, the numbers of: ${chart.title}`, onclick: () => download(`${chart.id}.csv`, new Blob([csv(table(data, lines))], { type: "text/csv" })) }, "CSV"))),
      body,
    );
    const canvas = plot.ctx.canvas;
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", `${chart.title} over time: ${measured.map((line) => `${line.label} ${short(mean(line.values))} ${chart.unit} on average`).join("; ")}`);
    return { plot, figure };
  }

  private fit(): void {
    const width = this.element.clientWidth;
    if (width > 0) this.plots.forEach((plot) => plot.width !== width && plot.setSize({ width, height: 190 }));
  }
}

const mean = (values: Float64Array): number => {
  const known = values.filter((value) => Number.isFinite(value));
  return known.reduce((sum, value) => sum + value, 0) / known.length;
};

/** A mark on the row of its session. */
type Note = Mark & { row: number; place: number; sender: string };

/** Ticks along the upper edge; where they would run together a tick stands for several. */
function drawMarks(plot: uPlot, notes: Note[]): void {
  const { ctx, bbox } = plot;
  const size = 7 * devicePixelRatio;
  ctx.save();
  const taken = new Set<string>();
  const stall = token("stall");
  const inks = Array.from({ length: COLOURS }, (_, place) => colour(place));
  for (const note of notes) {
    const x = Math.round(plot.valToPos(note.time, "x", true));
    const spot = `${note.row} ${Math.round(x / 2)}`;
    if (x < bbox.left || x > bbox.left + bbox.width || taken.has(spot)) continue;
    taken.add(spot);
    const y = bbox.top + note.row * (size + 2);
    ctx.fillStyle = note.kind === "stall" ? stall : inks[note.place % COLOURS];
    ctx.beginPath();
    ctx.moveTo(x - size / 2, y);
    ctx.lineTo(x + size / 2, y);
    ctx.lineTo(x, y + size);
    ctx.fill();
  }
  ctx.restore();
}

function showTip(plot: uPlot, tip: HTMLElement, notes: Note[]): void {
  const { left } = plot.cursor;
  const near = left === undefined || left < 0 ? [] : notes.filter((note) => Math.abs(plot.valToPos(note.time, "x") - left) < NEAR).slice(0, 5);
  tip.hidden = near.length === 0;
  if (near.length === 0) return;
  tip.replaceChildren(...near.map((note) => h("div", {}, `${clock(note.time)} ${note.sender}: ${note.text}`)));
  const isRight = left! > plot.over.clientWidth / 2;
  tip.style.left = isRight ? "" : `${left! + 10}px`;
  tip.style.right = isRight ? `${plot.over.clientWidth - left! + 10}px` : "";
}

function table(data: uPlot.AlignedData, lines: Line[]): string[][] {
  const rows = Array.from(data[0], (time, i) => [time, ...data.slice(1).map((values) => values[i] ?? "")].map(String));
  return [["time_s", ...lines.map((line) => line.label)], ...rows];
}
