/** The packets of a session: which flow, which part of it, and what happened there. */

import type { Columns } from "../engine/types";
import type { Session } from "./story";

/** What to look at: a flow by its label, and a part of the time axis. What is null is chosen by the page. */
export interface PacketChoice {
  of: string | null;
  view: [number, number] | null;
}

/** A flow whose packets were kept; the series are those of `playpath.results.packets`. */
export interface PacketFlow {
  label: string;
  session: Session;
  flow: string;
  sent: Columns;
  acks: Columns;
  sacks: Columns;
  drops: Columns;
}

export const [NEW, RETRANSMISSION, COPY] = [0, 1, 2];
/** Why a link drops, by the number in `cause`. */
export const CAUSES = ["lost on the channel", "dropped, the queue was full", "dropped by the queue’s management", "lost in an outage", "too big for the link", "corrupted on the wire", "for a port that a NAT has forgotten"];
/** Of these the queue is the reason. */
export const BY_QUEUE = new Set([1, 2]);

const PACKETS_SHOWN = 300;
const [SHORTEST_S, LONGEST_S] = [0.2, 10];
/** Seconds of a zoomed axis that still show single packets. */
const MOST_SECONDS = 60;
const BEFORE = 0.3;

/** Every flow whose packets were kept: of the video one a sender, without a video those of the session. */
export function packetFlows(sessions: Session[]): PacketFlow[] {
  return sessions.flatMap((session) => {
    const flows = Object.keys(session.series).filter((name) => name.startsWith("packets.") && session.series[name].offset?.length).map((name) => name.slice("packets.".length));
    const label = (flow: string) => (flow === "video" ? session.sender : flow.startsWith("video") ? `${session.sender}, ${flow}` : flow);
    const of = (what: string, flow: string): Columns => session.series[`${what}.${flow}`] ?? { time_s: new Float64Array(0), path: new Float64Array(0) };
    return flows.map((flow) => ({ label: label(flow), session, flow, sent: of("packets", flow), acks: of("acks", flow), sacks: of("sacks", flow), drops: of("drops", flow) }));
  });
}

/** First row at or after a time. */
export function rowAt(times: Float64Array, time: number): number {
  let [low, high] = [0, times.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle] < time) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Rows of a path between two times; the columns must be in the order of time. */
export function rows(columns: Columns, path: number, [from, until]: [number, number]): number[] {
  const found: number[] = [];
  for (let i = rowAt(columns.time_s, from); i < columns.time_s.length && columns.time_s[i] <= until; i++) {
    if (columns.path[i] === path) found.push(i);
  }
  return found;
}

/** Links tell of their drops one after the other: in the order of time. */
export function ordered(columns: Columns): Columns {
  const order = Array.from(columns.time_s, (_, i) => i).sort((a, b) => columns.time_s[a] - columns.time_s[b]);
  return Object.fromEntries(Object.entries(columns).map(([name, values]) => [name, Float64Array.from(order, (i) => values[i])]));
}

/** The part to show: what was asked for, the zoomed part of the charts if it is short, or some hundred packets around what matters. */
export function packetWindow(flow: PacketFlow, path: number, choice: PacketChoice, zoomed: [number, number] | null): [number, number] {
  if (choice.view) return choice.view;
  if (zoomed && zoomed[1] - zoomed[0] <= MOST_SECONDS) return zoomed;
  const times = flow.sent.time_s.filter((_, i) => flow.sent.path[i] === path);
  if (times.length === 0) return [0, SHORTEST_S];
  const [first, last] = [times[0], times[times.length - 1]];
  const cut = turningPoint(flow, path);
  const wanted = zoomed && (cut === null || cut < zoomed[0] || cut > zoomed[1]) ? (zoomed[0] + zoomed[1]) / 2 : cut;
  const centre = wanted !== null && wanted >= first && wanted <= last ? wanted : times[times.length >> 1];
  const row = rowAt(times, centre);
  const reached = times[Math.min(row + PACKETS_SHOWN, times.length - 1)] - times[Math.max(0, row - PACKETS_SHOWN)];
  const width = Math.max(SHORTEST_S, Math.min(LONGEST_S, reached / 2, last - first));
  const from = Math.max(first, Math.min(centre - BEFORE * width, last - width));
  return [from, from + width];
}

/** When the window was cut for the last time before the longest stall; without a stall the middle one of the cuts. */
export function turningPoint({ session, flow }: PacketFlow, path: number): number | null {
  const cuts = (session.record.window_events?.[flow] ?? []).filter((event) => event.path === path && event.cwnd_after < event.cwnd_before * 0.95).map((event) => event.time_s);
  const ended = session.record.events.filter((event) => event.event === "stall_end");
  const longest = ended.map((event) => ({ at: event.time_s - Number(event.frozen_s), length: Number(event.frozen_s) })).sort((a, b) => b.length - a.length)[0];
  const before = longest ? cuts.filter((time) => time <= longest.at) : [];
  return before.at(-1) ?? cuts[cuts.length >> 1] ?? null;
}

/** What happened in a part, counted. */
export function counted(flow: PacketFlow, path: number, view: [number, number]): string {
  const kinds = rows(flow.sent, path, view).map((i) => flow.sent.kind[i]);
  const again = kinds.filter((kind) => kind === RETRANSMISSION).length;
  const copies = kinds.filter((kind) => kind === COPY).length;
  const causes = rows(flow.drops, path, view).map((i) => flow.drops.cause[i]);
  const dropped = CAUSES.map((cause, number) => [cause, causes.filter((one) => one === number).length] as const).filter(([, count]) => count > 0);
  return [
    `${kinds.length} packets sent`, ...dropped.map(([cause, count]) => `${count} ${cause}`), ...(dropped.length ? [] : ["none lost"]), again > 0 && `${again} sent again`, copies > 0 && `${copies} copies of what another path was given`,
  ].filter(Boolean).join(", ");
}
