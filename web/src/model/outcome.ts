/** What the sessions of a lesson show: the figures by which a prediction is held against them. */

import type { WindowEvent } from "../engine/types";
import { type Session, at, stalls } from "./story";

export const stopped = ({ record }: Session): number => record.metrics.stall_time_s ?? 0;

/** Number of the session with the least, or the most, of a figure. */
export function least(sessions: Session[], figure: (session: Session) => number): number {
  const values = sessions.map(figure);
  return values.indexOf(Math.min(...values));
}

/** The first cut of the window that a loss led to; a control that keeps its window has one, too. */
export const firstLoss = ({ record }: Session): WindowEvent | undefined => record.window_events?.video?.find((event) => event.event === "loss");

/** Seconds from the first loss until the window is as large as before; null where the session ends before. */
export function regrown(session: Session): number | null {
  const cut = firstLoss(session);
  const columns = session.series["flow.video"];
  if (!cut || !columns) return null;
  const row = columns.time_s.findIndex((time, i) => time > cut.time_s && columns.snd_cwnd[i] >= cut.cwnd_before);
  return row < 0 ? null : columns.time_s[row] - cut.time_s;
}

/** Seconds from the sending of the first packet that was lost until it was sent again. */
export function repaired(session: Session): number | null {
  const [sent, drops] = [session.series["packets.video"], session.series["drops.video"]];
  if (!sent || !drops?.time_s.length) return null;
  const copies = [...sent.offset.keys()].filter((i) => sent.offset[i] === drops.offset[0]);
  return copies.length < 2 ? null : sent.time_s[copies[1]] - sent.time_s[copies[0]];
}

/** The longest round trip between two times, ms. */
export function longestTrip({ series }: Session, [from, until]: [number, number]): number {
  const { time_s, rtt_ms } = series["flow.video"];
  return rtt_ms.reduce((most, value, i) => (time_s[i] >= from && time_s[i] < until ? Math.max(most, value) : most), 0);
}

/** Megabits a second that a window carries at a time. */
export function carried(session: Session, time: number, mss: number): number {
  return ((at(session.series, "flow.video", "snd_cwnd", time) ?? 0) * mss * 8) / ((at(session.series, "flow.video", "rtt_ms", time) || 1) * 1e3);
}

export const firstStop = ({ record }: Session): { at: number; length: number } | undefined => stalls(record).sort((a, b) => a.at - b.at)[0];
