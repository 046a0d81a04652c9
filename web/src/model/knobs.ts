/** What can be turned by hand: where it is in the scenario, over which range, and how it is written there. */

import type { Prepared } from "../engine/types";
import { number, short } from "./quantity";
import type { State } from "./state";

export interface Knob {
  id: string;
  label: string;
  unit: string;
  /** Ends of the slider. The scale is logarithmic; `zero` adds a place for 0 at its lower end. */
  low: number;
  high: number;
  zero?: boolean;
  /** Dotted key that it sets. */
  key: string;
  read: (prepared: Prepared) => number | null;
  write: (value: number) => string | number;
  hint: string;
}

const written = (unit: string) => (value: number) => `${Number(value.toPrecision(4))} ${unit}`;

const FULL_PACKET = 1500;

/** Milliseconds that the link needs for a full queue, however the scenario says its size. */
function queueOf(prepared: Prepared, path: number): number | null {
  const limit = prepared.resolved.path[path].queue.limit ?? "";
  const { rate_mbps, rtt_ms } = prepared.paths[path];
  const [, count, unit] = /^([\d.]+) (bdp|packets|B|kB|MB)$/.exec(limit) ?? [];
  if (!unit) return number(limit);
  if (unit === "bdp") return Number(count) * rtt_ms;
  const bytes = { packets: FULL_PACKET, B: 1, kB: 1e3, MB: 1e6 }[unit as "packets"];
  return rate_mbps ? (Number(count) * bytes * 8) / (rate_mbps * 1e3) : null;
}

export function pathKnobs(prepared: Prepared, path: number): Knob[] {
  const isTrace = prepared.traces[path] !== null;
  const knobs: Knob[] = [
    {
      id: `rate${path}`, label: "Rate", unit: "Mbit/s", low: 0.5, high: 1000, key: `path.${path}.rate`,
      read: (p) => p.paths[path].rate_mbps, write: written("Mbit/s"), hint: "what the link carries at most",
    },
    {
      id: `rtt${path}`, label: "Round trip", unit: "ms", low: 1, high: 1000, key: `path.${path}.rtt`,
      read: (p) => p.paths[path].rtt_ms, write: written("ms"), hint: "there and back, while nothing waits",
    },
    {
      id: `loss${path}`, label: "Random loss", unit: "%", low: 0.001, high: 10, zero: true, key: `path.${path}.loss`,
      read: (p) => p.paths[path].loss_percent, write: written("%"), hint: "packets that the radio loses, whatever is sent",
    },
    {
      id: `queue${path}`, label: "Queue", unit: "ms", low: 2, high: 5000, key: `path.${path}.queue`,
      read: (p) => queueOf(p, path), write: written("ms"), hint: "how long a packet waits when it is full",
    },
  ];
  const isTail = prepared.resolved.path[path].queue.kind === "droptail";
  return knobs.filter(({ id }) => !(isTrace && /^(rate|queue)/.test(id)) && (isTail || !id.startsWith("queue")));
}

export function viewerKnobs(prepared: Prepared): Knob[] {
  const { video, player } = prepared.resolved;
  if (!video || !player) return [];
  const knobs: Knob[] = [];
  if (video.rate) {
    knobs.push({
      id: "video", label: "Video", unit: "Mbit/s", low: 0.2, high: 50, key: "video.rate",
      read: (p) => number(p.resolved.video!.rate), write: written("Mbit/s"), hint: "mean rate of the film",
    });
  }
  if (player.kind === "progressive") {
    knobs.push({
      id: "buffer", label: "Player’s buffer", unit: "s", low: 0.1, high: 60, key: "player.buffer",
      read: (p) => (number(p.resolved.player!.buffer) ?? NaN) / 1e3, write: written("s"), hint: "seconds of film that are fetched ahead",
    });
  }
  if (player.kind === "dash" && number(player.latency_target) === null) {
    knobs.push({
      id: "buffer", label: "Player’s buffer", unit: "s", low: 2, high: 120, key: "player.full_level",
      read: (p) => { const level = number(p.resolved.player!.full_level); return level === null ? null : level / 1e3; }, write: written("s"), hint: "seconds of film at which it pauses fetching; as the client has it where nothing is given",
    });
  }
  if (number(player.latency_target) !== null) {
    knobs.push({
      id: "latency", label: "Behind the event", unit: "s", low: 0.5, high: 30, key: "player.latency_target",
      read: (p) => (number(p.resolved.player!.latency_target) ?? NaN) / 1e3, write: written("s"), hint: "how far the player stays behind what is filmed; its buffer cannot be longer",
    });
  }
  if (player.kind === "agent") {
    knobs.push({
      id: "xfactor", label: "Server’s haste", unit: "× video", low: 1, high: 32, key: "player.xfactor",
      read: (p) => Number(p.resolved.player!.xfactor), write: (value) => Number(short(value)), hint: "how much faster than the film the server sends",
    });
  }
  return knobs;
}

export const allKnobs = (prepared: Prepared): Knob[] => [...prepared.paths.flatMap((_, path) => pathKnobs(prepared, path)), ...viewerKnobs(prepared)];

/** Label that tells knobs of several paths apart. */
export function fullLabel(knob: Knob, prepared: Prepared): string {
  const path = /^(?:rate|rtt|loss|queue)(\d+)$/.exec(knob.id)?.[1];
  return path && prepared.paths.length > 1 ? `${knob.label} of ${prepared.paths[Number(path)].name}` : knob.label;
}

/** Steps of a slider. */
export const STEPS = 200;

export function toStep(knob: Knob, value: number): number {
  if (knob.zero && value <= 0) return 0;
  const share = Math.log(value / knob.low) / Math.log(knob.high / knob.low);
  const first = knob.zero ? 1 : 0;
  return Math.min(STEPS, Math.max(first, Math.round(first + share * (STEPS - first))));
}

/** Two significant digits: what a hand can mean. */
export function fromStep(knob: Knob, step: number): number {
  if (knob.zero && step === 0) return 0;
  const first = knob.zero ? 1 : 0;
  return Number((knob.low * (knob.high / knob.low) ** ((step - first) / (STEPS - first))).toPrecision(2));
}

/** `count` values of a knob around where it stands, for a map: up to a factor `reach` either way, 0 first where there is one. */
export function around(knob: Knob, value: number | null, count: number, reach = 16): number[] {
  const middle = value && value > 0 ? value : Math.sqrt(knob.low * knob.high);
  const [low, high] = [Math.max(knob.low, middle / reach), Math.min(knob.high, middle * reach)];
  const places = knob.zero ? count - 1 : count;
  const values = Array.from({ length: places }, (_, i) => Number((low * (high / low) ** (i / (places - 1))).toPrecision(2)));
  return [...new Set(knob.zero ? [0, ...values] : values)];
}

/** What the engine gets besides the scenario: lists first, then single keys, which may be within them. */
export function overrides(state: State, base: { path: unknown[]; traffic: unknown[] }): Record<string, unknown> {
  const set: Record<string, unknown> = {};
  if (state.paths.length) {
    set.path = [...base.path, ...state.paths.map((path, i) => ({ name: `path ${base.path.length + i + 1}`, queue: "1 bdp", ...path }))];
  }
  if (state.traffic.length) {
    set.traffic = [...base.traffic, ...state.traffic.map(({ kind, cc, count }, i) => ({ name: `added ${kind} ${i + 1}`, kind, cc, count, start_spread: "2 s" }))];
  }
  return { ...set, ...state.set };
}
