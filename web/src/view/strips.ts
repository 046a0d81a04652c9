/** One strip a viewer: what was on the screen, from pressing play to the end; a frame is around what the charts show. */

import { clock, short } from "../model/quantity";
import { type Session, type Span, around, endOf, filmstrip, stalls } from "../model/story";
import { timeLabels, timeTicks } from "../model/time";
import { filling } from "./colours";
import { h, svg } from "./dom";

const WIDTH = 1000;
const HEIGHT = 34;
const TICK_ROOM = 90;
/** A press that moves less than this share of a strip is a click. */
const DRAGGED = 0.01;
/** Seconds that a click shows, while all is shown. */
const CLOSE_UP = 40;

type View = [number, number];

export interface StripActions {
  look: (view: View | null) => void;
  /** The cursor is at a time, or gone. */
  point: (time: number | null) => void;
}

export class Strips {
  readonly element = h("div", { class: "viewers" });
  private until = 1;
  private view: View | null = null;
  private times: HTMLElement[] = [];

  /** Without actions they are only looked at. */
  constructor(private actions: StripActions | null = null) {}

  /** `until`: end of the axis, if it is not that of the last session. */
  draw(sessions: Session[], view: View | null, places?: number[], until?: number): void {
    this.until = until ?? Math.max(1, ...sessions.map((session) => endOf(session.record)));
    this.view = view;
    const rates = sessions.flatMap((session) => filmstrip(session.record).map((span) => span.rate ?? 0));
    const best = Math.max(...rates);
    this.times = [];
    const rows = sessions.map((session, at) => this.row(session, places?.[at] ?? at, best));
    this.element.replaceChildren(
      ...rows, this.ticks(),
      h("p", { class: "key", "aria-hidden": "true" }, h("i", { class: "box playing" }), "playing", best > 0 ? ` (the fuller the colour, the sharper: up to ${short(best)}\u00a0Mbit/s) ` : " ", h("i", { class: "box stalled" }), "picture stands still ", h("i", { class: "box waiting" }), "waiting to start"),
    );
  }

  /** Shows where the charts' cursor is. */
  point(time: number | null): void {
    for (const line of this.times) {
      line.hidden = time === null;
      if (time !== null) line.style.left = `${(100 * time) / this.until}%`;
    }
  }

  private row(session: Session, place: number, best: number): HTMLElement {
    const { metrics } = session.record;
    const count = metrics.stall_count ?? 0;
    const figures = metrics.stall_time_s == null
      ? "shows no frames"
      : count === 0 ? "never stops" : `stops ${short(count)} time${count === 1 ? "" : "s"}, ${short(metrics.stall_time_s)}\u00a0s in all`;
    const rate = best > 0 ? `, ${short((metrics.mean_rate_kbps ?? 0) / 1000)}\u00a0Mbit/s on average` : "";
    const longest = stalls(session.record)[0];
    const swatch = h("i", { class: "swatch" });
    swatch.style.background = filling(place);
    return h(
      "div", { class: "viewer" },
      h("div", { class: "who" }, swatch, h("b", {}, session.sender), h("span", {}, `${figures}${rate}`), longest && this.actions ? h("button", { type: "button", class: "small", onclick: () => this.actions!.look(around(longest)) }, "Show its longest stop") : null),
      this.strip(filmstrip(session.record), best, `${session.sender}: ${figures}${rate}`),
    );
  }

  private strip(spans: Span[], best: number, label: string): HTMLElement {
    const x = (time: number) => (Math.min(this.until, Math.max(0, time)) / this.until) * WIDTH;
    const boxes = spans.map((span) => {
      // A stop of a third of a second in ten minutes must still be seen.
      const width = Math.max(x(span.until) - x(span.from), span.kind === "stalled" ? 1.5 : 0);
      const opacity = span.kind === "playing" && best > 0 ? 0.25 + 0.75 * ((span.rate ?? 0) / best) : 1;
      return svg("rect", { x: x(span.from), y: span.kind === "stalled" ? 0 : 5, width, height: span.kind === "stalled" ? HEIGHT : HEIGHT - 10, class: span.kind, opacity }, svg("title", {}, `${clock(span.from)} to ${clock(span.until)}: ${span.kind}`));
    });
    // Stops are drawn last, over what plays.
    boxes.sort((a, b) => Number(a.classList.contains("stalled")) - Number(b.classList.contains("stalled")));
    const frame = this.view && svg("rect", { class: "frame", x: x(this.view[0]), y: 1, width: Math.max(4, x(this.view[1]) - x(this.view[0])), height: HEIGHT - 2 });
    const line = h("i", { class: "now", hidden: true });
    this.times.push(line);
    const drawn = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": label, class: "strip" }, ...boxes, frame);
    const box = h("div", { class: this.actions ? "strip-box led" : "strip-box" }, line);
    box.prepend(drawn);
    if (this.actions) this.listen(box, this.actions);
    return box;
  }

  /** A press goes there, a drag shows what it went over. */
  private listen(box: HTMLElement, actions: StripActions): void {
    let from: number | null = null;
    const share = (event: PointerEvent) => {
      const { left, width } = box.getBoundingClientRect();
      return Math.min(1, Math.max(0, (event.clientX - left) / width));
    };
    box.addEventListener("pointerdown", (event) => (from = event.button === 0 ? share(event) : null));
    box.addEventListener("pointermove", (event) => actions.point(share(event) * this.until));
    box.addEventListener("pointerleave", () => actions.point(null));
    box.addEventListener("pointerup", (event) => {
      if (from === null) return;
      const [low, high] = [from, share(event)].sort((a, b) => a - b).map((one) => one * this.until);
      from = null;
      if (high - low > DRAGGED * this.until) return actions.look([low, high]);
      const half = (this.view ? this.view[1] - this.view[0] : Math.min(CLOSE_UP, this.until / 4)) / 2;
      const middle = Math.min(this.until - half, Math.max(half, low));
      actions.look([Math.max(0, middle - half), middle + half]);
    });
  }

  private ticks(): HTMLElement {
    const at = timeTicks(0, this.until, (this.element.clientWidth || WIDTH) / TICK_ROOM);
    const labels = timeLabels(at);
    return h("div", { class: "ticks", "aria-hidden": "true" }, ...at.map((time, i) => {
      const label = h("span", {}, labels[i]);
      label.style.left = `${(100 * time) / this.until}%`;
      return label;
    }));
  }
}
