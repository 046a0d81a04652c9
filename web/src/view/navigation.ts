/** Which part of the session the charts show, and how to get to another: by keys as well as by hand. */

import { clock } from "../model/quantity";
import { type Session, endOf, worst } from "../model/story";
import { h } from "./dom";

type View = [number, number];

export class Navigation {
  readonly element = h("div", { class: "navigation" });
  // Kept, so that the button under a key keeps it.
  private readonly label = h("span", { "aria-live": "polite" });
  private readonly buttons: Record<"all" | "worst" | "earlier" | "later" | "closer" | "farther", HTMLButtonElement>;
  private view: View = [0, 1];
  private until = 1;
  private stop: View | null = null;

  constructor(private look: (view: View | null) => void) {
    const button = (label: string, description: string | null, act: () => void) => h("button", { type: "button", class: "small", "aria-label": description, onclick: act }, label);
    const width = () => this.view[1] - this.view[0];
    this.buttons = {
      all: button("Show the whole session", null, () => look(null)),
      worst: button("Show the longest stop", null, () => look(this.stop)),
      earlier: button("◀", "Earlier", () => this.go(this.view[0] - width() / 2, width())),
      later: button("▶", "Later", () => this.go(this.view[0] + width() / 2, width())),
      closer: button("+", "Closer", () => this.go(this.view[0] + width() / 4, width() / 2)),
      farther: button("−", "Farther", () => this.go(this.view[0] - width() / 2, width() * 2)),
    };
    this.element.append(this.label, ...Object.values(this.buttons));
  }

  draw(sessions: Session[], view: View | null): void {
    this.until = Math.max(1, ...sessions.map((session) => endOf(session.record)));
    this.view = view ?? [0, this.until];
    this.stop = worst(sessions);
    const label = view ? `Shown: ${clock(view[0])} to ${clock(Math.min(view[1], this.until))} of ${clock(this.until)}.` : `Shown: the whole session, ${clock(this.until)}.`;
    if (this.label.textContent !== label) this.label.textContent = label;
    const { all, worst: stop, earlier, later, farther } = this.buttons;
    for (const one of [all, earlier, later, farther]) one.disabled = view === null;
    stop.hidden = this.stop === null;
  }

  private go(from: number, width: number): void {
    if (width >= this.until) return this.look(null);
    const begin = Math.min(Math.max(0, from), this.until - width);
    this.look([begin, begin + width]);
  }
}
