/** The segments that a player chose, and its rule's reasons. */

import type { PlaybackEvent } from "../engine/types";
import { clock, short } from "../model/quantity";
import type { Session } from "../model/story";
import { h } from "../view/dom";
import { sortable } from "./tables";

const HEAD = ["segment", "decided at", "rate (Mbit/s)", "the rule’s reason", "buffer (s)", "estimate (Mbit/s)", "took (s)"];

export function segments(session: Session): HTMLElement | null {
  const decisions = session.record.events.filter((event) => event.event === "segment_decision" && event.kind === "video");
  if (decisions.length === 0) return null;
  const arrived = new Map(session.record.events.filter((event) => event.event === "segment_downloaded" && event.kind === "video").map((event) => [event.segment, event]));
  const rows = decisions.map((decision) => row(decision, arrived.get(decision.segment)));
  const table = h("table", { class: "cards" }, h("thead", {}, h("tr", {}, ...HEAD.map((text) => h("th", { scope: "col" }, text)))), h("tbody", {}, ...rows));
  sortable(table);
  return h("details", {}, h("summary", {}, `${session.sender}: ${decisions.length} segments and why each has its rate`), h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `Segments of ${session.sender}` }, table));
}

function row(decision: PlaybackEvent, arrival: PlaybackEvent | undefined): HTMLElement {
  const cells = [clock(decision.time_s), short(decision.rate_mbps as number), String(decision.reason), short(decision.buffer_level_s as number), short(decision.estimate_mbps as number | null), short(arrival?.download_time_s as number | undefined)];
  return h("tr", {}, h("th", { scope: "row" }, String(decision.segment)), ...cells.map((text, i) => h("td", { "data-label": HEAD[i + 1] }, text)));
}
