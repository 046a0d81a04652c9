/** The state as a command of the installed program. */

import type { Resolved } from "../engine/types";
import { overrides } from "./knobs";
import type { State } from "./state";

/** A word for a POSIX shell. */
export const quoted = (word: string): string => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`);

/** Senders that the scenario names in words of its own, and ECN for all, can only be had from a file. */
export function command(state: State, base: Resolved): string {
  const plain = state.senders.every((sender) => base.sender.every((own) => own.name !== sender || own.cc.name === sender));
  if (state.ecn || state.text !== null || Object.keys(state.files).length > 0 || !plain) return "# first save this situation with “Save scenario.toml”\nplaypath compare scenario.toml";
  const set = Object.entries(overrides(state, base)).flatMap(([key, value]) => ["--set", `${key}=${typeof value === "string" ? value : JSON.stringify(value)}`]);
  return ["playpath", "compare", state.scenario, "--cc", state.senders.join(","), "--seeds", String(state.seeds), ...set].map(quoted).join(" ");
}
