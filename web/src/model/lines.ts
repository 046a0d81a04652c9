/** What is drawn over time: the lines of each chart, from the series of the sessions. */

import type { Columns, PathFigures, TraceFigures } from "../engine/types";
import { untilLastByte } from "./measured";
import type { Mark, Session } from "./story";

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

export interface Chart {
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
  film: { mbps: number; packetBytes: number } | null;
  traces: (TraceFigures | null)[];
  /** Number of the path that is looked at. */
  path: number;
  bands?: Band[];
  /** Number of each session's colour; by default its place among them. */
  places?: number[];
}

const MOST_FLOWS = 6;

export const placeOf = (at: number, { places }: Context): number => places?.[at] ?? at;

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
  return sessions.flatMap((session, at): Line[] => {
    const series = session.series[name] ? name : longestQueue(session);
    if (!series) return [];
    const { time_s, queue_packets, low_latency_packets, classic_packets } = session.series[series];
    const line = (label: string, values: Float64Array) => ({ label, place: placeOf(at, context), times: time_s, values });
    if (!classic_packets) return [{ ...line(session.sender, queue_packets), source: { sender: session.sender, series } }];
    // Two queues (L4S), which the band of both together would not fit.
    return [line(`${session.sender}: classic queue`, classic_packets), { ...line(`${session.sender}: low-latency queue`, low_latency_packets), dash: [3, 3] }];
  });
}

function longestQueue(session: Session): string | undefined {
  const links = Object.entries(session.series).filter(([name, columns]) => name.startsWith("link.") && columns.queue_packets);
  const peak = (columns: Columns) => columns.queue_packets.reduce((most, value) => Math.max(most, value), 0);
  return links.sort(([, a], [, b]) => peak(b) - peak(a))[0]?.[0];
}

/** The last sample of all: every chart has the same axis. */
export const lastSample = (sessions: Session[]): number => Math.max(1e-3, ...sessions.flatMap((session) => Object.values(session.series).map((columns) => columns.time_s.at(-1) ?? 0)));

/** So many packets must be on their way to carry the film, while nothing waits; over several paths they share them. */
function needed(sessions: Session[], { film, paths }: Context): Line[] {
  const rtt = paths.length === 1 ? paths[0].rtt_ms : null;
  if (!film || !film.packetBytes || !rtt) return [];
  const packets = (film.mbps * 1e3 * rtt) / (film.packetBytes * 8);
  return [{ label: "what the film needs", place: -1, role: "need", dash: [8, 4], times: Float64Array.of(0, lastSample(sessions)), values: Float64Array.of(packets, packets) }];
}

/** What the link could carry: constant, or the trace, again and again. */
function capacity(sessions: Session[], { paths, traces, path }: Context): Line[] {
  const end = lastSample(sessions);
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

export const CHARTS: Chart[] = [
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
export function edges(lines: Line[], { bands = [] }: Context, column: string | undefined): Line[] {
  return lines.flatMap(({ label, place, source }) => {
    const band = source && bands.find((one) => one.column === column && one.sender === source.sender && one.series === source.series);
    if (!band) return [];
    const { times, low, high } = band;
    return [{ label: `${label}, low`, times, values: low, place, role: "low" as const }, { label: `${label}, high`, times, values: high, place, role: "high" as const }];
  });
}
