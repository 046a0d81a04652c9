/** Which part of a time series was measured. */

import type { Columns } from "../engine/types";

/** A sender's figures stand where they are when it has nothing more to send: what follows its last byte was not measured. */
export function untilLastByte(columns: Columns): Columns {
  let end = columns.time_s.length;
  while (end > 0 && !(columns.unacked[end - 1] > 0 || columns.goodput_mbps[end - 1] > 0)) end--;
  return Object.fromEntries(Object.entries(columns).map(([name, values]) => [name, values.subarray(0, end)]));
}
