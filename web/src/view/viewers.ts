/** One strip a viewer: what was on the screen, from pressing play to the end. */

import { clock, short } from "../model/quantity";
import { type Session, type Span, endOf, filmstrip, stalls } from "../model/story";
import { colour } from "./colours";
import { h, svg } from "./dom";

const WIDTH = 1000;
const HEIGHT = 34;

export interface StripActions {
  zoom: (view: [number, number]) => void;
}

export function viewers(sessions: Session[], view: [number, number] | null, actions: StripActions, places?: number[]): HTMLElement {
  const until = Math.max(1, ...sessions.map((session) => endOf(session.record)));
  const range: [number, number] = view ?? [0, until];
  const rates = sessions.flatMap((session) => filmstrip(session.record).map((span) => span.rate ?? 0));
  const best = Math.max(...rates);
  const rows = sessions.map((session, place) => row(session, places?.[place] ?? place, range, best, actions));
  return h(
    "div", { class: "viewers" },
    ...rows,
    h("div", { class: "ticks", "aria-hidden": "true" }, ...[0, 0.25, 0.5, 0.75, 1].map((share) => h("span", {}, clock(range[0] + share * (range[1] - range[0]))))),
    h("p", { class: "key", "aria-hidden": "true" }, h("i", { class: "box playing" }), "playing", best > 0 ? ` (the fuller the colour, the sharper: up to ${short(best)} Mbit/s) ` : " ", h("i", { class: "box stalled" }), "picture stands still ", h("i", { class: "box waiting" }), "waiting to start"),
  );
}

function row(session: Session, place: number, range: [number, number], best: number, actions: StripActions): HTMLElement {
  const spans = filmstrip(session.record);
  const { metrics } = session.record;
  const count = metrics.stall_count ?? 0;
  const told = metrics.stall_time_s == null
    ? "shows no frames"
    : count === 0 ? "never stops" : `stops ${short(count)} time${count === 1 ? "" : "s"}, ${short(metrics.stall_time_s)} s in all`;
  const rate = best > 0 ? `, ${short((metrics.mean_rate_kbps ?? 0) / 1000)} Mbit/s on average` : "";
  const longest = stalls(session.record)[0];
  const look = longest && h("button", { type: "button", class: "small", onclick: () => actions.zoom([Math.max(0, longest.at - 12), longest.at + longest.length + 4]) }, "Show its longest stop");
  const swatch = h("i", { class: "swatch" });
  swatch.style.background = colour(place);
  return h(
    "div", { class: "viewer" },
    h("div", { class: "who" }, swatch, h("b", {}, session.sender), h("span", {}, `${told}${rate}`), look ?? null),
    strip(spans, range, best, `${session.sender}: ${told}${rate}`),
  );
}

function strip(spans: Span[], [from, until]: [number, number], best: number, label: string): SVGElement {
  const x = (time: number) => ((Math.min(until, Math.max(from, time)) - from) / (until - from)) * WIDTH;
  const shown = spans.filter((span) => span.until > from && span.from < until);
  const boxes = shown.map((span) => {
    // A stop of a third of a second in ten minutes must still be seen.
    const width = Math.max(x(span.until) - x(span.from), span.kind === "stalled" ? 1.5 : 0);
    const opacity = span.kind === "playing" && best > 0 ? 0.25 + 0.75 * ((span.rate ?? 0) / best) : 1;
    return svg("rect", { x: x(span.from), y: span.kind === "stalled" ? 0 : 5, width, height: span.kind === "stalled" ? HEIGHT : HEIGHT - 10, class: span.kind, opacity }, svg("title", {}, `${clock(span.from)} to ${clock(span.until)}: ${span.kind}`));
  });
  // Stops are drawn last, over what plays.
  boxes.sort((a, b) => Number(a.classList.contains("stalled")) - Number(b.classList.contains("stalled")));
  return svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": label, class: "strip" }, ...boxes);
}
