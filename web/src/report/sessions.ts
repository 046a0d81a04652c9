/** One session of each sender, beside each other: strips, what went before the longest stops, charts, events, segments. */

import type { PacketChoice } from "../model/packets";
import { worst } from "../model/story";
import { Charts } from "../view/charts";
import { filling } from "../view/colours";
import { h } from "../view/dom";
import { eventList } from "../view/events";
import { Navigation } from "../view/navigation";
import { PacketView } from "../view/packets";
import { Strips } from "../view/strips";
import { whyStopped } from "../view/why";
import type { Report } from "./data";
import { segments } from "./segments";

/** Shown at first: the best, the last, and the middle one. */
const first = (count: number): number[] => [0, count - 1, Math.floor((count - 1) / 2)];

export class Sessions {
  private shown: Set<string>;
  private view: [number, number] | null;
  /** Whether the charts are where they were opened: the packets then are those that mattered, not the middle of the view. */
  private isOpening = true;
  private path = 0;
  private choice: PacketChoice;
  private readonly strips = new Strips({ look: (view) => this.look(view), point: (time) => this.charts.point(time) });
  private readonly charts = new Charts((view) => this.look(view), (time) => this.strips.point(time));
  private readonly navigation = new Navigation((view) => this.look(view));
  private readonly packets = new PacketView((choice) => {
    this.choice = choice;
    this.drawPackets(this.sessions());
  });
  private readonly parts = { choice: h("div", { class: "choices" }), why: h("div", { class: "stories" }), note: h("p", { class: "note" }), path: h("div", {}), packets: h("h3", { id: "packets" }, "Packet by packet"), events: h("div", {}), segments: h("div", {}) };

  constructor(private readonly report: Report, place: HTMLElement) {
    this.shown = new Set(first(report.sessions.length).map((place) => report.sessions[place].sender));
    this.view = worst(this.sessions());
    this.choice = { of: null, view: report.window };
    const { parts } = this;
    place.replaceChildren(
      parts.choice, this.strips.element, parts.why,
      this.navigation.element, parts.note, parts.path, this.charts.element, parts.packets, this.packets.element, parts.events, parts.segments,
    );
    this.draw();
  }

  private sessions(): Report["sessions"] {
    return this.report.sessions.filter((session) => this.shown.has(session.sender));
  }

  draw(): void {
    const { report, parts } = this;
    const sessions = this.sessions();
    const packetBytes = new Map(report.sessions.map((session) => [session.sender, session.packet_bytes]));
    this.drawChoice();
    this.drawPath();
    const places = sessions.map((session) => report.places[report.sessions.indexOf(session)]);
    if (report.has_video) {
      this.strips.draw(sessions, this.view, places);
      parts.why.replaceChildren(whyStopped(sessions, { packetBytes: (sender) => packetBytes.get(sender)!, need: report.need, look: (view) => this.look(view) }));
    }
    this.navigation.draw(sessions, this.view);
    this.charts.draw(sessions, { paths: report.paths, traces: report.traces, path: this.path, bands: report.bands, places, film: report.need === null ? null : { mbps: report.need, packetBytes: report.sessions[0].packet_bytes } }, this.view);
    parts.note.replaceChildren(...this.note());
    this.drawPackets(sessions);
    parts.events.replaceChildren(eventList(sessions, this.view));
    parts.segments.replaceChildren(...sessions.flatMap((session) => segments(session) ?? []));
  }

  /** What the charts' signs mean. */
  private note(): (HTMLElement | string)[] {
    const { need, paths, bands, seeds } = this.report;
    const shade = this.charts.isDense ? "Lines: means of adjacent samples; shaded: minimum to maximum. " : bands.length > 0 ? `Shaded: the middle 80\u00a0% of ${seeds} seeds. ` : "";
    return [
      h("span", { class: "screen" }, "Drag over a chart or a strip to zoom, double-click a chart for all of it. Rest the cursor on a mark: it is an event. "),
      need !== null && paths.length === 1 ? "Dashed: the window that the film needs. " : "", shade,
    ];
  }

  private drawChoice(): void {
    if (this.report.sessions.length < 2) return;
    const tick = (sender: string, place: number) => {
      const swatch = h("i", { class: "swatch" });
      swatch.style.background = filling(this.report.places[place]);
      return h("label", { class: "tick" }, h("input", { type: "checkbox", checked: this.shown.has(sender), "data-sender": sender, onchange: () => this.turn(sender) }), swatch, sender);
    };
    const active = document.activeElement instanceof HTMLInputElement ? document.activeElement.dataset.sender : undefined;
    this.parts.choice.replaceChildren(h("fieldset", {}, h("legend", {}, "Senders shown"), ...this.report.sessions.map(({ sender }, place) => tick(sender, place))));
    if (active !== undefined) [...this.parts.choice.querySelectorAll("input")].find((input) => input.dataset.sender === active)?.focus();
  }

  private turn(sender: string): void {
    if (!this.shown.delete(sender)) this.shown.add(sender);
    this.draw();
  }

  private drawPath(): void {
    const names = this.report.paths.map((path) => path.name);
    if (names.length < 2) return;
    const select = h("select", { onchange: () => { this.path = select.selectedIndex; this.draw(); } }, ...names.map((name, i) => h("option", { selected: i === this.path }, name)));
    this.parts.path.replaceChildren(h("label", { class: "choice" }, "Path of the charts: ", select));
  }

  private drawPackets(sessions: Report["sessions"]): void {
    this.packets.draw(sessions, this.path, this.choice, this.isOpening ? null : this.view);
    this.parts.packets.hidden = this.packets.element.childElementCount === 0;
  }

  private look(view: [number, number] | null): void {
    this.view = view;
    this.isOpening = false;
    this.choice = { ...this.choice, view: null };
    this.draw();
  }
}
