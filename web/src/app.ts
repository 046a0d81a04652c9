/** The page: one state, played and drawn anew whenever it changes. */

import type { Pool } from "./engine/pool";
import type { ControlEntry, MetricEntry, Prepared, Resolved } from "./engine/types";
import { Comparison, columns } from "./model/compare";
import { overrides } from "./model/knobs";
import { featured } from "./model/featured";
import { History } from "./model/history";
import { number, short } from "./model/quantity";
import { MOST_SEEDS, type MapState, type State, decode, encode, start } from "./model/state";
import type { Session } from "./model/story";
import { WhatIf } from "./model/whatif";
import { Charts } from "./view/charts";
import { download, h, section } from "./view/dom";
import { eventList } from "./view/events";
import { Navigation } from "./view/navigation";
import { PacketView } from "./view/packets";
import { Beside, type Side } from "./view/beside";
import { LessonView, lessonList, lessonOf } from "./view/lesson";
import { panel } from "./view/panel";
import { ranking } from "./view/ranking";
import { saveButton } from "./view/saving";
import { Strips } from "./view/strips";
import { whyStopped } from "./view/why";
import { knobOf, mapForm, mapView } from "./view/whatif";
import { command } from "./model/command";

/** A scenario that `playpath explore` put into the page. */
export interface Start {
  name: string;
  text: string;
  files: Record<string, string>;
}

interface Shipped {
  scenarios: Record<string, string>;
  files: Record<string, string>;
}

const DELAY_MS = 120;
const LARGEST_FILE = 4_000_000;

export class App {
  private state: State;
  private base: Resolved | null = null;
  private baseOf = "";
  private prepared: Prepared | null = null;
  private comparison: Comparison | null = null;
  private whatif: WhatIf | null = null;
  private metrics = new Map<string, MetricEntry>();
  private controls: ControlEntry[] = [];
  private queues: string[] = [];
  private rules: string[] = [];
  private path = 0;
  private drawnSessions = "";
  private panelOf = "";
  /** A phone has room for what is turned most; its answer is near then. */
  private isUnfolded = matchMedia("(min-width: 861px)").matches;
  private mapFormOf = "";
  private timer = 0;
  private frame = 0;
  private turn = 0;
  private hash = "";
  private readonly strips = new Strips({ look: (view) => this.look(view), point: (time) => this.charts.point(time) });
  private readonly charts = new Charts((view) => this.look(view), (time) => this.strips.point(time));
  private readonly navigation = new Navigation((view) => this.look(view));
  private readonly packets = new PacketView((packets) => {
    this.state = { ...this.state, packets };
    void this.write();
    this.drawPackets(this.sessions());
  });
  private readonly parts = {
    alert: h("p", { role: "alert", class: "alert", hidden: true }),
    status: h("p", { role: "status", class: "status" }),
    lead: h("p", { class: "lead" }, "A server sends a film over a network path. Turn the path, tick the senders, and see what the viewers see. Every session is computed here, in this page, packet by packet."),
    head: h("div", { class: "head" }),
    lessons: lessonList((id) => void this.show({ ...this.state, lesson: { id, step: 0 } })),
    columns: h("div", { class: "columns" }),
    panel: h("aside", { "aria-label": "What can be turned" }),
    headline: h("p", { class: "headline", "aria-live": "polite" }),
    verdict: h("p", { class: "verdict" }),
    progress: h("div", { class: "progress" }),
    // Drawn once and kept: a button that is replaced between press and release gets no click.
    played: h("progress", { "aria-label": "Sessions played" }),
    count: h("span"),
    stop: h("button", { type: "button", class: "small", onclick: () => this.comparison?.cancel() }, "Stop"),
    viewers: h("div", {}),
    why: h("div", {}),
    ranking: h("div", {}),
    path: h("div", {}),
    events: h("div", {}),
    mapForm: h("div", {}),
    map: h("div", {}),
    warnings: h("div", {}),
  };

  private readonly lesson: LessonView;
  private readonly history = new History();
  /** What was kept to be compared, and its address. */
  private kept: { side: Side; address: string } | null = null;
  private readonly beside = new Beside({ swap: () => void this.swap(), drop: () => void this.letGo() });

  constructor(private pools: { desk: Pool; stage: Pool }, private shipped: Shipped, private given: Start | null, private root: HTMLElement) {
    this.state = start("wireless", featured("wireless", ["cubic", "bbr"]));
    this.lesson = new LessonView(pools, (scenario) => shipped.scenarios[scenario], shipped.files, { go: (step) => this.turnPage(step) });
  }

  /** Builds the page, and shows a state. */
  async open(state: State | null, wrong: string | null): Promise<void> {
    const about = await this.pools.desk.ask("about", {});
    about.metrics.forEach((metric) => this.metrics.set(metric.name, metric));
    this.controls = about.controls;
    this.queues = about.queues.map((queue) => queue.name);
    this.rules = about.rules.map((rule) => rule.name);
    this.build(about.version);
    if (state) this.state = state;
    else if (this.given) this.state = { ...start(this.given.name, []), text: this.given.text, files: this.given.files };
    this.tell(wrong);
    await this.play();
  }

  /** An address was entered. */
  async follow(hash: string): Promise<void> {
    if (hash.replace(/^#/, "") === this.hash) return;
    try {
      const state = await decode(hash);
      if (state) await this.show(state);
    } catch (error) {
      this.tell((error as Error).message);
    }
  }

  private build(version: string): void {
    const { parts } = this;
    const pick = h("input", { type: "file", multiple: true, hidden: true, onchange: () => void this.drop(pick.files) });
    // The address holds the state: no link may put a place of the page there.
    document.querySelector(".skip")?.addEventListener("click", (event) => {
      event.preventDefault();
      if (this.lesson.element.hidden) document.getElementById("answer")!.focus();
      else this.lesson.focus();
    });
    parts.columns.append(
      parts.panel,
      h(
        "main", {},
        // On a phone it stays at the lower edge while the controls above it are turned.
        h("div", { id: "answer", class: "answer", tabindex: "-1" }, parts.alert, parts.headline, parts.progress),
        parts.verdict, parts.status,
        section("beside", "Two situations beside each other", this.beside.element),
        section("viewers", "What the viewers see", parts.viewers),
        section("why", "Why the picture stood still", parts.why),
        section("ranking", "Ranking", parts.ranking),
        section("charts", "Over time", this.navigation.element, h("p", { class: "note" }, "Drag over a chart or a strip to zoom, double-click a chart for all of it. Marks on top of a chart are events; rest the cursor on one. Where a line has more samples than the screen has places, the shade is from the least to the most of each moment."), parts.path, this.charts.element, parts.events),
        section("packets", "Packet by packet", this.packets.element),
        section("whatif", "What if?", parts.mapForm, parts.map),
        parts.warnings,
      ),
    );
    this.root.replaceChildren(
      h("header", {}, h("h1", {}, "Which sender keeps the video playing?"), parts.lead, parts.head),
      parts.lessons, this.lesson.element, parts.columns,
      h("footer", {}, h("p", {}, `playpath ${version}. Simulated: the same engine, and for a scenario, sender and seed the same digests, as the installed program. Nothing is sent anywhere. Intervals are over seeds of this one path; they say nothing about other paths. `), h("button", { type: "button", class: "small", onclick: () => pick.click() }, "Open a scenario or a trace"), pick, " (or drop it anywhere on this page)"),
    );
    document.body.addEventListener("dragover", (event) => event.preventDefault());
    document.body.addEventListener("drop", (event) => {
      event.preventDefault();
      void this.drop(event.dataTransfer?.files ?? null);
    });
    addEventListener("resize", () => this.redraw());
    addEventListener("keydown", (event) => {
      const isTyping = event.target instanceof HTMLElement && event.target.matches("textarea, input:not([type=range]):not([type=checkbox])");
      if (event.key.toLowerCase() !== "z" || !(event.ctrlKey || event.metaKey) || event.shiftKey || isTyping) return;
      event.preventDefault();
      this.undo();
    });
    // Paper is light.
    let theme: string | undefined;
    addEventListener("beforeprint", () => {
      theme = document.documentElement.dataset.theme;
      document.documentElement.dataset.theme = "light";
      this.drawnSessions = "";
      this.draw();
    });
    addEventListener("afterprint", () => {
      if (theme === undefined) delete document.documentElement.dataset.theme;
      else document.documentElement.dataset.theme = theme;
      this.redraw();
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.redraw());
  }

  private change(change: Partial<State>): void {
    this.history.leave(this.state, JSON.stringify([Object.keys(change), this.changed(change.set)]), performance.now());
    const packets = "view" in change ? { ...this.state.packets, view: null } : this.state.packets;
    this.state = { ...this.state, packets, ...change };
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => void this.play(), DELAY_MS);
  }

  /** Keys of settings that are not as they are. */
  private changed(set: State["set"] = this.state.set): string[] {
    return Object.keys(set).filter((key) => JSON.stringify(set[key]) !== JSON.stringify(this.state.set[key]));
  }

  private undo(): void {
    const before = this.history.back();
    if (before) void this.show(before, true);
  }

  /** Keeps the situation; what is turned from here on is shown beside it. */
  private async keep(): Promise<void> {
    const address = await encode({ ...this.state, kept: null, lesson: null, view: null });
    this.kept = { side: { state: this.state, prepared: this.prepared!, comparison: this.comparison! }, address };
    this.state = { ...this.state, kept: address };
    await this.write();
    this.drawFrame();
    this.redraw();
    document.getElementById("beside")!.scrollIntoView({ block: "nearest" });
  }

  private async swap(): Promise<void> {
    await this.show({ ...this.kept!.side.state, kept: this.state.kept });
  }

  private async letGo(): Promise<void> {
    this.kept = null;
    this.state = { ...this.state, kept: null };
    await this.write();
    this.redraw();
  }

  /** Plays what the address says was kept, unless it is there. */
  private async playKept(turn: number): Promise<void> {
    const address = this.state.kept;
    if (address === null || address === this.kept?.address) return;
    const state = await decode(address);
    if (!state || turn !== this.turn) return;
    const [text, files] = [state.text ?? this.shipped.scenarios[state.scenario], { ...this.shipped.files, ...state.files }];
    const ask = (set: Record<string, unknown>, senders: string[]) => this.pools.desk.ask("prepare", { text, files, senders, overrides: { set } });
    const base = (await ask({}, [])).resolved;
    const prepared = await ask({ ...overrides(state, base), "run.seeds": state.seeds }, state.senders);
    const comparison = new Comparison(prepared, prepared.resolved.sender.map((sender) => sender.name), this.pools, () => this.plan());
    this.kept = { side: { state, prepared, comparison }, address };
    await comparison.run();
  }

  private async show(state: State, isUndone = false): Promise<void> {
    if (!isUndone && this.prepared) this.history.leave(this.state, "", -Infinity);
    this.state = state;
    this.path = 0;
    this.panelOf = "";
    this.whatif?.cancel();
    this.whatif = null;
    await this.play();
  }

  private text(): string {
    const text = this.state.text ?? this.shipped.scenarios[this.state.scenario];
    if (text === undefined) throw new Error(`there is no scenario “${this.state.scenario}”; there are ${Object.keys(this.shipped.scenarios).join(", ")}`);
    return text;
  }

  private files = (): Record<string, string> => ({ ...this.shipped.files, ...this.state.files });

  /** Resolves the state's scenario and plays it; what was under way before is ended. */
  private async play(): Promise<void> {
    const turn = ++this.turn;
    if (this.comparison !== this.kept?.side.comparison) this.comparison?.cancel();
    if (this.showLesson()) {
      this.tell(null);
      return this.write();
    }
    try {
      await this.prepare(turn);
    } catch (error) {
      if (turn === this.turn) this.tell((error as Error).message);
      return;
    }
    if (turn !== this.turn) return;
    this.tell(null);
    await this.write();
    const senders = this.prepared!.resolved.sender.map((sender) => sender.name);
    this.comparison = new Comparison(this.prepared!, senders, this.pools, () => this.plan());
    this.path = Math.min(this.path, this.prepared!.paths.length - 1);
    this.drawnSessions = "";
    this.drawFrame();
    this.plan();
    const tell = (error: Error) => turn === this.turn && this.tell(error.message);
    this.comparison.run().catch(tell);
    this.playKept(turn).catch(tell);
  }

  private async prepare(turn: number): Promise<void> {
    const [text, files] = [this.text(), this.files()];
    const ask = (set: Record<string, unknown>, senders: string[]) => this.pools.desk.ask("prepare", { text, files, senders, overrides: { set } });
    if (this.baseOf !== text) {
      const base = (await ask({}, [])).resolved;
      if (turn !== this.turn) return;
      [this.base, this.baseOf] = [base, text];
    }
    const own = this.base!.sender.map((sender) => sender.name);
    if (this.state.senders.length === 0) this.state.senders = featured(this.state.scenario, own);
    const prepared = await ask({ ...overrides(this.state, this.base!), "run.seeds": this.state.seeds }, this.state.senders);
    if (turn === this.turn) this.prepared = prepared;
  }

  private async write(): Promise<void> {
    this.hash = await encode(this.state);
    history.replaceState(null, "", `#${this.hash}`);
  }

  private tell(wrong: string | null): void {
    this.parts.alert.textContent = wrong ?? "";
    this.parts.alert.hidden = wrong === null;
  }

  /** Draws what has changed with the next frame. */
  private plan(): void {
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      this.draw();
    });
  }

  private redraw(): void {
    this.drawnSessions = "";
    this.plan();
  }

  /** What follows from the state alone. */
  private drawFrame(): void {
    const { parts, state } = this;
    const prepared = this.prepared!;
    this.drawHead();
    // A slider under the hand must not be replaced: the panel is drawn anew only where its shape changes.
    const shape = JSON.stringify([state.scenario, state.text, state.senders, state.traffic, state.paths.length, prepared.paths.length, prepared.resolved.path.map((path) => path.queue.kind), Object.keys(state.files)]);
    if (shape !== this.panelOf || !parts.panel.contains(document.activeElement)) {
      const active = document.activeElement instanceof HTMLInputElement ? document.activeElement.dataset.sender : undefined;
      const own = this.base!.sender.map((sender) => sender.name);
      parts.panel.replaceChildren(panel(state, prepared, { controls: this.controls, queues: this.queues, rules: this.rules, own, base: this.base!, isUnfolded: this.isUnfolded }, { change: (change) => this.change(change), unfold: (isOpen) => (this.isUnfolded = isOpen) }));
      if (active) parts.panel.querySelector<HTMLInputElement>(`[data-sender="${CSS.escape(active)}"]`)?.focus();
      this.panelOf = shape;
    }
    this.drawMap();
  }

  /** A lesson has the page to itself. */
  private showLesson(): boolean {
    const lesson = lessonOf(this.state.lesson?.id);
    const { parts } = this;
    for (const part of [parts.lead, parts.head, parts.lessons, parts.columns]) part.hidden = lesson !== undefined;
    this.lesson.element.hidden = lesson === undefined;
    this.lesson.stop();
    if (!lesson) return false;
    const place = Math.min(this.state.lesson!.step, lesson.screens.length - 1);
    this.lesson.show(lesson, place);
    this.lesson.focus();
    return true;
  }

  private turnPage(step: number | null): void {
    void this.show({ ...this.state, lesson: step === null ? null : { ...this.state.lesson!, step } });
  }

  private drawHead(): void {
    const { state } = this;
    const names = Object.keys(this.shipped.scenarios);
    const own = state.text !== null;
    const select = h(
      "select", { id: "scenario", onchange: () => void this.show({ ...start(select.value, []), seeds: state.seeds }) },
      own && h("option", { selected: true }, state.scenario),
      ...names.map((name) => h("option", { selected: !own && name === state.scenario }, name)),
    );
    const seeds = h("input", { type: "number", min: 1, max: MOST_SEEDS, value: state.seeds, id: "seeds", onchange: () => this.change({ seeds: Math.max(1, Math.min(MOST_SEEDS, Math.round(seeds.valueAsNumber) || 10)) }) });
    const button = (label: string, act: () => void) => h("button", { type: "button", class: "small", onclick: act }, label);
    const undo = button("Undo", () => this.undo());
    undo.disabled = this.history.isEmpty;
    this.parts.head.replaceChildren(
      h("label", { for: "scenario" }, "Scenario "), select, h("label", { for: "seeds" }, " Seeds "), seeds,
      button("Where does the answer turn?", () => this.findTurn()),
      undo, button("Keep this to compare", () => void this.keep()),
      button("Copy link", () => void this.copy(location.href, "the link")),
      button("Copy as scenario.toml", () => void this.copy(this.prepared!.toml, "the scenario")),
      button("Copy as command", () => void this.copy(command(this.state, this.base!), "the command")),
      button("Save scenario.toml", () => download("scenario.toml", new Blob([this.prepared!.toml], { type: "application/toml" }))),
      saveButton(), button("Light or dark", () => this.turnTheme()),
      h("p", { class: "note" }, this.base?.description ?? ""),
    );
  }

  private async copy(text: string, what: string): Promise<void> {
    try {
      await navigator.clipboard.writeText(text);
      this.parts.status.textContent = `Copied: ${what}.`;
    } catch {
      const field = h("textarea", { readonly: true, rows: 6, "aria-label": what }, text);
      this.parts.status.replaceChildren(`This browser does not let the page copy. Here is ${what}: `, field);
      field.select();
    }
  }

  private turnTheme(): void {
    const { dataset } = document.documentElement;
    const isDark = dataset.theme ? dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    dataset.theme = isDark ? "light" : "dark";
    this.redraw();
    this.panelOf = "";
    this.drawFrame();
  }

  /** What follows from the sessions played so far. */
  private draw(): void {
    const comparison = this.comparison;
    if (!comparison || !this.prepared) return;
    const { parts } = this;
    const { done, of } = comparison.progress;
    const isWatched = this.prepared.resolved.video !== null;
    const judged = comparison.judged;
    parts.headline.textContent = judged?.headline ?? "The first sessions are being played …";
    parts.verdict.textContent = judged && judged.verdict !== judged.headline ? judged.verdict : "";
    if (!parts.progress.firstChild) parts.progress.append(parts.played, parts.count, parts.stop);
    Object.assign(parts.played, { max: of, value: done });
    parts.count.textContent = `${done} of ${of} sessions`;
    parts.stop.hidden = comparison.isOver;
    parts.progress.dataset.over = String(comparison.isOver);
    this.drawBeside(comparison);
    const sessions = this.sessions();
    const drawn = JSON.stringify([sessions.map((session) => session.record.digest), this.state.view, this.path]);
    if (drawn !== this.drawnSessions) {
      this.drawnSessions = drawn;
      document.documentElement.dataset.digests = sessions.map((session) => `${session.sender}=${session.record.digest}`).join(" ");
      parts.viewers.replaceChildren(sessions.length === 0 ? "" : isWatched ? this.strips.element : this.flows(sessions));
      if (isWatched) this.strips.draw(sessions, this.state.view);
      this.navigation.draw(sessions, this.state.view);
      parts.why.replaceChildren(this.whyStopped(sessions, comparison));
      this.drawPath();
      this.charts.draw(sessions, { ...this.prepared, path: this.path, film: this.film() }, this.state.view);
      this.drawPackets(sessions);
      parts.events.replaceChildren(eventList(sessions, this.state.view));
      const warnings = [...new Set(sessions.flatMap((session) => session.record.warnings))];
      parts.warnings.replaceChildren(...(warnings.length ? [section("warnings", "What makes this say less than it seems", h("ul", {}, ...warnings.map((text) => h("li", {}, text))))] : []));
    }
    if (comparison.judged) parts.ranking.replaceChildren(ranking(comparison.judged, columns(comparison.records).values, comparison.senders, this.metrics, comparison.seeds));
    else parts.ranking.replaceChildren();
  }

  private drawBeside(comparison: Comparison): void {
    const kept = this.state.kept === null ? null : this.kept;
    document.getElementById("beside")!.hidden = kept === null;
    if (kept) this.beside.draw(kept.side, { state: this.state, prepared: this.prepared!, comparison }, this.metrics);
  }

  /** The first seed of each sender, as far as played. */
  private sessions(): Session[] {
    const { senders, sessions } = this.comparison!;
    return senders.map((sender) => sessions.get(sender)).filter((session): session is Session => session !== undefined);
  }

  private drawPackets(sessions: Session[]): void {
    const { element } = this.packets;
    this.packets.draw(sessions, this.path, this.state.packets, this.state.view);
    element.closest("section")!.hidden = element.childElementCount === 0;
  }

  /** Without a video: what each flow got. */
  private flows(sessions: Session[]): HTMLElement {
    const flows = sessions[0]?.record.flows ?? [];
    const rows = flows.map((flow) => h("tr", {}, h("th", { scope: "row" }, flow.name), h("td", {}, flow.cc), h("td", {}, short(flow.goodput_mbps)), h("td", {}, short(flow.mean_rtt_ms)), h("td", {}, String(flow.retransmitted_packets))));
    return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Flows" }, h("table", {}, h("caption", {}, "Nobody watches in this scenario; its flows, in the first seed."), h("thead", {}, h("tr", {}, ...["flow", "control", "goodput (Mbit/s)", "RTT (ms)", "retransmitted"].map((text) => h("th", { scope: "col" }, text)))), h("tbody", {}, ...rows)));
  }

  private film(): { mbps: number; mss: number } | null {
    const { video, sender } = this.prepared!.resolved;
    const mbps = video?.rate ? number(video.rate) : null;
    return mbps === null ? null : { mbps, mss: sender[0]?.mss ?? 0 };
  }

  private whyStopped(sessions: Session[], comparison: Comparison): HTMLElement {
    const { resolved } = comparison.prepared;
    const mss = (sender: string) => resolved.sender.find((one) => one.name === sender)?.mss ?? 0;
    return whyStopped(sessions, { mss, need: resolved.video?.rate ? number(resolved.video.rate) : null, look: (view) => this.look(view) });
  }

  private drawPath(): void {
    const names = this.prepared!.paths.map((path) => path.name);
    const select = h("select", { onchange: () => { this.path = select.selectedIndex; this.redraw(); } }, ...names.map((name, i) => h("option", { selected: i === this.path }, name)));
    this.parts.path.replaceChildren(...(names.length > 1 ? [h("label", { class: "choice" }, "Path of the charts: ", select)] : []));
  }

  private look(view: [number, number] | null): void {
    this.state = { ...this.state, view, packets: { ...this.state.packets, view: null } };
    void this.write();
    this.plan();
  }

  private mapState(): MapState {
    const fallback: MapState = { x: "loss0", y: null, seconds: 120 };
    const wanted = this.state.map ?? fallback;
    return { ...wanted, x: knobOf(this.prepared!, wanted.x) ? wanted.x : "rtt0", y: knobOf(this.prepared!, wanted.y) && wanted.y !== wanted.x ? wanted.y : null };
  }

  private drawMap(): void {
    const map = this.mapState();
    const actions = {
      choose: (chosen: MapState) => {
        this.state = { ...this.state, map: chosen };
        void this.write();
        this.drawMap();
      },
      start: () => this.startMap(map),
      stop: () => this.whatif?.cancel(),
      go: (set: Record<string, string | number>) => {
        this.panelOf = "";
        this.change({ set: { ...this.state.set, ...set }, view: null });
      },
    };
    const isRunning = this.whatif !== null && !this.whatif.isOver;
    const form = JSON.stringify([map, isRunning, this.state.scenario, this.state.text, this.prepared!.paths.length, this.prepared!.resolved.path.map((path) => path.queue.kind)]);
    if (form !== this.mapFormOf) this.parts.mapForm.replaceChildren(mapForm(this.prepared!, map, isRunning, actions));
    this.mapFormOf = form;
    this.parts.map.replaceChildren(...(this.whatif ? [mapView(this.whatif, this.prepared!, this.metrics, actions)] : []));
  }

  /** Shows the map, and plays it unless it is there. */
  private findTurn(): void {
    if (this.whatif === null) this.startMap(this.mapState());
    document.getElementById("whatif")!.scrollIntoView({ behavior: "smooth" });
  }

  private startMap(map: MapState): void {
    this.whatif?.cancel();
    const prepared = this.prepared!;
    const x = knobOf(prepared, map.x)!;
    const y = knobOf(prepared, map.y);
    const length = (number(prepared.resolved.video?.duration) ?? Infinity) / 1e3;
    this.state = { ...this.state, map };
    void this.write();
    this.whatif = new WhatIf(
      {
        text: this.text(), files: this.files(), overrides: { set: overrides(this.state, this.base!) }, senders: this.state.senders, hasVideo: prepared.resolved.video !== null,
        x: { knob: x, value: x.read(prepared) }, y: y && { knob: y, value: y.read(prepared) },
        seconds: map.seconds !== null && map.seconds < length && prepared.resolved.video ? map.seconds : null, seeds: 8,
        costs: new Set([...this.metrics.values()].filter((metric) => prepared.resolved.video !== null && metric.of !== "viewer").map((metric) => metric.name)),
      },
      this.pools, () => this.planMap(),
    );
    this.drawMap();
    this.whatif.run().catch((error: Error) => this.tell(error.message));
  }

  private mapFrame = 0;

  private planMap(): void {
    this.mapFrame ||= requestAnimationFrame(() => {
      this.mapFrame = 0;
      this.drawMap();
    });
  }

  /** A scenario or a bandwidth trace from the reader's disk. */
  private async drop(files: FileList | null): Promise<void> {
    for (const file of files ?? []) {
      if (file.size > LARGEST_FILE) return this.tell(`${file.name}: ${short(file.size / 1e6)} MB; allowed: up to ${LARGEST_FILE / 1e6} MB`);
      const text = await file.text();
      const isScenario = /\.(toml|json)$/i.test(file.name);
      const next: State = isScenario ? { ...start(file.name.replace(/\.\w+$/, ""), []), text, files: this.state.files } : this.withTrace(file.name, text);
      if (!(await this.isPlayable(next, file.name))) return;
      await this.show(next);
    }
  }

  /** The first path follows the trace instead of its constant rate. */
  private withTrace(name: string, text: string): State {
    const { state } = this;
    const set: State["set"] = { ...state.set, "path.0.rate": null, "path.0.trace": name, "path.0.queue": "300 packets" };
    return { ...state, files: { ...state.files, [name]: text }, set, view: null };
  }

  private async isPlayable(state: State, name: string): Promise<boolean> {
    const text = state.text ?? this.text();
    const files = { ...this.shipped.files, ...state.files };
    try {
      const base = (await this.pools.desk.ask("prepare", { text, files, senders: [], overrides: {} })).resolved;
      await this.pools.desk.ask("prepare", { text, files, senders: state.senders, overrides: { set: overrides(state, base) } });
      return true;
    } catch (error) {
      this.tell(`${name}: ${(error as Error).message}`);
      return false;
    }
  }
}
