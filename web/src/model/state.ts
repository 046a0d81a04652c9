/** What the page shows, all of it: the address holds it, and two equal states show the same. */

import type { Axis } from "../engine/types";
import type { PacketChoice } from "./packets";

export interface Extra {
  kind: "bulk" | "web";
  cc: string;
  count: number;
}

export interface ExtraPath {
  rate: string;
  rtt: string;
  loss: string;
}

/** A knob's id, and the range over which the what-if map turns it. */
export interface MapState {
  x: string;
  y: string | null;
  seconds: number | null;
}

/** Dotted key → value, as `--set`. */
export type Settings = Record<string, string | number | null | Record<string, unknown> | Axis[]>;

export interface State {
  /** A shipped scenario, or the name of `text`. */
  scenario: string;
  /** A scenario dropped on the page. */
  text: string | null;
  /** Files that the scenario names, or a trace dropped on the page. */
  files: Record<string, string>;
  /** Dotted key → value, as `--set`. */
  set: Settings;
  traffic: Extra[];
  paths: ExtraPath[];
  senders: string[];
  /** Every sender sets ECN; some controls do so by themselves. */
  ecn: boolean;
  seeds: number;
  map: MapState | null;
  lesson: { id: string; step: number } | null;
  /** Whose packets are shown, and which. */
  packets: PacketChoice;
  /** Part of the time axis in seconds. */
  view: [number, number] | null;
  /** The address of a situation that was kept to be compared. */
  kept: string | null;
}

export const MOST_SEEDS = 100;

export const start = (scenario: string, senders: string[]): State => ({
  scenario, text: null, files: {}, set: {}, traffic: [], paths: [], senders, ecn: false, seeds: 10, map: null, lesson: null, packets: { of: null, view: null }, view: null, kept: null,
});

/** The state as the part of an address after `#`. What is as at the start is left out; dropped texts are deflated. */
export async function encode(state: State): Promise<string> {
  const query = new URLSearchParams({ scenario: state.scenario });
  state.senders.forEach((sender) => query.append("sender", sender));
  query.set("seeds", String(state.seeds));
  Object.entries(state.set).forEach(([key, value]) => query.append("set", `${key}=${JSON.stringify(value)}`));
  if (state.ecn) query.set("ecn", "on");
  if (state.traffic.length) query.set("traffic", JSON.stringify(state.traffic));
  if (state.paths.length) query.set("paths", JSON.stringify(state.paths));
  if (state.map) query.set("map", JSON.stringify(state.map));
  if (state.lesson) query.set("lesson", `${state.lesson.id}.${state.lesson.step}`);
  if (state.packets.of !== null || state.packets.view) query.set("packets", JSON.stringify({ of: state.packets.of, view: state.packets.view?.map((time) => Number(time.toFixed(4))) ?? null }));
  if (state.view) query.set("view", state.view.map((time) => time.toFixed(2)).join("-"));
  if (state.kept !== null) query.set("kept", state.kept);
  if (state.text !== null || Object.keys(state.files).length) {
    query.set("own", await deflate(JSON.stringify({ text: state.text, files: state.files })));
  }
  return query.toString();
}

/** The state of an address; null where it has none. Error: one line. */
export async function decode(hash: string): Promise<State | null> {
  const query = new URLSearchParams(hash.replace(/^#/, ""));
  const scenario = query.get("scenario");
  if (!scenario) return null;
  const state = start(scenario, query.getAll("sender"));
  const seeds = Number(query.get("seeds") ?? state.seeds);
  if (!Number.isInteger(seeds) || seeds < 1 || seeds > MOST_SEEDS) throw new Error(`the address asks for ${query.get("seeds")} seeds; allowed: 1 to ${MOST_SEEDS}`);
  state.seeds = seeds;
  for (const entry of query.getAll("set")) {
    const cut = entry.indexOf("=");
    state.set[entry.slice(0, cut)] = parsed(entry.slice(cut + 1));
  }
  state.ecn = query.get("ecn") === "on";
  state.traffic = list(query.get("traffic"));
  state.paths = list(query.get("paths"));
  const map = query.get("map");
  if (map) state.map = parsed(map);
  const [, lesson, step] = /^([\w-]+)\.(\d+)$/.exec(query.get("lesson") ?? "") ?? [];
  if (lesson) state.lesson = { id: lesson, step: Number(step) };
  const packets = parsed<Partial<PacketChoice> | null>(query.get("packets") || "null");
  if (packets) state.packets = { of: typeof packets.of === "string" ? packets.of : null, view: isView(packets.view) ? packets.view : null };
  const [, from, until] = /^([\d.]+)-([\d.]+)$/.exec(query.get("view") ?? "") ?? [];
  if (from) state.view = [Number(from), Number(until)];
  state.kept = query.get("kept");
  const own = query.get("own");
  if (own) {
    const { text, files } = JSON.parse(await inflate(own));
    if (typeof text === "string") state.text = text;
    Object.entries(files ?? {}).forEach(([name, content]) => (state.files[name] = String(content)));
  }
  return state;
}

const isView = (view: unknown): view is [number, number] => Array.isArray(view) && view.length === 2 && view.every(Number.isFinite) && view[0] >= 0 && view[0] < view[1];

function parsed<T>(text: string): T {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(`the address is damaged at “${text.slice(0, 40)}”`);
  }
}

function list<T>(text: string | null): T[] {
  const found = text ? parsed<unknown>(text) : [];
  if (!Array.isArray(found)) throw new Error("the address is damaged: a list is expected");
  return found as T[];
}

async function through(bytes: BlobPart, by: CompressionStream | DecompressionStream): Promise<Uint8Array> {
  return new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(by)).arrayBuffer());
}

async function deflate(text: string): Promise<string> {
  const bytes = await through(text, new CompressionStream("deflate-raw"));
  let characters = "";
  bytes.forEach((byte) => (characters += String.fromCharCode(byte)));
  return btoa(characters).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

async function inflate(text: string): Promise<string> {
  const characters = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  const bytes = Uint8Array.from(characters, (character) => character.charCodeAt(0));
  return new TextDecoder().decode(await through(bytes, new DecompressionStream("deflate-raw")));
}
