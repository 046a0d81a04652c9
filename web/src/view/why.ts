/** What happened before each sender's longest stop, and what kept the others playing. */

import { short } from "../model/quantity";
import { type Session, around, stalls, why } from "../model/story";
import { h } from "./dom";

interface Situation {
  /** Payload bytes of a full packet of a sender. */
  packetBytes: (sender: string) => number;
  /** Mbit/s that the film needs, where it is of one rate. */
  need: number | null;
  look: (view: [number, number]) => void;
}

export function whyStopped(sessions: Session[], { packetBytes, need, look }: Situation): HTMLElement {
  const stories = sessions.flatMap((session) => {
    const longest = stalls(session.record)[0];
    if (!longest) return [];
    return [h("div", { class: "story" }, h("h3", {}, `${session.sender}: its longest stop`), h("ol", {}, ...why(session, longest, packetBytes(session.sender), need).map((line) => h("li", {}, line))), h("button", { type: "button", class: "small", onclick: () => look(around(longest)) }, "Show it in the charts"))];
  });
  const calm = sessions.filter((session) => session.record.metrics.stall_count === 0);
  return h(
    "div", {}, stories.length > 0 ? h("p", { class: "note" }, "What was measured before each stop. Whether it is the cause, only a session without it shows.") : null, ...stories, calm.length > 0 && h("div", { class: "kept" }, ...calm.map((session) => h("p", {}, kept(session, stories.length > 0)))),
    stories.length === 0 && calm.length > 0 ? h("p", { class: "note" }, "Nobody’s picture stood still in this seed.") : null,
  );
}

function kept(session: Session, others: boolean): string {
  const cuts = (session.record.window_events?.video ?? []).filter((event) => event.event === "loss");
  if (cuts.length === 0) return `${session.sender} saw no loss, and its picture never stopped.`;
  const mean = cuts.reduce((sum, event) => sum + event.cwnd_after / event.cwnd_before, 0) / cuts.length;
  const did = mean > 0.97 ? "kept its window" : `made its window × ${mean.toFixed(2)} on average`;
  return `${session.sender} found packets lost${others ? ", too," : ""} ${short(cuts.length)} times; it ${did}, and its picture never stopped.`;
}
