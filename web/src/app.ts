/** The page: one state, played and drawn anew whenever it changes. */

import type { Pool } from "./engine/pool";
import type { ControlEntry, MetricEntry } from "./engine/types";
import { command } from "./model/command";
import { Comparison } from "./model/compare";
import { withFile } from "./model/dropped";
import { featured } from "./model/featured";
import { History } from "./model/history";
import { Preparing, type Ready, type Shipped } from "./model/preparing";
import { type Settings, type State, decode, encode, start } from "./model/state";
import { Answer } from "./view/answer";
import { SideBySide, type Side } from "./view/sidebyside";
import { isDark } from "./view/colours";
import { download, h, section } from "./view/dom";
import { head } from "./view/head";
import { LessonView, lessonList, lessonOf } from "./view/lesson";
import { MapPart } from "./view/map";
import { listen } from "./view/page";
import { panel } from "./view/panel";

/** A scenario that `playpath explore` put into the page. */
export interface Start {
  name: string;
  text: string;
  files: Record<string, string>;
}

const DELAY_MS = 120;

export class App {
  private state: State;
  private readonly preparing: Preparing;
  private ready: Ready | null = null;
  private comparison: Comparison | null = null;
  private metrics = new Map<string, MetricEntry>();
  private controls: ControlEntry[] = [];
  private queues: string[] = [];
  private rules: string[] = [];
  private pacings: string[] = [];
  private panelOf = "";
  /** A phone has room for what is turned most; its answer is near then. */
  private isUnfolded = matchMedia("(min-width: 861px)").matches;
  private timer = 0;
  private frame = 0;
  private turn = 0;
  private hash = "";
  private readonly answer = new Answer({
    look: (view) => this.look(view),
    packets: (packets) => {
      this.state = { ...this.state, packets };
      void this.write();
    },
  });
  private readonly parts = {
    alert: h("p", { role: "alert", class: "alert", hidden: true }),
    status: h("p", { role: "status", class: "status" }),
    lead: h("p", { class: "lead" }, "A server sends a film over a network path. Change the path, choose the senders, and see what the viewers see. Every session is computed here, in this page, packet by packet."),
    head: h("div", { class: "head" }),
    lessons: lessonList((id) => void this.show({ ...this.state, lesson: { id, step: 0 } })),
    columns: h("div", { class: "columns" }),
    panel: h("aside", { "aria-label": "What can be turned" }),
  };

  private readonly lesson: LessonView;
  private readonly history = new History();
  /** What was kept to be compared, and its address. */
  private kept: { side: Side; address: string } | null = null;
  private readonly sideBySide = new SideBySide({ swap: () => void this.swap(), drop: () => void this.letGo() });
  private readonly map: MapPart;

  constructor(private pools: { desk: Pool; stage: Pool }, shipped: Shipped, private given: Start | null, private root: HTMLElement) {
    this.state = start("wireless", featured("wireless", ["cubic", "bbr"]));
    this.preparing = new Preparing(pools.desk, shipped);
    this.lesson = new LessonView(this.preparing, pools.stage, { go: (step) => this.turnPage(step) });
    this.map = new MapPart(pools, { choose: (map) => this.note({ map }), go: (set) => this.goTo(set), fail: (message) => this.tell(message) });
  }

  /** Builds the page, and shows a state. */
  async open(state: State | null, wrong: string | null): Promise<void> {
    const about = await this.pools.desk.ask("about", {});
    about.metrics.forEach((metric) => this.metrics.set(metric.name, metric));
    this.controls = about.controls;
    this.queues = about.queues.map((queue) => queue.name);
    this.rules = about.rules.map((rule) => rule.name);
    this.pacings = about.pacings.map((pacing) => pacing.name);
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
        this.answer.head(parts.alert), this.answer.verdict, parts.status,
        section("beside", "Two situations beside each other", this.sideBySide.element),
        ...this.answer.sections(),
        section("whatif", "What if?", this.map.form, this.map.map),
        this.answer.warnings,
      ),
    );
    this.root.replaceChildren(
      h("header", {}, h("h1", {}, "Which sender keeps the video playing?"), parts.lead, parts.head),
      parts.lessons, this.lesson.element, parts.columns,
      h("footer", {}, h("p", {}, `playpath ${version}. Simulated: the same engine, and for a scenario, sender and seed the same digests, as the installed program. Nothing is sent anywhere. Intervals are over seeds of this one path; they say nothing about other paths. `), h("button", { type: "button", class: "small", onclick: () => pick.click() }, "Open a scenario or a trace"), pick, " (or drop it anywhere on this page)"),
    );
    listen({
      drop: (files) => void this.drop(files),
      undo: () => this.undo(),
      redraw: () => this.redraw(),
      redrawNow: () => {
        this.answer.forget();
        this.draw();
      },
    });
  }

  private change(change: Partial<State>): void {
    this.history.leave(this.state, JSON.stringify([Object.keys(change), this.changed(change.set)]), performance.now());
    const packets = "view" in change ? { ...this.state.packets, view: null } : this.state.packets;
    this.state = { ...this.state, packets, ...change };
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => void this.play(), DELAY_MS);
  }

  /** Keys of settings that are not as they are. */
  private changed(set: Settings = this.state.set): string[] {
    return Object.keys(set).filter((key) => JSON.stringify(set[key]) !== JSON.stringify(this.state.set[key]));
  }

  private undo(): void {
    const before = this.history.back();
    if (before) void this.show(before, true);
  }

  /** Keeps the situation; what is turned from here on is shown beside it. */
  private async keep(): Promise<void> {
    const address = await encode({ ...this.state, kept: null, lesson: null, view: null });
    this.kept = { side: { state: this.state, prepared: this.ready!.prepared, comparison: this.comparison! }, address };
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
    const { prepared } = await this.preparing.ready(state);
    const comparison = new Comparison(prepared, this.pools, () => this.plan());
    this.kept = { side: { state, prepared, comparison }, address };
    await comparison.run();
  }

  private async show(state: State, isUndone = false): Promise<void> {
    if (!isUndone && this.ready) this.history.leave(this.state, "", -Infinity);
    this.state = state;
    this.answer.clear();
    this.panelOf = "";
    this.map.clear();
    await this.play();
  }

  /** Resolves the state's scenario and plays it; what was under way before is ended. */
  private async play(): Promise<void> {
    const turn = ++this.turn;
    if (this.comparison !== this.kept?.side.comparison) this.comparison?.cancel();
    if (this.showLesson()) {
      this.tell(null);
      return this.write();
    }
    const tell = (error: Error) => turn === this.turn && this.tell(error.message);
    try {
      const ready = await this.preparing.ready(this.state);
      if (turn !== this.turn) return;
      this.ready = ready;
      this.state.senders = ready.senders;
    } catch (error) {
      tell(error as Error);
      return;
    }
    this.tell(null);
    await this.write();
    const { prepared } = this.ready;
    this.comparison = new Comparison(prepared, this.pools, () => this.plan());
    this.answer.forget();
    this.drawFrame();
    this.plan();
    this.comparison.run().catch(tell);
    this.playKept(turn).catch(tell);
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
    this.answer.forget();
    this.plan();
  }

  /** What follows from the state alone. */
  private drawFrame(): void {
    const { parts, state } = this;
    const { base, prepared } = this.ready!;
    this.drawHead();
    // A slider under the hand must not be replaced: the panel is drawn anew only where its shape changes.
    const shape = JSON.stringify([state.scenario, state.text, state.senders, state.traffic, state.paths.length, prepared.paths.length, prepared.resolved.path.map((path) => path.queue.kind), prepared.plain.choice, Object.keys(state.files)]);
    if (shape !== this.panelOf || !parts.panel.contains(document.activeElement)) {
      const active = document.activeElement instanceof HTMLInputElement ? document.activeElement.dataset.sender : undefined;
      const own = base.sender.map((sender) => sender.name);
      parts.panel.replaceChildren(panel(state, prepared, { controls: this.controls, queues: this.queues, rules: this.rules, pacings: this.pacings, own, base, isUnfolded: this.isUnfolded }, { change: (change) => this.change(change), unfold: (isOpen) => (this.isUnfolded = isOpen) }));
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
    const { base, prepared } = this.ready!;
    const actions = {
      open: (scenario: string) => void this.show({ ...start(scenario, []), seeds: this.state.seeds }),
      seeds: (seeds: number) => this.change({ seeds }),
      find: () => this.findTurn(),
      undo: () => this.undo(),
      keep: () => void this.keep(),
      copy: (what: "link" | "scenario" | "command") => void this.copy({ link: location.href, scenario: prepared.toml, command: command(this.state, base) }[what], `the ${what}`),
      save: () => download("scenario.toml", new Blob([prepared.toml], { type: "application/toml" })),
      theme: () => this.turnTheme(),
    };
    this.parts.head.replaceChildren(...head(this.state, this.preparing.names, base.description, !this.history.isEmpty, actions));
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
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    this.redraw();
    this.panelOf = "";
    this.drawFrame();
  }

  /** What follows from the sessions played so far. */
  private draw(): void {
    const { comparison, metrics, ready, state } = this;
    if (!comparison || !ready) return;
    this.drawBeside(comparison);
    this.answer.draw({ state, ready, comparison, metrics });
  }

  private drawBeside(comparison: Comparison): void {
    const kept = this.state.kept === null ? null : this.kept;
    document.getElementById("beside")!.hidden = kept === null;
    if (kept) this.sideBySide.draw(kept.side, { state: this.state, prepared: this.ready!.prepared, comparison }, this.metrics);
  }

  private look(view: [number, number] | null): void {
    this.state = { ...this.state, view, packets: { ...this.state.packets, view: null } };
    void this.write();
    this.plan();
  }

  /** Something of the state that plays nothing. */
  private note(change: Partial<State>): void {
    this.state = { ...this.state, ...change };
    void this.write();
    this.drawMap();
  }

  /** To a cell of the map. */
  private goTo(set: Settings): void {
    this.panelOf = "";
    this.change({ set: { ...this.state.set, ...set }, view: null });
  }

  private drawMap(): void {
    const { state, preparing, metrics } = this;
    this.map.draw({ state, ready: this.ready!, text: preparing.text(state), files: preparing.files(state), metrics });
  }

  /** Shows the map, and plays it unless it is there. */
  private findTurn(): void {
    this.map.find();
    document.getElementById("whatif")!.scrollIntoView({ behavior: "smooth" });
  }

  /** A scenario or a bandwidth trace from the reader's disk. */
  private async drop(files: FileList | null): Promise<void> {
    for (const file of files ?? []) {
      try {
        const next = await withFile(this.state, file);
        await this.preparing.ready(next);
        await this.show(next);
      } catch (error) {
        const { message } = error as Error;
        return this.tell(message.startsWith(`${file.name}: `) ? message : `${file.name}: ${message}`);
      }
    }
  }
}
