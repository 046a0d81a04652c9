/** A scenario or a bandwidth trace from the reader's disk, as a state. */

import { short } from "./quantity";
import { type State, start } from "./state";

const LARGEST_FILE = 4_000_000;

/** The state with a file; an error is one line. */
export async function withFile(state: State, file: File): Promise<State> {
  if (file.size > LARGEST_FILE) throw new Error(`${file.name}: ${short(file.size / 1e6)} MB; allowed: up to ${LARGEST_FILE / 1e6} MB`);
  const text = await file.text();
  const isScenario = /\.(toml|json)$/i.test(file.name);
  return isScenario ? { ...start(file.name.replace(/\.\w+$/, ""), []), text, files: state.files } : withTrace(state, file.name, text);
}

/** The first path follows the trace instead of its constant rate. */
function withTrace(state: State, name: string, text: string): State {
  const set: State["set"] = { ...state.set, "path.0.rate": null, "path.0.trace": name, "path.0.queue": "300 packets" };
  return { ...state, files: { ...state.files, [name]: text }, set, view: null };
}
