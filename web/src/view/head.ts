/** The head of the page: the scenario and its seeds, and what can be done with the situation as a whole. */

import { MOST_SEEDS, type State } from "../model/state";
import { h } from "./dom";
import { saveButton } from "./saving";

export interface HeadActions {
  open: (scenario: string) => void;
  seeds: (count: number) => void;
  find: () => void;
  undo: () => void;
  keep: () => void;
  copy: (what: "link" | "scenario" | "command") => void;
  save: () => void;
  theme: () => void;
}

export function head(state: State, names: string[], description: string, canUndo: boolean, actions: HeadActions): (HTMLElement | string)[] {
  const own = state.text !== null;
  const select = h(
    "select", { id: "scenario", onchange: () => actions.open(select.value) },
    own && h("option", { selected: true }, state.scenario),
    ...names.map((name) => h("option", { selected: !own && name === state.scenario }, name)),
  );
  const seeds = h("input", { type: "number", min: 1, max: MOST_SEEDS, value: state.seeds, id: "seeds", onchange: () => actions.seeds(Math.max(1, Math.min(MOST_SEEDS, Math.round(seeds.valueAsNumber) || 10))) });
  const button = (label: string, act: () => void, isOff = false) => h("button", { type: "button", class: "small", disabled: isOff, onclick: act }, label);
  return [
    h("label", { for: "scenario" }, "Scenario "), select, h("label", { for: "seeds" }, " Seeds "), seeds,
    button("Where does the answer change?", actions.find),
    button("Undo", actions.undo, !canUndo), button("Keep this to compare", actions.keep),
    button("Copy link", () => actions.copy("link")), button("Copy as scenario.toml", () => actions.copy("scenario")), button("Copy as command", () => actions.copy("command")),
    button("Save scenario.toml", actions.save), saveButton(), button("Light or dark", actions.theme),
    h("p", { class: "note" }, description),
  ];
}
