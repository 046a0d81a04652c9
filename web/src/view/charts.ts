/** Time series of all senders over one axis: drag to zoom, double click for all of it, one cursor in all charts. */

import uPlot from "uplot";
import type { PathFigures, Prepared } from "../engine/types";
import { clock, short } from "../model/quantity";
import { type Mark, type Session, marks } from "../model/story";
import { colour, token } from "./colours";
import { download, h } from "./dom";

interface Line {
  label: string;
  times: Float64Array;
  values: Float64Array;
  place: number;
  dash?: number[];
  /** Drawn as a background: what the link could carry. */
  isCapacity?: boolean;
}

interface Chart {
  id: string;
  title: string;
  unit: string;
  lines: (sessions: Session[], context: Context) => Line[];
  /** Which marks are drawn on it. */
  marks: Mark["kind"][];
}

interface Context {
  prepared: Prepared;
  path: number;
}

const pathOf = ({ prepared, path }: Context): PathFigures => prepared.paths[path];

function series(session: Session, name: string, column: string): { times: Float64Array; values: Float64Array } | null {
  const found = session.series[name];
  return found ? { times: found.time_s, values: found[column] } : null;
}

/** The video's flow over the path that is looked at. */
const flow = (context: Context): string => (context.prepared.paths.length > 1 ? `flow.video/${pathOf(context).name}` : "flow.video");

function column(name: (context: Context) => string, of: string, suffix = "", dash?: number[]): Chart["lines"] {
  return (sessions, context) =>
    sessions.flatMap((session, place) => {
      const found = series(session, name(context), of);
      return found ? [{ label: session.sender + suffix, place, dash, ...found }] : [];
    });
}

function inFlight(sessions: Session[], context: Context): Line[] {
  return sessions.flatMap((session, place) => {
    const found = session.series[flow(context)];
    if (!found) return [];
    const values = found.unacked.map((unacked, i) => unacked - found.sacked[i] - found.lost[i] + found.retrans[i]);
    return [{ label: `${session.sender} in flight`, times: found.time_s, values, place, dash: [3, 3] }];
  });
}

/** What the link could carry: constant, or the trace, again and again. */
function capacity(sessions: Session[], { prepared, path }: Context): Line[] {
  const end = Math.max(0, ...sessions.map((session) => session.series.player?.time_s.at(-1) ?? 0));
  const trace = prepared.traces[path];
  const rate = prepared.paths[path].rate_mbps;
  const line = (times: number[], values: number[]): Line => ({ label: "link’s capacity", times: Float64Array.from(times), values: Float64Array.from(values), place: -1, isCapacity: true });
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
  { id: "buffer", title: "Player’s buffer", unit: "s", lines: column(() => "player", "buffer_level_s"), marks: ["stall"] },
  {
    id: "window", title: "Window, and packets in flight", unit: "packets", marks: ["loss", "timeout", "window"],
    lines: (sessions, context) => [...column(flow, "snd_cwnd")(sessions, context), ...inFlight(sessions, context)],
  },
  { id: "rtt", title: "Round-trip time", unit: "ms", lines: column(flow, "rtt_ms"), marks: ["timeout"] },
  { id: "queue", title: "Queue at the link", unit: "packets", lines: column((context) => `link.path.${pathOf(context).name}/down`, "queue_packets"), marks: [] },
  {
    id: "goodput", title: "Goodput (mean over a second), and what the link could carry", unit: "Mbit/s", marks: ["segment", "switch"],
    lines: (sessions, context) => [...capacity(sessions, context), ...column(flow, "goodput_mbps")(sessions, context).map((line) => ({ ...line, values: overASecond(line) }))],
  },
];

const NEAR = 6;

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
    const lines = chart.lines(sessions, context).filter((line) => line.times.length > 0);
    if (!lines.some((line) => !line.isCapacity)) return null;
    const data = uPlot.join(lines.map((line) => [Array.from(line.times), Array.from(line.values)]) as uPlot.AlignedData[]);
    const notes = sessions.flatMap((session, place) => marks(session.record).filter((mark) => chart.marks.includes(mark.kind) && (mark.path ?? context.path) === context.path).map((mark) => ({ ...mark, place, sender: session.sender })));
    const tip = h("div", { class: "tip", hidden: true });
    const text = token("text");
    const grid = { stroke: token("line"), width: 1 };
    const options: uPlot.Options = {
      width: 600, height: 190,
      cursor: { sync: { key: "playpath" }, drag: { x: true, y: false, setScale: false }, focus: { prox: 30 } },
      legend: { live: true },
      scales: { x: { time: false, range: (plot) => this.zoomed ?? [plot.data[0][0] ?? 0, plot.data[0].at(-1) ?? 1] }, y: { range: (_, __, max) => [0, max > 0 ? max * 1.05 : 1] } },
      axes: [
        { stroke: text, grid, ticks: grid, values: (_, splits) => splits.map((time) => `${short(time)} s`) },
        { stroke: text, grid, ticks: grid, size: 56, label: chart.unit, labelSize: 18 },
      ],
      series: [
        { label: "time", value: (_, time) => (time === null ? "–" : clock(time)) },
        ...lines.map((line): uPlot.Series => ({
          label: line.label,
          stroke: line.isCapacity ? token("faint") : colour(line.place),
          fill: line.isCapacity ? token("shade") : undefined,
          dash: line.dash, width: line.isCapacity ? 1 : 1.6, spanGaps: true, points: { show: false },
          value: (_, value) => (value === null ? "–" : `${short(value)} ${chart.unit}`),
        })),
      ],
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
        h("button", { type: "button", "aria-label": `CSV, the numbers of: ${chart.title}`, onclick: () => download(`${chart.id}.csv`, new Blob([csv(data, lines)], { type: "text/csv" })) }, "CSV"))),
      body,
    );
    const canvas = plot.ctx.canvas;
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", `${chart.title} over time: ${lines.map((line) => `${line.label} ${short(mean(line.values))} ${chart.unit} on average`).join("; ")}`);
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

type Note = Mark & { place: number; sender: string };

/** Ticks along the upper edge; where they would run together a tick stands for several. */
function drawMarks(plot: uPlot, notes: Note[]): void {
  const { ctx, bbox } = plot;
  const size = 7 * devicePixelRatio;
  ctx.save();
  const taken = new Set<string>();
  for (const note of notes) {
    const x = Math.round(plot.valToPos(note.time, "x", true));
    const spot = `${note.place} ${Math.round(x / 2)}`;
    if (x < bbox.left || x > bbox.left + bbox.width || taken.has(spot)) continue;
    taken.add(spot);
    const y = bbox.top + note.place * (size + 2);
    ctx.fillStyle = note.kind === "stall" ? token("stall") : colour(note.place);
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

function csv(data: uPlot.AlignedData, lines: Line[]): string {
  const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`;
  const head = ["time_s", ...lines.map((line) => line.label)].map(quoted).join(",");
  const rows = Array.from(data[0], (time, i) => [time, ...data.slice(1).map((values) => values[i] ?? "")].join(","));
  return [head, ...rows].join("\n") + "\n";
}
