/** What can be turned: path and senders; film and other traffic, which can be folded. */

import type { Axis, ControlEntry, Prepared, Resolved } from "../engine/types";
import { axes } from "../model/choices";
import { type Knob, STEPS, fromStep, pathKnobs, toStep, viewerKnobs } from "../model/knobs";
import { short } from "../model/quantity";
import type { State } from "../model/state";
import { choices } from "./choices";
import { filling } from "./colours";
import { h } from "./dom";

export interface PanelActions {
  change: (change: Partial<State>) => void;
  /** What is turned less often is shown or folded. */
  unfold: (isOpen: boolean) => void;
}

/** `[verdict] prefer`, and how it is called. */
const PREFERENCES = { range: "what all viewers agree on", stalls: "few stalls", picture: "a good picture", start: "a fast start" };

export interface Offer {
  controls: ControlEntry[];
  queues: string[];
  rules: string[];
  pacings: string[];
  /** Senders of the scenario as it is shipped. */
  own: string[];
  base: Resolved;
  isUnfolded: boolean;
}

export function panel(state: State, prepared: Prepared, offer: Offer, actions: PanelActions): HTMLElement {
  const { resolved } = prepared;
  const set = (key: string, value: string | number | null | Axis[]) => actions.change({ set: { ...state.set, [key]: value }, view: null });
  const paths = prepared.paths.map((path, i) =>
    h("fieldset", {}, h("legend", {}, prepared.paths.length > 1 ? `Path ${path.name}` : "The path"),
      prepared.traces[i] && h("p", { class: "note" }, `Its rate follows a trace: ${short(path.rate_mbps)} Mbit/s on average.`),
      ...pathKnobs(prepared, i).map((knob) => slider(knob, prepared, set)),
      tick(`DualPI2 (L4S): a short queue for ECT(1) beside the classic one${prepared.paths.length > 1 ? `, ${path.name}` : ""}`, resolved.path[i].queue.kind === "dualpi2", (isOn) => set(`path.${i}.queue`, isOn ? "dualpi2" : undualled(offer.base, i, prepared))),
      choice(`Queue discipline${prepared.paths.length > 1 ? ` of ${path.name}` : ""}`, offer.queues, resolved.path[i].queue.kind, (kind) => set(`path.${i}.queue`, kind === "droptail" ? tail(prepared, i) : kind)),
    ),
  );
  const film = resolved.video && h("fieldset", {}, h("legend", {}, "The viewer"), ...viewerKnobs(prepared).map((knob) => slider(knob, prepared, set)), ...adaptive(resolved, offer, set), choice("What counts first", PREFERENCES, resolved.verdict?.prefer ?? "range", (word) => set("verdict.prefer", word)));
  const more = h("details", { open: offer.isUnfolded, ontoggle: () => actions.unfold(more.open) }, h("summary", {}, film ? "The viewer, other traffic" : "Other traffic"), film, traffic(state, offer, actions));
  return h(
    "div", { class: "panel" },
    ...paths, senders(state, prepared, offer, actions), choices(prepared, axes(prepared, offer), (axes) => set("choice", axes)),
    h("button", { type: "button", class: "small", onclick: () => actions.change({ paths: [...state.paths, { rate: "5 Mbit/s", rtt: "60 ms", loss: "0 %" }] }) }, "Add a path"),
    state.paths.length > 0 && h("button", { type: "button", class: "small", onclick: () => actions.change({ paths: state.paths.slice(0, -1) }) }, "Remove the last path"),
    more,
  );
}

export function slider(knob: Knob, prepared: Prepared, set: (key: string, value: string | number) => void): HTMLElement {
  const value = knob.read(prepared);
  const id = `knob-${knob.id}`;
  const field = h("input", { type: "number", id, min: knob.zero ? 0 : null, step: "any", value: value === null ? "" : Number(value.toPrecision(4)), "aria-describedby": `${id}-hint` });
  const range = h("input", { type: "range", min: 0, max: STEPS, value: value === null ? STEPS / 2 : toStep(knob, value), "aria-label": `${knob.label} (${knob.unit})`, "aria-valuetext": value === null ? "" : `${short(value)} ${knob.unit}`, "data-knob": knob.id });
  const send = (value: number) => Number.isFinite(value) && set(knob.key, knob.write(value));
  range.addEventListener("input", () => {
    const value = fromStep(knob, Number(range.value));
    field.value = String(value);
    range.setAttribute("aria-valuetext", `${short(value)} ${knob.unit}`);
    send(value);
  });
  field.addEventListener("change", () => send(field.valueAsNumber));
  return h("div", { class: "knob" }, h("label", { for: id }, knob.label), field, h("span", { class: "unit" }, knob.unit), range, h("small", { id: `${id}-hint` }, knob.hint));
}

const tail = (prepared: Prepared, path: number) => (prepared.traces[path] ? "300 packets" : "1 bdp");

/** Switched off it is the scenario's own queue again, if that was another one. */
const undualled = ({ path }: Resolved, i: number, prepared: Prepared): string | null => (path[i] && path[i].queue.kind !== "dualpi2" ? null : tail(prepared, i));

export function tick(label: string, isOn: boolean, flip: (isOn: boolean) => void): HTMLElement {
  const box = h("input", { type: "checkbox", checked: isOn, onchange: () => flip(box.checked) });
  return h("label", { class: "tick" }, box, label);
}

function choice(label: string, options: string[] | Record<string, string>, chosen: string, pick: (option: string) => void): HTMLElement {
  const shown: [string, string][] = Array.isArray(options) ? options.map((option) => [option, option]) : Object.entries(options);
  const select = h("select", { onchange: () => pick(select.value) }, ...shown.map(([option, label]) => h("option", { value: option, selected: option === chosen }, label)));
  return h("label", { class: "choice" }, `${label} `, select);
}

function adaptive(resolved: Resolved, offer: Offer, set: (key: string, value: string) => void): HTMLElement[] {
  const { player } = resolved;
  if (player?.kind !== "dash") return [];
  const rule = typeof player.abr === "string" ? player.abr : String((player.abr as { name?: string })?.name ?? "");
  const ladder = h("input", { type: "text", value: String(player.ladder), onchange: () => set("player.ladder", ladder.value) });
  return [choice("Rule", offer.rules, rule, (name) => set("player.abr", name)), h("label", { class: "choice" }, "Ladder ", ladder)];
}

function traffic(state: State, offer: Offer, actions: PanelActions): HTMLElement {
  const count = (kind: "bulk" | "web") => state.traffic.find((extra) => extra.kind === kind);
  const controls = offer.controls.filter((control) => !control.is_coupled).map((control) => control.name);
  const change = (kind: "bulk" | "web", more: { count?: number; cc?: string }) => {
    const now = { kind, cc: "cubic", count: 0, ...count(kind), ...more };
    const others = state.traffic.filter((extra) => extra.kind !== kind);
    actions.change({ traffic: now.count > 0 ? [...others, now] : others });
  };
  const row = (kind: "bulk" | "web", label: string) => {
    const input = h("input", { type: "number", min: 0, max: 100, value: count(kind)?.count ?? 0, onchange: () => change(kind, { count: Math.max(0, Math.min(100, Math.round(input.valueAsNumber) || 0)) }) });
    return h("div", {}, h("label", { class: "choice" }, `${label} `, input), choice("under", controls, count(kind)?.cc ?? "cubic", (cc) => change(kind, { cc })));
  };
  const there = offer.base.traffic.length;
  return h("fieldset", {}, h("legend", {}, "Other traffic"), there > 0 && h("p", { class: "note" }, `The scenario has ${there} group${there === 1 ? "" : "s"} of its own. Besides:`), row("bulk", "Downloads"), row("web", "Web users"));
}

function senders(state: State, prepared: Prepared, offer: Offer, actions: PanelActions): HTMLElement {
  const isMultipath = prepared.paths.length > 1;
  const more = offer.controls.filter((control) => isMultipath || !control.is_coupled).map((control) => control.name).filter((name) => !offer.own.includes(name));
  const summary = new Map(offer.controls.map((control) => [control.name, control.summary]));
  const chosen = (name: string) => {
    const place = state.senders.indexOf(name);
    const swatch = h("i", { class: "swatch" });
    if (place >= 0) swatch.style.background = filling(place);
    const flip = () => actions.change({ senders: place < 0 ? [...state.senders, name] : state.senders.filter((sender) => sender !== name) });
    return h("label", { class: "tick", title: summary.get(name) ?? null }, h("input", { type: "checkbox", checked: place >= 0, disabled: place >= 0 && state.senders.length === 1, "data-sender": name, onchange: flip }), prepared.choices.length === 0 && swatch, name);
  };
  return h(
    "fieldset", {}, h("legend", {}, "Senders to compare"), h("div", { class: "ticks-box" }, ...offer.own.map(chosen)),
    more.length > 0 && h("details", { open: more.some((name) => state.senders.includes(name)) }, h("summary", {}, "Others"), h("div", { class: "ticks-box" }, ...more.map(chosen))),
    tick("ECN: all of them let queues mark instead of dropping (Prague and DCTCP always do)", state.ecn, (ecn) => actions.change({ ecn, view: null })),
  );
}
