/** The state as a command of the installed program. */

import type { Axis, Resolved } from "../engine/types";
import { written } from "./choices";
import { overrides } from "./knobs";
import type { State } from "./state";

/** A word for a POSIX shell. */
export const quoted = (word: string): string => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`);

const FROM_FILE = "# first save this situation with “Save scenario.toml”\nplaypath compare scenario.toml";

/** Senders that the scenario names in words of its own, and ECN for all, can only be had from a file. */
export function command(state: State, base: Resolved): string {
  const plain = state.senders.every((sender) => base.sender.every((own) => own.name !== sender || own.cc.name === sender));
  if (state.ecn || state.text !== null || Object.keys(state.files).length > 0 || !plain) return FROM_FILE;
  const { choice, ...others } = overrides(state, base) as { choice?: Axis[] };
  // What the scenario compares by itself can be replaced by an option, and not be taken away.
  if (choice && base.choice?.some(({ key }) => choice.every((axis) => axis.key !== key))) return FROM_FILE;
  const vary = (choice ?? []).flatMap(({ key, values }) => ["--vary", `${key}=${written(values)}`]);
  const set = Object.entries(others).flatMap(([key, value]) => ["--set", `${key}=${typeof value === "string" ? value : JSON.stringify(value)}`]);
  return ["playpath", "compare", state.scenario, "--cc", state.senders.join(","), "--seeds", String(state.seeds), ...vary, ...set].map(quoted).join(" ");
}
