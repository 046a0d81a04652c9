/** In what two situations differ, for who reads them beside each other. */

import type { Prepared } from "../engine/types";
import { written } from "./choices";
import { allKnobs, fullLabel } from "./knobs";
import { withUnit } from "./quantity";
import type { State } from "./state";

export interface Situation {
  state: State;
  prepared: Prepared;
}

export interface Difference {
  what: string;
  kept: string;
  now: string;
}

/** Of what can be turned by hand; "–" where one of them has no such thing. */
export function differences(kept: Situation, now: Situation): Difference[] {
  const values = ({ prepared }: Situation) => new Map(allKnobs(prepared).map((knob) => [fullLabel(knob, prepared), withUnit(knob.read(prepared), knob.unit)]));
  const found = (read: (one: Situation) => Map<string, string>): Difference[] => {
    const [before, after] = [read(kept), read(now)];
    return [...new Set([...before.keys(), ...after.keys()])].map((what) => ({ what, kept: before.get(what) ?? "–", now: after.get(what) ?? "–" }));
  };
  const queues = ({ prepared }: Situation) => new Map(prepared.resolved.path.map(({ name, queue }) => [prepared.paths.length > 1 ? `Queue discipline of ${name}` : "Queue discipline", queue.kind]));
  const rest = ({ state, prepared }: Situation) => new Map([
    ["Scenario", state.scenario], ["Senders", prepared.plain.sender.map((sender) => sender.name).join(", ")], ["Seeds", String(state.seeds)],
    ["Choices", (prepared.plain.choice ?? []).map(({ key, values }) => `${key}: ${written(values)}`).join("; ") || "none"],
    ["Other traffic", prepared.resolved.traffic.map((group) => `${group.name ?? group.kind}`).join(", ") || "none"],
  ]);
  return [...found(rest), ...found(values), ...found(queues)].filter((one) => one.kept !== one.now);
}
