/** The card of a guided tour, or the list of them. */

import { LESSONS, type Step } from "../model/lessons";
import { type State, start } from "../model/state";
import { h } from "./dom";

const of = (state: State) => LESSONS.find((lesson) => lesson.id === state.lesson?.id);

/** The step that the reader is at. */
export const lessonState = (state: State): Step | null => of(state)?.steps[state.lesson!.step] ?? null;

/** The situation of a step, whatever the reader has turned before. */
export function stepState(id: string, step: number, seeds: number): State {
  const lesson = LESSONS.find((one) => one.id === id)!;
  const at = lesson.steps[step];
  return { ...start(at.scenario ?? lesson.scenario, at.senders ?? lesson.senders), seeds, set: at.set ?? {}, view: at.view ?? null, packets: { of: at.packets ?? null, view: null }, map: at.map ?? null, lesson: { id, step } };
}

export function lessonCard(state: State, show: (state: State) => void, stop: () => void): HTMLElement {
  const lesson = of(state);
  const step = lessonState(state);
  if (!lesson || !step) return list(state, show);
  const place = state.lesson!.step;
  const go = (next: number) => show(stepState(lesson.id, next, state.seeds));
  const isLast = place === lesson.steps.length - 1;
  return h(
    "section", { class: "lesson", "aria-label": lesson.title },
    h("p", { class: "note" }, `${lesson.title}: step ${place + 1} of ${lesson.steps.length}`), h("h2", {}, step.title), h("p", { "aria-live": "polite" }, step.text),
    h(
      "p", { class: "buttons" },
      h("button", { type: "button", disabled: place === 0, onclick: () => go(place - 1) }, "Back"),
      isLast ? h("button", { type: "button", class: "main", onclick: stop }, "Done") : h("button", { type: "button", class: "main", onclick: () => go(place + 1) }, "Next"),
      isLast ? null : h("button", { type: "button", class: "small", onclick: stop }, "Leave the tour"),
    ),
  );
}

function list(state: State, show: (state: State) => void): HTMLElement {
  const begin = (id: string) => show(stepState(id, 0, state.seeds));
  const [first, ...others] = LESSONS;
  return h(
    "nav", { class: "lesson-list", "aria-label": "Guided tours" },
    h("button", { type: "button", class: "main", onclick: () => begin(first.id) }, first.title),
    h("details", {}, h("summary", {}, "More tours"), h("ul", {}, ...others.map((lesson) => h("li", {}, h("button", { type: "button", class: "small", onclick: () => begin(lesson.id) }, lesson.title))))),
  );
}
