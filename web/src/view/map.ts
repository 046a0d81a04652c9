/** The part of the page that says where the answer changes: its form, its map, and the sessions that it plays. */

import type { Pool } from "../engine/pool";
import type { MetricEntry } from "../engine/types";
import { overrides } from "../model/knobs";
import { number } from "../model/quantity";
import type { MapState, Settings, State } from "../model/state";
import { WhatIf } from "../model/whatif";
import type { Ready } from "../model/preparing";
import { h } from "./dom";
import { knobOf, mapForm, mapView } from "./whatif";

const SEEDS = 8;
const AT_FIRST: MapState = { x: "loss0", y: null, seconds: 120 };

export interface MapSituation {
  state: State;
  ready: Ready;
  text: string;
  files: Record<string, string>;
  metrics: Map<string, MetricEntry>;
}

export interface MapActions {
  choose: (map: MapState) => void;
  /** Sets the sliders to a cell's situation. */
  go: (set: Settings) => void;
  fail: (message: string) => void;
}

export class MapPart {
  readonly form = h("div", {});
  readonly map = h("div", {});
  private whatif: WhatIf | null = null;
  private drawnForm = "";
  private frame = 0;
  private situation: MapSituation | null = null;

  constructor(private readonly pools: { desk: Pool; stage: Pool }, private readonly actions: MapActions) {}

  draw(situation: MapSituation): void {
    this.situation = situation;
    const { state, ready: { prepared }, metrics } = situation;
    const map = this.chosen();
    const actions = { choose: this.actions.choose, start: () => this.start(), stop: () => this.whatif?.cancel(), go: this.actions.go };
    const isRunning = this.whatif !== null && !this.whatif.isOver;
    const form = JSON.stringify([map, isRunning, state.scenario, state.text, prepared.paths.length, prepared.resolved.path.map((path) => path.queue.kind)]);
    if (form !== this.drawnForm) this.form.replaceChildren(mapForm(prepared, map, isRunning, actions));
    this.drawnForm = form;
    this.map.replaceChildren(...(this.whatif ? [mapView(this.whatif, prepared, metrics, actions)] : []));
  }

  /** Plays the map unless it is there. */
  find(): void {
    if (this.whatif === null) this.start();
  }

  /** Another scenario has another map. */
  clear(): void {
    this.whatif?.cancel();
    this.whatif = null;
  }

  /** As the state has it, as far as there are such knobs. */
  private chosen(): MapState {
    const { state, ready: { prepared } } = this.situation!;
    const wanted = state.map ?? AT_FIRST;
    return { ...wanted, x: knobOf(prepared, wanted.x) ? wanted.x : "rtt0", y: knobOf(prepared, wanted.y) && wanted.y !== wanted.x ? wanted.y : null };
  }

  private start(): void {
    this.whatif?.cancel();
    const map = this.chosen();
    this.actions.choose(map);
    const { state, ready: { base, prepared, senders }, text, files, metrics } = this.situation!;
    const [x, y] = [knobOf(prepared, map.x)!, knobOf(prepared, map.y)];
    const hasVideo = prepared.resolved.video !== null;
    const length = (number(prepared.resolved.video?.duration) ?? Infinity) / 1e3;
    this.whatif = new WhatIf(
      {
        text, files, overrides: { set: overrides(state, base) }, senders, compared: prepared.resolved.sender.map(({ name }) => name), ecn: state.ecn, hasVideo,
        x: { knob: x, value: x.read(prepared) }, y: y && { knob: y, value: y.read(prepared) },
        seconds: map.seconds !== null && map.seconds < length && hasVideo ? map.seconds : null, seeds: SEEDS,
        costs: new Set([...metrics.values()].filter((metric) => hasVideo && metric.of !== "viewer").map((metric) => metric.name)),
      },
      this.pools, () => this.plan(),
    );
    this.draw(this.situation!);
    this.whatif.run().catch((error: Error) => this.actions.fail(error.message));
  }

  private plan(): void {
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      this.draw(this.situation!);
    });
  }
}
