/** The answer to a situation: what the viewers see, why, the ranking, charts and packets, drawn from the sessions played so far. */

import { type MetricEntry, packetBytes } from "../engine/types";
import { type Comparison, columns } from "../model/compare";
import type { Ready } from "../model/preparing";
import { ofAll } from "../model/choices";
import { number } from "../model/quantity";
import type { State } from "../model/state";
import type { Session } from "../model/story";
import { Charts } from "./charts";
import { h, prose, section } from "./dom";
import { eventList } from "./events";
import { flowTable } from "./flows";
import { Navigation } from "./navigation";
import { PacketView } from "./packets";
import { ranking } from "./ranking";
import { Strips } from "./strips";
import { whyStopped } from "./why";

type View = [number, number];

export interface AnswerActions {
  look: (view: View | null) => void;
  packets: (packets: State["packets"]) => void;
}

/** What is drawn. */
export interface Answered {
  state: State;
  ready: Ready;
  comparison: Comparison;
  metrics: Map<string, MetricEntry>;
}

const CHARTS_NOTE = "Drag over a chart or a strip to zoom, double-click a chart for all of it. Marks on top of a chart are events; rest the cursor on one. Where a line has more samples than the screen can show, it is their mean and the shading spans minimum to maximum.";

export class Answer {
  private path = 0;
  private shown: Answered | null = null;
  private drawnSessions = "";
  private readonly strips: Strips;
  private readonly charts: Charts;
  private readonly navigation: Navigation;
  private readonly packets: PacketView;
  private readonly parts = {
    headline: h("p", { class: "headline", "aria-live": "polite" }),
    verdict: h("p", { class: "verdict" }),
    progress: h("div", { class: "progress" }),
    // Drawn once and kept: a button that is replaced between press and release gets no click.
    played: h("progress", { "aria-label": "Sessions played" }),
    count: h("span"),
    stop: h("button", { type: "button", class: "small", onclick: () => this.shown?.comparison.cancel() }, "Stop"),
    viewers: h("div", {}),
    why: h("div", {}),
    ranking: h("div", {}),
    path: h("div", {}),
    events: h("div", {}),
    warnings: h("div", {}),
  };

  constructor(private readonly actions: AnswerActions) {
    this.strips = new Strips({ look: actions.look, point: (time) => this.charts.point(time) });
    this.charts = new Charts(actions.look, (time) => this.strips.point(time));
    this.navigation = new Navigation(actions.look);
    this.packets = new PacketView((packets) => {
      this.shown = { ...this.shown!, state: { ...this.shown!.state, packets } };
      actions.packets(packets);
      this.drawPackets(this.sessions());
    });
  }

  /** The answer in a sentence; on a phone it stays at the lower edge while the controls above it are turned. */
  head(alert: HTMLElement): HTMLElement {
    return h("div", { id: "answer", class: "answer", tabindex: "-1" }, alert, this.parts.headline, this.parts.progress);
  }

  get verdict(): HTMLElement {
    return this.parts.verdict;
  }

  /** All that follows the sentence. */
  sections(): HTMLElement[] {
    const { parts } = this;
    return [
      section("viewers", "What the viewers see", parts.viewers),
      section("why", "Before the picture stood still", parts.why),
      section("ranking", "Ranking", parts.ranking),
      section("charts", "Over time", this.navigation.element, h("p", { class: "note" }, CHARTS_NOTE), parts.path, this.charts.element, parts.events),
      section("packets", "Packet by packet", this.packets.element),
    ];
  }

  get warnings(): HTMLElement {
    return this.parts.warnings;
  }

  /** Another scenario has other paths. */
  clear(): void {
    this.path = 0;
  }

  /** The sessions are drawn anew although they are the same. */
  forget(): void {
    this.drawnSessions = "";
  }

  draw(shown: Answered): void {
    this.shown = shown;
    const { parts } = this;
    const { comparison, metrics, ready: { prepared }, state } = shown;
    this.path = Math.min(this.path, prepared.paths.length - 1);
    this.drawHead(comparison);
    const sessions = this.sessions();
    const drawn = JSON.stringify([sessions.map((session) => session.record.digest), state.view, this.path]);
    if (drawn !== this.drawnSessions) {
      this.drawnSessions = drawn;
      this.drawSessions(sessions);
    }
    if (comparison.judged) parts.ranking.replaceChildren(ranking(comparison.judged, columns(comparison.records).values, comparison.senders, metrics, comparison.seeds));
    else parts.ranking.replaceChildren();
  }

  private drawHead({ isOver, judged, progress: { done, of } }: Comparison): void {
    const { parts } = this;
    parts.headline.textContent = judged?.headline ?? "The first sessions are being played …";
    parts.verdict.textContent = judged && judged.verdict !== judged.headline ? judged.verdict : "";
    if (!parts.progress.firstChild) parts.progress.append(parts.played, parts.count, parts.stop);
    Object.assign(parts.played, { max: of, value: done });
    parts.count.textContent = `${done} of ${of} sessions`;
    parts.stop.hidden = isOver;
    parts.progress.dataset.over = String(isOver);
  }

  private drawSessions(sessions: Session[]): void {
    const { parts } = this;
    const { ready: { prepared }, state: { view } } = this.shown!;
    const isWatched = prepared.resolved.video !== null;
    document.documentElement.dataset.digests = sessions.map((session) => `${session.sender}=${session.record.digest}`).join(" ");
    parts.viewers.replaceChildren(sessions.length === 0 ? "" : isWatched ? this.strips.element : flowTable(sessions[0].record.flows));
    if (isWatched) this.strips.draw(sessions, view);
    this.navigation.draw(sessions, view);
    parts.why.replaceChildren(this.whyStopped(sessions));
    this.drawPath();
    this.charts.draw(sessions, { ...ofAll(prepared), path: this.path, film: this.film() }, view);
    this.drawPackets(sessions);
    parts.events.replaceChildren(eventList(sessions, view));
    const warnings = [...new Set(sessions.flatMap((session) => session.record.warnings))];
    parts.warnings.replaceChildren(...(warnings.length ? [section("warnings", "Limits of this answer", h("ul", {}, ...warnings.map((text) => h("li", {}, ...prose(text)))))] : []));
  }

  /** The first seed of each sender, as far as played. */
  private sessions(): Session[] {
    const { senders, sessions } = this.shown!.comparison;
    return senders.map((sender) => sessions.get(sender)).filter((session): session is Session => session !== undefined);
  }

  private drawPackets(sessions: Session[]): void {
    const { element } = this.packets;
    const { packets, view } = this.shown!.state;
    this.packets.draw(sessions, this.path, packets, view);
    element.closest("section")!.hidden = element.childElementCount === 0;
  }

  private film(): { mbps: number; packetBytes: number } | null {
    const { video, sender } = this.shown!.ready.prepared.resolved;
    const mbps = video?.rate ? number(video.rate) : null;
    return mbps === null ? null : { mbps, packetBytes: packetBytes(sender[0]) };
  }

  private whyStopped(sessions: Session[]): HTMLElement {
    const { resolved } = this.shown!.comparison.prepared;
    const bytes = (sender: string) => packetBytes(resolved.sender.find((one) => one.name === sender));
    return whyStopped(sessions, { packetBytes: bytes, need: resolved.video?.rate ? number(resolved.video.rate) : null, look: this.actions.look });
  }

  private drawPath(): void {
    const names = this.shown!.ready.prepared.paths.map((path) => path.name);
    const turn = () => {
      this.path = select.selectedIndex;
      this.draw(this.shown!);
    };
    const select = h("select", { onchange: turn }, ...names.map((name, i) => h("option", { selected: i === this.path }, name)));
    this.parts.path.replaceChildren(...(names.length > 1 ? [h("label", { class: "choice" }, "Path of the charts: ", select)] : []));
  }
}
