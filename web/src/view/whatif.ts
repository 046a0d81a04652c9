/** The what-if map: one axis as curves, two as a field of cells. */

import type { MetricEntry, Prepared } from "../engine/types";
import { type Knob, allKnobs, fullLabel } from "../model/knobs";
import { short, withUnit } from "../model/quantity";
import type { MapState } from "../model/state";
import { type Cell, type WhatIf, isProven, provenFrom, turnSentence, winner } from "../model/whatif";
import { colour } from "./colours";
import { h } from "./dom";
import { Plane, type Point, type Series } from "./plane";

export interface MapActions {
  choose: (map: MapState) => void;
  start: () => void;
  stop: () => void;
  /** Sets the sliders to a cell's situation. */
  go: (set: Record<string, string | number>) => void;
}

const LENGTHS: [string, number | null][] = [["first 60 s of the film", 60], ["first 120 s of the film", 120], ["whole film", null]];

export function mapForm(prepared: Prepared, map: MapState, isRunning: boolean, actions: MapActions): HTMLElement {
  const knobs = allKnobs(prepared);
  const options = (chosen: string | null, none: boolean) => [
    none ? h("option", { value: "", selected: chosen === null }, "nothing else") : null,
    ...knobs.map((knob) => h("option", { value: knob.id, selected: knob.id === chosen }, fullLabel(knob, prepared))),
  ];
  const x = h("select", { "aria-label": "First axis", onchange: () => actions.choose({ ...map, x: x.value }) }, ...options(map.x, false));
  const y = h("select", { "aria-label": "Second axis", onchange: () => actions.choose({ ...map, y: y.value || null }) }, ...options(map.y, true));
  const length = h(
    "select", { "aria-label": "How much is played", onchange: () => actions.choose({ ...map, seconds: LENGTHS[length.selectedIndex][1] }) },
    ...LENGTHS.map(([label, seconds]) => h("option", { selected: seconds === map.seconds }, label)),
  );
  return h(
    "form", { class: "map-form", onsubmit: (event: Event) => event.preventDefault() },
    h("label", {}, "Change ", x), h("label", {}, "and ", y), prepared.resolved.video && h("label", {}, "over the ", length),
    isRunning ? h("button", { type: "button", onclick: actions.stop }, "Stop") : h("button", { type: "button", class: "main", onclick: actions.start }, "Find where the answer changes"),
  );
}

export function mapView(map: WhatIf, prepared: Prepared, metrics: Map<string, MetricEntry>, actions: MapActions): HTMLElement {
  const { x, y } = map.question;
  const label = fullLabel(x.knob, prepared).toLowerCase();
  const state = map.isOver ? `${map.done} sessions played` : `${map.done} of about ${map.of} sessions played …`;
  const proven = y ? null : provenFrom(map);
  const wrong = map.cells.find((cell) => cell.error)?.error;
  return h(
    "div", { class: "map" },
    h("p", { class: "headline small", "aria-live": "polite" }, turnSentence(map, label), proven && ` Proven for ${proven.who} from ${withUnit(proven.from, x.knob.unit)} on.`),
    y ? field(map, prepared, actions) : curves(map, label, metrics, actions),
    h("p", { class: "note" }, `${state}. ${map.question.seeds} seeds a situation; “proven” by the same rule as above.`, wrong ? ` Not played somewhere: ${wrong}` : ""),
  );
}

const situation = (map: WhatIf, cell: Cell): Record<string, string | number> => {
  const { x, y } = map.question;
  return { [x.knob.key]: x.knob.write(cell.x), ...(y && cell.y !== null ? { [y.knob.key]: y.knob.write(cell.y) } : {}) };
};

function describe(map: WhatIf, cell: Cell): string {
  if (cell.error) return cell.error;
  const best = winner(cell, map.question.costs);
  if (best === null) return "not played yet";
  const name = cell.judged!.criteria.find((criterion) => criterion !== "played_s")!;
  const means = map.question.compared.map((sender) => `${sender} ${short(cell.judged!.senders[sender]?.[name]?.mean)}`).join(", ");
  return `${best === "alike" ? "no viewer sees a difference" : `${best} is ahead${isProven(cell) ? " (proven)" : " (not proven)"}`}; ${name.replaceAll("_", " ")}: ${means}`;
}

function field(map: WhatIf, prepared: Prepared, actions: MapActions): HTMLElement {
  const { x, y, compared: senders } = map.question;
  const cellOf = (cell: Cell) => {
    const best = winner(cell, map.question.costs);
    const button = h("button", { type: "button", title: describe(map, cell), "aria-label": `${short(cell.x)} ${x.knob.unit}, ${short(cell.y)} ${y!.knob.unit}: ${describe(map, cell)}`, onclick: () => actions.go(situation(map, cell)), class: isProven(cell) ? "proven" : "" }, best === null ? "·" : best === "alike" ? "=" : mark(senders, best));
    if (best && best !== "alike") button.style.setProperty("--sender", colour(senders.indexOf(best)));
    return h("td", {}, button);
  };
  const rows = [...map.ys].reverse().map((value) => h("tr", {}, h("th", { scope: "row" }, withUnit(value, y!.knob.unit)), ...map.cells.filter((cell) => cell.y === value).map(cellOf)));
  return h(
    "div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "What-if map" },
    h(
      "table", { class: "field" },
      h("caption", {}, `${fullLabel(y!.knob, prepared)} upwards, ${fullLabel(x.knob, prepared)} to the right. ${senders.map((sender) => `${mark(senders, sender)} ${sender}`).join(", ")}, = no viewer sees a difference; filled: proven. Choose a cell to go there.`),
      h("tbody", {}, ...rows, h("tr", {}, h("td", {}), ...map.xs.map((value) => h("th", { scope: "col" }, withUnit(value, x.knob.unit))))),
    ),
  );
}

/** A letter a sender, so that colour is not needed. */
const mark = (senders: string[], sender: string): string => String.fromCharCode(65 + senders.indexOf(sender));

/** Of each sender the mean and the interval of its seeds at every place of the axis, and who is ahead there. */
function curves(map: WhatIf, label: string, metrics: Map<string, MetricEntry>, actions: MapActions): HTMLElement {
  const { compared: senders, x } = map.question;
  const cells = map.cells.filter((cell) => cell.judged);
  const name = cells[0]?.judged!.criteria.find((criterion) => criterion !== "played_s") ?? "stall_time_s";
  const entry = metrics.get(name);
  const series = senders.map((sender, place): Series => ({
    name: sender, place, isLine: true,
    points: cells.flatMap((cell): Point[] => {
      const found = cell.judged!.senders[sender]?.[name];
      return found ? [[map.cells.indexOf(cell), found.mean, ...(found.ci95 ?? [null, null] as const)]] : [];
    }),
  }));
  const places = map.cells.map((_, i) => i);
  const chart = new Plane({
    id: `what-if-${x.knob.id}`, title: `${entry?.label ?? name} by ${label}`, spread: "interval", series: series.filter(({ points }) => points.length > 0),
    x: { label, unit: x.knob.unit, ticks: places, words: map.cells.map((cell) => short(cell.x)), range: [-0.5, places.length - 0.5] },
    y: { label: entry?.label ?? name, unit: entry?.unit ?? "" },
  });
  const buttons = map.cells.map((cell) => {
    const best = winner(cell, map.question.costs);
    const button = h("button", { type: "button", title: describe(map, cell), "aria-label": `${short(cell.x)} ${x.knob.unit}: ${describe(map, cell)}`, class: isProven(cell) ? "proven" : "", onclick: () => actions.go(situation(map, cell)) }, h("small", {}, withUnit(cell.x, x.knob.unit)), best === null ? "·" : best === "alike" ? "=" : best);
    if (best && best !== "alike") button.style.setProperty("--sender", colour(senders.indexOf(best)));
    return button;
  });
  return h("div", {}, cells.length > 0 && chart.element, h("div", { class: "winners" }, ...buttons));
}

/** Knob of an id, or the first that fits; null where the scenario has none. */
export function knobOf(prepared: Prepared, id: string | null): Knob | null {
  return allKnobs(prepared).find((knob) => knob.id === id) ?? null;
}
