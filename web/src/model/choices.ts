/** Any setting can be compared, not only senders: `[[choice]]`, turned by hand. */

import type { Axis, Prepared } from "../engine/types";
import { allKnobs, fullLabel } from "./knobs";

/** A setting that is offered: with the values to begin with, and all that there are where these are words. */
export interface Offered extends Axis {
  label: string;
  words?: string[];
}

/** What there is of each kind. */
export interface Kinds {
  queues: string[];
  rules: string[];
  pacings: string[];
}

/** Words first, then what can be turned by hand, each against twice as much. */
export function axes(prepared: Prepared, { queues, rules, pacings }: Kinds): Offered[] {
  const { player, path } = prepared.plain;
  const words = (label: string, key: string, all: string[], now?: string): Offered => {
    const first = now !== undefined && all.includes(now) ? now : all[0];
    return { label, key, words: all, values: [first, all.find((word) => word !== first)] };
  };
  const found = [words("Queue discipline", "path.queue", queues, path[0].queue.kind), words("Transport", "sender.transport", ["tcp", "quic"]), words("Pacing", "sender.pacing", pacings)];
  if (player?.kind === "dash") {
    const { abr, ladder, segment } = player as { abr?: string | { name: string }; ladder?: string; segment?: string };
    found.push(words("ABR rule", "player.abr", rules, typeof abr === "object" ? abr.name : abr));
    if (ladder) found.push({ label: "Ladder", key: "player.ladder", values: [ladder, ladder.split(",").slice(0, -1).join(",")] });
    if (segment) found.push({ label: "Segment length", key: "player.segment", values: [...new Set([segment, "2 s", "6 s"])].slice(0, 2) });
  }
  const knobs = allKnobs(prepared).map((knob): Offered | null => {
    const value = knob.read(prepared);
    return value ? { label: fullLabel(knob, prepared), key: knob.key, values: [knob.write(value), knob.write(2 * value)] } : null;
  });
  return [...found, ...knobs.filter((offered) => offered !== null)];
}

const isPlain = (value: unknown): value is string => typeof value === "string" && !/[,[\]{}()"]/.test(value) && parsed(value) === value;

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Values as one writes them: with commas between them, or where they have commas themselves as a list. */
export const written = (values: unknown[]): string => (values.every(isPlain) ? values.join(", ") : JSON.stringify(values));

/** The reverse of `written`. */
export function read(text: string): unknown[] {
  const whole = parsed(text);
  return Array.isArray(whole) ? whole : text.split(",").map((part) => parsed(part.trim())).filter((value) => value !== "");
}

/** Paths as far as they are the same for all that is compared: charts show nothing that is of one alone. */
export function ofAll(prepared: Prepared): Pick<Prepared, "traces"> & { paths: { name: string; rate_mbps: number | null; rtt_ms: number | null }[] } {
  const isVaried = prepared.plain.choice?.some(({ key }) => /^(path|link)\b/.test(key) && !/\b(queue|loss)\b/.test(key));
  if (!isVaried) return prepared;
  return { traces: prepared.traces.map(() => null), paths: prepared.paths.map(({ name }) => ({ name, rate_mbps: null, rtt_ms: null })) };
}
