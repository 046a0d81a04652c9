/** A situation that was kept, and the one of the page, beside each other: in what they differ, and what the viewers see. */

import type { MetricEntry } from "../engine/types";
import { type Situation, differences } from "../model/differences";
import { type Comparison, columns } from "../model/compare";
import { type Session, endOf } from "../model/story";
import { h } from "./dom";
import { ranking } from "./ranking";
import { Strips } from "./strips";

export interface Side extends Situation {
  comparison: Comparison;
}

const sessionsOf = ({ senders, sessions }: Comparison): Session[] => senders.map((sender) => sessions.get(sender)).filter((session) => session !== undefined);

export class SideBySide {
  readonly element = h("div", { class: "beside" });
  private readonly strips = [new Strips(), new Strips()];
  private readonly summary = h("div", {});
  private readonly sides = [h("div", { class: "side" }), h("div", { class: "side" })];

  constructor(actions: { swap: () => void; drop: () => void }) {
    this.element.append(
      this.summary,
      h("p", { class: "buttons" }, h("button", { type: "button", class: "small", onclick: actions.swap }, "Go back to the kept one"), h("button", { type: "button", class: "small", onclick: actions.drop }, "Keep it no longer")),
      h("div", { class: "sides" }, ...this.sides),
    );
  }

  draw(kept: Side, now: Side, metrics: Map<string, MetricEntry>): void {
    const found = differences(kept, now);
    this.summary.replaceChildren(
      found.length === 0
        ? h("p", { class: "note" }, "This is what you kept: now change something.")
        : h("table", {}, h("thead", {}, h("tr", {}, ...["what differs", "kept", "now"].map((text) => h("th", { scope: "col" }, text)))), h("tbody", {}, ...found.map((one) => h("tr", {}, h("th", { scope: "row" }, one.what), h("td", {}, one.kept), h("td", {}, one.now))))),
    );
    const all = [kept, now].map(({ comparison }) => sessionsOf(comparison));
    const until = Math.max(1, ...all.flat().map((session) => endOf(session.record)));
    [kept, now].forEach(({ comparison, prepared }, i) => {
      const { judged, senders, records, seeds } = comparison;
      if (prepared.resolved.video) this.strips[i].draw(all[i], null, undefined, until);
      this.sides[i].replaceChildren(
        h("h3", {}, i === 0 ? "Kept" : "Now"), h("p", {}, judged?.headline ?? "The first sessions are being played …"), prepared.resolved.video ? this.strips[i].element : "",
        judged ? ranking(judged, columns(records).values, senders, metrics, seeds, i === 0 ? "Ranking of the kept situation" : "Ranking of the situation now") : "",
      );
    });
  }
}
