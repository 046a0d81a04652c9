/** A lesson: one idea a screen, a prediction first, then the sessions that say who was right, and something to turn. */

import { type Pool, Withdrawn } from "../engine/pool";
import { type Prepared, packetBytes } from "../engine/types";
import { allKnobs } from "../model/knobs";
import { type Lesson, LESSONS, type Screen, settingsOf } from "../model/lessons";
import type { Preparing } from "../model/preparing";
import { number } from "../model/quantity";
import { type Settings, type State, encode, start } from "../model/state";
import type { Session } from "../model/story";
import { Charts } from "./charts";
import { h } from "./dom";
import { slider } from "./panel";
import { type Lane, Scene } from "./scene";

const DELAY_MS = 200;

export interface LessonActions {
  /** To a screen of the lesson; `null` leaves it. */
  go: (place: number | null) => void;
}

export const lessonOf = (id: string | undefined): Lesson | undefined => LESSONS.find((lesson) => lesson.id === id);

/** The choice of lessons. */
export function lessonList(open: (id: string) => void): HTMLElement {
  return h(
    "nav", { class: "lesson-list", "aria-label": "Lessons" }, h("span", {}, "New here? Lessons of four screens each: "),
    ...LESSONS.map((lesson) => h("button", { type: "button", class: "small", onclick: () => open(lesson.id) }, lesson.title)),
  );
}

/** The situation of a screen in the explorer; what only one of its cases has is left out where they are of one sender. */
export function explorerState(lesson: Lesson, screen: Screen, turned: Settings): State {
  const senders = [...new Set(screen.cases.map((one) => one.sender))];
  const last = screen.cases.at(-1)!;
  const set = settingsOf(lesson, screen, { ...last, set: senders.length === 1 ? last.set : {} }, turned);
  return { ...start(lesson.scenario, senders), set, files: { ...lesson.files } };
}

export class LessonView {
  readonly element = h("main", { class: "lesson", "aria-labelledby": "lesson-title" });
  private withdrawal = new AbortController();
  private turned: Settings = {};
  private predicted: number | null = null;
  private timer = 0;
  private lesson: Lesson = LESSONS[0];
  private screen: Screen = LESSONS[0].screens[0];
  private readonly charts = new Charts(() => undefined);
  private readonly scene = new Scene((time) => this.charts.point(time));
  private readonly parts = { said: h("p", { class: "said", "aria-live": "polite" }), why: h("p", {}), knob: h("div", { class: "lesson-knob" }), rest: h("div", { class: "lesson-rest", hidden: true }), link: h("a", {}, "Open this in the explorer") };

  constructor(private readonly preparing: Preparing, private readonly stage: Pool, private readonly actions: LessonActions) {}

  show(lesson: Lesson, place: number): void {
    this.stop();
    [this.lesson, this.screen] = [lesson, lesson.screens[place]];
    [this.turned, this.predicted] = [{}, null];
    const { parts, screen } = this;
    parts.rest.hidden = true;
    this.scene.clear();
    parts.rest.replaceChildren(this.scene.element, parts.said, parts.why, parts.knob, this.charts.element);
    const option = (text: string, i: number) => h("label", { class: "tick" }, h("input", { type: "radio", name: "prediction", onchange: () => this.predict(i) }), text);
    const isLast = place === lesson.screens.length - 1;
    const title = h("h2", { id: "lesson-title", tabindex: "-1" }, screen.title);
    this.element.replaceChildren(
      h("p", { class: "note" }, `${lesson.title}: screen ${place + 1} of ${lesson.screens.length}`), title, ...screen.text.map((text) => h("p", {}, text)),
      h("fieldset", {}, h("legend", {}, screen.ask), ...screen.options.map(option)), parts.rest,
      h(
        "p", { class: "buttons" },
        h("button", { type: "button", disabled: place === 0, onclick: () => this.actions.go(place - 1) }, "Back"),
        h("button", { type: "button", class: "main", onclick: () => this.actions.go(isLast ? null : place + 1) }, isLast ? "Done" : "Next"),
        h("button", { type: "button", class: "small", onclick: () => this.actions.go(null) }, "Leave the lesson"), parts.link,
      ),
    );
    void this.link();
  }

  /** A reader of screens begins at the title. */
  focus(): void {
    this.element.querySelector<HTMLElement>("#lesson-title")?.focus({ preventScroll: true });
    this.element.scrollIntoView({ block: "start" });
  }

  /** Ends what is being played, in both senses. */
  stop(): void {
    clearTimeout(this.timer);
    this.withdrawal.abort();
    this.scene.pause();
  }

  private predict(option: number): void {
    this.predicted = option;
    this.turned = {};
    void this.play();
  }

  private turn(key: string, value: string | number): void {
    this.turned = { ...this.turned, [key]: value };
    void this.link();
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => void this.play(), DELAY_MS);
  }

  private async link(): Promise<void> {
    this.parts.link.href = `#${await encode(explorerState(this.lesson, this.screen, this.turned))}`;
  }

  /** Plays the screen's cases, and tells of them. */
  private async play(): Promise<void> {
    this.stop();
    const { signal } = (this.withdrawal = new AbortController());
    this.parts.rest.hidden = false;
    this.parts.said.textContent = "The sessions are being played …";
    try {
      const played = await Promise.all(this.screen.cases.map((one) => this.session(settingsOf(this.lesson, this.screen, one, this.turned), one.sender, one.name, signal)));
      if (!signal.aborted) this.tell(played);
    } catch (error) {
      if (!(error instanceof Withdrawn)) this.parts.said.textContent = (error as Error).message;
    }
  }

  private async session(set: Settings, sender: string, name: string, signal: AbortSignal): Promise<{ session: Session; prepared: Prepared }> {
    const { scenario, files = {} } = this.lesson;
    const prepared = await this.preparing.ask({ text: null, scenario, files, ecn: false }, set, [sender], signal);
    const { record, series } = await this.stage.ask("play", { text: prepared.text, sender, seed: 1, trace: true }, signal);
    return { prepared, session: { sender: name, record, series } };
  }

  private tell(played: { session: Session; prepared: Prepared }[]): void {
    const { screen, parts } = this;
    const sessions = played.map(({ session }) => session);
    const view = screen.scene.view(sessions);
    const [{ prepared }] = played;
    const film = number(prepared.resolved.video?.rate);
    this.charts.draw(sessions, { ...prepared, path: 0, film: film === null ? null : { mbps: film, packetBytes: packetBytes(prepared.resolved.sender[0]) } }, view, screen.charts);
    this.scene.draw(played.map(({ session, prepared }, place) => lane(session, prepared, place)), view, screen.scene.pace);
    const isAsked = Object.keys(this.turned).length === 0;
    const answer = screen.answer(sessions);
    parts.said.replaceChildren(...(isAsked ? [h("b", {}, answer === this.predicted ? "You were right. " : `You said “${screen.options[this.predicted!]}”; it is “${screen.options[answer]}”. `)] : []), screen.outcome(sessions));
    parts.why.textContent = isAsked ? screen.why : "";
    this.drawKnob(prepared);
    if (isAsked && !matchMedia("(prefers-reduced-motion: reduce)").matches) this.scene.play();
  }

  /** What can be turned; the slider under the hand stays. */
  private drawKnob(prepared: Prepared): void {
    const { knob: place } = this.parts;
    const knob = allKnobs(prepared).find(({ id }) => id === this.screen.knob);
    if (!knob) place.replaceChildren();
    else if (!place.contains(document.activeElement) || Object.keys(this.turned).length === 0) place.replaceChildren(h("p", {}, "Change it, and see what happens to the film:"), slider(knob, prepared, (key, value) => this.turn(key, value)));
  }
}

function lane(session: Session, prepared: Prepared, place: number): Lane {
  const [path] = prepared.paths;
  const { player, path: [resolved] } = prepared.resolved;
  return {
    name: session.sender, place, session, link: `link.path.${path.name}/down`, rate_mbps: path.rate_mbps ?? 1, one_way_s: path.rtt_ms / 2e3,
    isFifo: resolved.queue.kind === "droptail", room_s: (number(player?.buffer) ?? 1e3) / 1e3,
  };
}
