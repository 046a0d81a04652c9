/** What happened in the sessions, as a list in the order of time. */

import { clock } from "../model/quantity";
import { type Session, marks } from "../model/story";
import { h } from "./dom";

const MOST_EVENTS = 300;

export function eventList(sessions: Session[], view: [number, number] | null): HTMLElement {
  const [from, until] = view ?? [0, Infinity];
  const all = sessions.flatMap((session) => marks(session.record).map((mark) => ({ ...mark, sender: session.sender }))).filter((mark) => mark.time >= from && mark.time <= until).sort((a, b) => a.time - b.time);
  if (all.length === 0) return h("div", {});
  const rows = all.slice(0, MOST_EVENTS).map((mark) => h("tr", {}, h("td", {}, clock(mark.time)), h("th", { scope: "row" }, mark.sender), h("td", {}, mark.text)));
  const count = all.length > rows.length ? `the first ${rows.length} of ${all.length} events shown; zoom to see others` : `${all.length} events`;
  return h("details", {}, h("summary", {}, `What happened, as a list: ${count}`), h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Events" }, h("table", { class: "events" }, h("tbody", {}, ...rows))));
}
