/** A comparison under way: sessions of every sender, seed after seed, and the verdict on the seeds that all have played. */

import { Withdrawn, type Pool } from "../engine/pool";
import type { EngineRecord, Judged, Prepared, Values } from "../engine/types";
import type { Session } from "./story";

export interface Progress {
  done: number;
  of: number;
}

/** Columns of the seeds that every sender has played; what a record has no value for is null. */
export function columns(records: Map<string, (EngineRecord | undefined)[]>): { values: Values; seeds: number } {
  const lists = [...records.values()];
  const whole = (lists[0] ?? []).map((_, seed) => seed).filter((seed) => lists.every((list) => list[seed]));
  const values: Values = {};
  for (const [sender, list] of records) {
    const names = new Set(whole.flatMap((seed) => Object.keys(list[seed]!.metrics)));
    values[sender] = Object.fromEntries([...names].map((name) => [name, whole.map((seed) => list[seed]!.metrics[name] ?? null)]));
  }
  return { values, seeds: whole.length };
}

/** What plays under a compared name. */
export const textOf = ({ choices, text }: Prepared, name: string): string => choices.find((choice) => choice.name === name)?.text ?? text;

export class Comparison {
  /** All that is compared. */
  readonly senders: string[];
  /** The first seed of each sender, with its series. */
  sessions = new Map<string, Session>();
  records = new Map<string, (EngineRecord | undefined)[]>();
  judged: Judged | null = null;
  /** Seeds in `judged`. */
  seeds = 0;
  progress: Progress;
  isOver = false;
  private withdrawal = new AbortController();
  private looking: Promise<void> | null = null;

  constructor(
    readonly prepared: Prepared,
    private pools: { desk: Pool; stage: Pool },
    private onChange: () => void,
  ) {
    const senders = (this.senders = prepared.resolved.sender.map((sender) => sender.name));
    this.progress = { done: 0, of: senders.length * prepared.resolved.run.seeds };
    senders.forEach((sender) => this.records.set(sender, Array(prepared.resolved.run.seeds).fill(undefined)));
  }

  /** Plays until done, or until `cancel`. Rejects with the engine's one line. */
  async run(): Promise<void> {
    const { first_seed, seeds } = this.prepared.resolved.run;
    const all: Promise<void>[] = [];
    for (let i = 0; i < seeds; i++) {
      for (const sender of this.senders) all.push(this.play(sender, first_seed + i, i));
    }
    try {
      await Promise.all(all);
      await this.judge();
    } catch (error) {
      this.cancel();
      if (!(error instanceof Withdrawn)) throw error;
    }
    this.isOver = true;
    this.onChange();
  }

  /** Ends the sessions under way; what has been played stays. */
  cancel(): void {
    this.withdrawal.abort();
  }

  private async play(sender: string, seed: number, place: number): Promise<void> {
    const trace = place === 0;
    const { record, series } = await this.pools.stage.ask("play", { text: textOf(this.prepared, sender), sender, seed, trace }, this.withdrawal.signal);
    if (trace) this.sessions.set(sender, { sender, record, series });
    this.records.get(sender)![place] = record;
    this.progress.done += 1;
    this.onChange();
    void this.judge().catch(() => undefined); // The last look, which `run` awaits, tells of errors.
  }

  /** Judges the whole seeds until there are no more of them than last time; one look at a time, and who asks meanwhile waits for it. */
  private judge(): Promise<void> {
    return (this.looking ??= this.look().finally(() => (this.looking = null)));
  }

  private async look(): Promise<void> {
    for (let found = columns(this.records); found.seeds !== this.seeds; found = columns(this.records)) {
      const { choices, resolved: { video, verdict } } = this.prepared;
      const question = { values: found.values, hasVideo: video !== null, prefer: verdict?.prefer ?? "range", choices };
      this.judged = await this.pools.desk.ask("judge", question, this.withdrawal.signal);
      this.seeds = found.seeds;
      this.onChange();
    }
  }
}
