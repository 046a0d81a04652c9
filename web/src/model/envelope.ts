/** What a line does in each part of a view, where it has more samples than a screen has places. */

import { rowAt } from "./packets";

export interface Envelope {
  times: Float64Array;
  low: Float64Array;
  high: Float64Array;
  mean: Float64Array;
}

/** The samples within a view, with one neighbour on either side. */
export function within(times: Float64Array, [from, until]: [number, number]): [first: number, end: number] {
  return [Math.max(0, rowAt(times, from) - 1), Math.min(times.length, rowAt(times, until) + 1)];
}

/** Least, most and mean of the samples in each of `count` equal parts of a view; parts without a sample are left out. */
export function envelope(times: Float64Array, values: Float64Array, [from, until]: [number, number], count: number): Envelope {
  const width = (until - from) / count;
  const found: [time: number, low: number, high: number, mean: number][] = [];
  let i = rowAt(times, from);
  for (let part = 0; part < count; part++) {
    const end = from + (part + 1) * width;
    let [low, high, sum, known] = [Infinity, -Infinity, 0, 0];
    for (; i < times.length && times[i] < end; i++) {
      if (!Number.isFinite(values[i])) continue;
      [low, high, sum, known] = [Math.min(low, values[i]), Math.max(high, values[i]), sum + values[i], known + 1];
    }
    if (known > 0) found.push([end - width / 2, low, high, sum / known]);
  }
  const column = (place: 0 | 1 | 2 | 3) => Float64Array.from(found, (one) => one[place]);
  return { times: column(0), low: column(1), high: column(2), mean: column(3) };
}
