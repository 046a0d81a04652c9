/** The ranking: every criterion with its interval, filling while seeds come in. */

import type { Judged, MetricEntry, Values } from "../engine/types";
import { short, signed, withUnit } from "../model/quantity";
import { filling } from "./colours";
import { h, svg } from "./dom";
import { inkOf, spread } from "./spread";

const WIDTH = 220;
const OF_THE_VIEWER = 4;

/** What decides most; it is news that nobody has any. */
const ALWAYS = "stall_time_s";

/** What the viewers see and senders differ in, as far as there is room; then what it costs the network. */
export function shownCriteria(judged: Judged, isCost: (name: string) => boolean): string[] {
  const found = (name: string) => Object.values(judged.senders).map((metrics) => metrics[name]);
  const known = judged.criteria.filter((name) => found(name).some(Boolean));
  const isNews = (name: string) => name === ALWAYS || new Set(found(name).map((one) => short(one?.mean))).size > 1;
  return [...known.filter((name) => !isCost(name) && isNews(name)).slice(0, OF_THE_VIEWER), ...known.filter(isCost)];
}

/** The places that a sender may have by what is proven: `2`, or `1–3` where it is not told apart from the others there. */
const place = ([first, last]: [number, number]): string => (first === last ? `${first}` : `${first}–${last}`);

export function ranking(judged: Judged, values: Values, senders: string[], metrics: Map<string, MetricEntry>, seeds: number, label = "Table of the ranking"): HTMLElement {
  const names = shownCriteria(judged, (name) => metrics.get(name)?.of !== "viewer");
  const { decision } = judged;
  const head = ["rank", "sender", ...names.map((name) => title(metrics.get(name), name)), "against the best"];
  const rows = decision.ranking.map((sender) => {
    const swatch = h("i", { class: "swatch" });
    swatch.style.background = filling(senders.indexOf(sender));
    return h(
      "tr", { "data-sender": sender },
      h("td", {}, place(decision.places[sender])),
      h("th", { scope: "row" }, swatch, sender),
      ...names.map((name) => h("td", { "data-label": metrics.get(name)?.label ?? name }, cell(judged, values, sender, senders.indexOf(sender), metrics.get(name), name))),
      h("td", { "data-label": "against the best" }, standing(judged, sender, metrics)),
    );
  });
  return h(
    "div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label },
    h("table", { class: "ranking" }, h("caption", {}, `${seeds < 6 ? "Mean" : "Median and its 95 % interval"} of ${seeds} seed${seeds === 1 ? "" : "s"}; a dot is a seed.`), h("thead", {}, h("tr", {}, ...head.map((text) => h("th", { scope: "col" }, text)))), h("tbody", {}, ...rows)),
  );
}

const title = (entry: MetricEntry | undefined, name: string): string => (entry ? `${entry.label}${entry.unit ? ` (${entry.unit})` : ""}` : name);

function cell(judged: Judged, values: Values, sender: string, place: number, entry: MetricEntry | undefined, name: string): HTMLElement {
  const summary = judged.senders[sender]?.[name];
  if (!summary) return h("span", {}, "–");
  const all = Object.values(values).flatMap((metrics) => metrics[name] ?? []).filter((value) => value !== null);
  const most = Math.max(...all, 1e-12);
  const x = (value: number) => 4 + (value / most) * (WIDTH - 8);
  const seeds = (values[sender][name] ?? []).filter((value) => value !== null);
  const shown = summary.ci95 ? summary.median : summary.mean;
  const label = `${withUnit(shown, entry?.unit ?? "")}${summary.ci95 ? `, 95 % interval ${short(summary.ci95[0])} to ${short(summary.ci95[1])}` : ""}`;
  return h("span", { class: "figure" }, h("span", {}, short(shown)), svg("svg", { viewBox: `0 0 ${WIDTH} 18`, role: "img", "aria-label": label, class: "interval" }, svg("title", {}, label), ...spread(seeds, summary.ci95, x, 9, inkOf(place))));
}

function standing(judged: Judged, sender: string, metrics: Map<string, MetricEntry>): string {
  const { decision, differences } = judged;
  if (sender === decision.ranking[0]) return "leads";
  if (decision.tied.includes(sender)) return "alike: proven";
  const found = differences[sender];
  const state = decision.beaten.includes(sender) ? "behind: proven" : "not proven yet";
  const entry = found && metrics.get(found.metric);
  return entry && found.noticed > 0 ? `${state}; ${signed(found.ci95 ? found.median : found.mean, entry.unit)} ${entry.label}` : state;
}
