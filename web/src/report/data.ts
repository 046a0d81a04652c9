/** The report's sessions: a JSON header, and the arrays that it points into, as python/playpath/show/report/sessions.py packs them. */

import type { Columns, EngineRecord, PathFigures, TraceFigures } from "../engine/types";
import { unpack } from "../engine/unpack";
import type { Band } from "../model/lines";
import type { Session } from "../model/story";

/** Where an array lies: numbers of four or eight bytes, their bytes in planes (all first bytes, then all second ones …). */
type Place = [offset: number, length: number, size: 4 | 8];

interface Header {
  sessions: { sender: string; seed: number; packet_bytes: number; record: EngineRecord; series: Record<string, Record<string, Place>> }[];
  bands: { sender: string; series: string; column: string; times: Place; low: Place; high: Place }[];
  /** Number of each session's colour: that of its sender in the scenario. */
  places: number[];
  seeds: number;
  need: number | null;
  /** What is to be shown packet by packet. */
  window: [number, number] | null;
  has_video: boolean;
  paths: (Pick<PathFigures, "name" | "rate_mbps"> & { rtt_ms: number | null })[];
  traces: (TraceFigures | null)[];
}

export interface Report extends Omit<Header, "sessions" | "bands"> {
  sessions: (Session & { seed: number; packet_bytes: number })[];
  bands: Band[];
}

export async function report(): Promise<Report> {
  const bytes = new Uint8Array(await unpack("sessions"));
  const length = new DataView(bytes.buffer).getUint32(0, true);
  const header: Header = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)));
  const array = (place: Place) => numbers(bytes.subarray(4 + length), place);
  const columns = (places: Record<string, Place>): Columns => Object.fromEntries(Object.entries(places).map(([name, place]) => [name, array(place)]));
  return {
    ...header,
    sessions: header.sessions.map((session) => ({ ...session, series: Object.fromEntries(Object.entries(session.series).map(([name, places]) => [name, columns(places)])) })),
    bands: header.bands.map(({ times, low, high, ...band }) => ({ ...band, times: array(times), low: array(low), high: array(high) })),
  };
}

function numbers(bytes: Uint8Array, [offset, length, size]: Place): Float64Array {
  const whole = new Uint8Array(length * size);
  for (let plane = 0; plane < size; plane++) {
    for (let i = 0; i < length; i++) whole[i * size + plane] = bytes[offset + plane * length + i];
  }
  return size === 8 ? new Float64Array(whole.buffer) : Float64Array.from(new Float32Array(whole.buffer));
}
