/** One session of each sender, beside each other: strips, why the picture stood still, charts, events, segments. */

import { Charts } from "../view/charts";
import { colour } from "../view/colours";
import type { PacketChoice } from "../model/packets";
import { h } from "../view/dom";
import { eventList } from "../view/events";
import { PacketView } from "../view/packets";
import { viewers } from "../view/viewers";
import { whyStopped } from "../view/why";
import type { Report } from "./data";
import { segments } from "./segments";

/** Shown at first: the best, the last, and the middle one. */
const first = (count: number): number[] => [0, count - 1, Math.floor((count - 1) / 2)];

export class Sessions {
  private shown: Set<string>;
  private view: [number, number] | null = null;
  private path = 0;
  private choice: PacketChoice = { of: null, view: null };
  private readonly charts = new Charts((view) => this.look(view));
  private readonly packets = new PacketView((choice) => {
    this.choice = choice;
    this.drawPackets(this.sessions());
  });
  private readonly parts = { choice: h("div", { class: "choices" }), viewers: h("div", {}), why: h("div", {}), path: h("div", {}), packets: h("h3", { id: "packets" }, "Packet by packet"), events: h("div", {}), segments: h("div", {}) };

  constructor(private readonly report: Report, place: HTMLElement) {
    this.shown = new Set(first(report.sessions.length).map((place) => report.sessions[place].sender));
    const { parts } = this;
    place.replaceChildren(
      parts.choice, parts.viewers, parts.why,
      h("p", { class: "note" }, h("span", { class: "screen" }, "Drag over a chart to zoom, double-click for all of it. Rest the cursor on a triangle: it is an event. "), report.need !== null && report.paths.length === 1 && "Dashed: the window that the film needs. ", report.bands.length > 0 && `Shaded: the middle 80 % of ${report.seeds} seeds.`),
      parts.path, this.charts.element, parts.packets, this.packets.element, parts.events, parts.segments,
    );
    this.choice = { of: null, view: report.window };
    this.draw();
  }

  private sessions(): Report["sessions"] {
    return this.report.sessions.filter((session) => this.shown.has(session.sender));
  }

  draw(): void {
    const { report, parts } = this;
    const sessions = this.sessions();
    const mss = new Map(report.sessions.map((session) => [session.sender, session.mss]));
    const look = (view: [number, number] | null) => this.look(view);
    this.drawChoice();
    this.drawPath();
    const places = sessions.map((session) => report.places[report.sessions.indexOf(session)]);
    if (report.has_video) {
      parts.viewers.replaceChildren(viewers(sessions, this.view, { zoom: look }, places));
      parts.why.replaceChildren(whyStopped(sessions, { mss: (sender) => mss.get(sender)!, need: report.need, look }));
    }
    this.charts.draw(sessions, { paths: report.paths, traces: report.traces, path: this.path, bands: report.bands, places, film: report.need === null ? null : { mbps: report.need, mss: report.sessions[0].mss } }, this.view);
    this.drawPackets(sessions);
    parts.events.replaceChildren(eventList(sessions, this.view, look));
    parts.segments.replaceChildren(...sessions.flatMap((session) => segments(session) ?? []));
  }

  private drawChoice(): void {
    if (this.report.sessions.length < 2) return;
    const tick = (sender: string, place: number) => {
      const swatch = h("i", { class: "swatch" });
      swatch.style.background = colour(this.report.places[place]);
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
    this.packets.draw(sessions, this.path, this.choice, this.view);
    this.parts.packets.hidden = this.packets.element.childElementCount === 0;
  }

  private look(view: [number, number] | null): void {
    this.view = view;
    this.choice = { ...this.choice, view: null };
    this.draw();
  }
}
