/** What a session's log says: its filmstrip, its marks, and what went before a stop of the picture. */

import type { EngineRecord, PlaybackEvent, Series, WindowEvent } from "../engine/types";
import { clock, short, withUnit } from "./quantity";

export interface Span {
  from: number;
  until: number;
  kind: "waiting" | "playing" | "stalled";
  /** Mbit/s of what is shown, where the player chooses. */
  rate?: number;
}

export interface Mark {
  time: number;
  kind: "loss" | "timeout" | "window" | "segment" | "stall" | "switch";
  text: string;
  /** Number of the path that it is of; of the whole session without. */
  path?: number;
}

export interface Session {
  sender: string;
  record: EngineRecord;
  series: Series;
}

export const endOf = (record: EngineRecord): number => record.events.at(-1)?.time_s ?? 0;

/** From pressing play to the end: waiting, playing, stalled. */
export function filmstrip(record: EngineRecord): Span[] {
  const spans: Span[] = [];
  let from = record.events[0]?.time_s ?? 0;
  let kind: Span["kind"] = "waiting";
  const change = (time: number, next: Span["kind"]) => {
    if (time > from) spans.push({ from, until: time, kind });
    [from, kind] = [Math.max(from, time), next];
  };
  for (const event of record.events) {
    if (event.event === "playback_started") change(event.time_s, "playing");
    if (event.event === "stall_start") change(Number(event.since_s), "stalled");
    if (event.event === "stall_end") change(event.time_s, "playing");
  }
  change(endOf(record), kind);
  const rates = record.events.filter(isShown);
  return rates.length ? spans.flatMap((span) => byRate(span, playout(record, rates))) : spans;
}

const isShown = (event: PlaybackEvent): boolean => event.event === "segment_downloaded" && event.kind === "video";

/** When each downloaded segment is played, by the media clock: segments follow each other, stalls stop it. */
function playout(record: EngineRecord, segments: PlaybackEvent[]): { from: number; rate: number }[] {
  const ordered = [...segments].sort((a, b) => Number(a.segment) - Number(b.segment));
  const pauses = record.events.filter((event) => event.event === "stall_end").map((event) => ({ at: event.time_s - Number(event.frozen_s), length: Number(event.frozen_s) }));
  const start = record.events.find((event) => event.event === "playback_started")?.time_s ?? 0;
  let [time, pause] = [start, 0];
  return ordered.map((segment) => {
    while (pause < pauses.length && pauses[pause].at <= time + 1e-9) time += pauses[pause++].length;
    const shown = { from: time, rate: Number(segment.rate_mbps) };
    time += Number(segment.media_duration_s);
    return shown;
  });
}

function byRate(span: Span, shown: { from: number; rate: number }[]): Span[] {
  if (span.kind !== "playing") return [span];
  const parts: Span[] = [];
  shown.forEach(({ from, rate }, i) => {
    const part = { ...span, from: Math.max(span.from, from), until: Math.min(span.until, shown[i + 1]?.from ?? Infinity), rate };
    const last = parts.at(-1);
    if (part.until <= part.from) return;
    if (last && last.rate === rate) last.until = part.until;
    else parts.push(part);
  });
  return parts.length ? parts : [span];
}

const MOST_SWITCHES = 500;

const packets = (count: number): string => `${short(count)} packet${count === 1 ? "" : "s"}`;

/** A congestion control's event in words; null for what a reader need not see. */
export function inWords(event: WindowEvent): Mark | null {
  const { time_s: time, cwnd_before: before, cwnd_after: after } = event;
  const factor = Math.abs(after / before - 1) < 0.005 ? "window kept" : `window × ${(after / before).toFixed(2)}`;
  const window = `${factor} (${short(before)} → ${packets(Number(short(after)))})`;
  switch (event.event) {
    case "loss":
      return { time, kind: "loss", text: `loss: ${window}` };
    case "early_retransmit":
      return { time, kind: "loss", text: `loss seen early: ${window}` };
    case "ecn":
      return { time, kind: "loss", text: `congestion mark: ${window}` };
    case "rto":
      return { time, kind: "timeout", text: `timeout: ${window}` };
    case "undo":
      return { time, kind: "window", text: `the loss was none: ${window}` };
    case "window_set":
      return { time, kind: "window", text: after < before ? `idle: window reset (${short(before)} → ${packets(Number(short(after)))})` : `window set: ${window}` };
    case "phase":
      return { time, kind: "window", text: `now in ${event.phase.replaceAll("_", " ")}` };
  }
}

/** All marks of a session in the order of time. */
export function marks(record: EngineRecord): Mark[] {
  const all: Mark[] = [];
  for (const [flow, events] of Object.entries(record.window_events ?? {})) {
    if (flow !== "video" && !flow.startsWith("video.")) continue;
    for (const event of events) {
      const mark = inWords(event);
      if (mark) all.push({ ...mark, path: event.path });
    }
  }
  for (const event of record.events) {
    const time = event.time_s;
    if (event.event === "stall_end") {
      const frozen = Number(event.frozen_s);
      all.push({ time: time - frozen, kind: "stall", text: `the buffer is empty: the picture stands still for ${withUnit(frozen, "s")}` });
    }
    if (event.event === "segment_decision") all.push({ time, kind: "segment", text: `segment ${event.segment} at ${withUnit(Number(event.rate_mbps), "Mbit/s")}: ${event.reason}` });
  }
  for (const switches of Object.values(record.path_switches ?? {})) {
    if (switches.length > MOST_SWITCHES) continue; // A scheduler that chooses for every packet: no event of it stands out.
    switches.forEach((one) => all.push({ time: one.time_s, kind: "switch", text: `from ${one.from} to ${one.to}: ${one.reason}` }));
  }
  return all.sort((a, b) => a.time - b.time);
}

/** The value of a column at a time: the last sample not after it. */
export function at(series: Series, name: string, column: string, time: number): number | null {
  const columns = series[name];
  if (!columns) return null;
  let [low, high] = [0, columns.time_s.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (columns.time_s[middle] <= time) low = middle + 1;
    else high = middle;
  }
  return low > 0 ? columns[column][low - 1] : null;
}

/** Stalls of a session, the longest first. */
export function stalls(record: EngineRecord): { at: number; length: number }[] {
  const ended = record.events.filter((event) => event.event === "stall_end");
  return ended.map((event) => ({ at: event.time_s - Number(event.frozen_s), length: Number(event.frozen_s) })).sort((a, b) => b.length - a.length);
}

const [BEFORE, AFTER] = [20, 10];

/** The part of a session around a stop: what led to it, and the return of the picture. */
export const around = (stop: { at: number; length: number }): [number, number] => [Math.max(0, stop.at - BEFORE), stop.at + stop.length + AFTER];

/** The part around the longest stop of any of the sessions; null where the picture never stands still. */
export function worst(sessions: Session[]): [number, number] | null {
  const [longest] = sessions.flatMap(({ record }) => stalls(record).slice(0, 1)).sort((a, b) => b.length - a.length);
  return longest ? around(longest) : null;
}

/** How long before a stop a cut may lie and still be named, and for how long the window may be back by then, in seconds. */
const [CUT_BEFORE, BACK_FOR] = [30, 2];

/** The last cut of the window before a stop; none where the window was long back at the stop. */
function cutBefore(session: Session, stop: number): WindowEvent | null {
  const cuts = (session.record.window_events?.video ?? []).filter((event) => event.time_s <= stop && event.cwnd_after < event.cwnd_before * 0.95);
  const last = cuts.at(-1);
  if (!last || stop - last.time_s >= CUT_BEFORE) return null;
  const since = stop - BACK_FOR;
  const later = since > last.time_s ? at(session.series, "flow.video", "snd_cwnd", since) : null;
  return later !== null && later >= last.cwnd_before * 0.95 ? null : last;
}

const CAUSES: Record<WindowEvent["event"], string> = {
  loss: "a packet was lost", early_retransmit: "a packet was lost", ecn: "a packet came marked", rto: "no answer came in time", undo: "a loss proved to be none",
  window_set: "the connection had been idle", phase: "",
};

/**
 * What went before a stop of the picture, in a few sentences that say only what was measured. `need` is the film's rate in Mbit/s, null where
 * the player chooses: then that of the segment on its way.
 */
export function why(session: Session, stall: { at: number; length: number }, packetBytes: number, need: number | null): string[] {
  const cut = cutBefore(session, stall.at);
  const decided = session.record.events.filter((event) => event.event === "segment_decision" && event.kind === "video" && event.time_s <= stall.at).at(-1);
  const [what, needed] = need ? ["the film", need] : ["the segment on its way", decided ? Number(decided.rate_mbps) : null];
  const wanted = needed ? `, and ${what} needs ${short(needed)}` : "";
  const path = `the path gave ${withUnit(at(session.series, "flow.video", "goodput_mbps", stall.at), "Mbit/s")}`;
  const lines: string[] = [];
  if (cut) {
    const window = `its window from ${short(cut.cwnd_before)} to ${packets(Number(short(cut.cwnd_after)))}`;
    const who = session.sender;
    lines.push(`At ${clock(cut.time_s)} ${cut.event === "phase" ? `${who} went over to ${cut.phase.replaceAll("_", " ")} and cut` : `${CAUSES[cut.event]}, and ${who} cut`} ${window}.`);
    const rtt = at(session.series, "flow.video", "rtt_ms", cut.time_s) ?? NaN;
    const fits = (cut.cwnd_after * packetBytes * 8) / (rtt * 1e3);
    if (fits > 0) lines.push(`A round trip of ${withUnit(rtt, "ms")} with ${packets(Number(short(cut.cwnd_after)))} carries ${withUnit(fits, "Mbit/s")}${wanted}; at the stop ${path}.`);
  } else {
    lines.push(`The window had not been cut for half a minute, or was back; ${path}${wanted}.`);
  }
  lines.push(`At ${clock(stall.at)} the buffer was empty, and the picture stood still for ${withUnit(stall.length, "s")}.`);
  return lines;
}
