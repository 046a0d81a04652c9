/** Who wins where: the same question over one or two axes, every cell judged by the rule of the comparison. */

import { Withdrawn, type Pool } from "../engine/pool";
import type { EngineRecord, Judged, Overrides, Values } from "../engine/types";
import { columns } from "./compare";
import { type Knob, around } from "./knobs";
import { short } from "./quantity";

export interface Cell {
  x: number;
  y: number | null;
  judged: Judged | null;
  values: Values;
  seeds: number;
  error: string | null;
}

export interface Question {
  text: string;
  files: Record<string, string>;
  overrides: Overrides;
  senders: string[];
  hasVideo: boolean;
  x: { knob: Knob; value: number | null };
  y: { knob: Knob; value: number | null } | null;
  /** Length of the film in a cell; null for the scenario's own. */
  seconds: number | null;
  /** Seeds of a cell in the end. */
  seeds: number;
}

const ALONG = 11;
const ACROSS = 7;

export class WhatIf {
  xs: number[];
  ys: (number | null)[];
  cells: Cell[];
  done = 0;
  of: number;
  isOver = false;
  private withdrawal = new AbortController();

  constructor(readonly question: Question, private pools: { desk: Pool; stage: Pool }, private onChange: () => void) {
    this.xs = around(question.x.knob, question.x.value, question.y ? ACROSS + 2 : ALONG);
    this.ys = question.y ? around(question.y.knob, question.y.value, ACROSS, 8) : [null];
    this.cells = this.ys.flatMap((y) => this.xs.map((x) => this.cell(x, y)));
    this.of = this.cells.length * question.senders.length * question.seeds;
  }

  async run(): Promise<void> {
    try {
      // The whole map first with few seeds, then with all of them.
      await Promise.all(this.cells.map((cell) => this.fill(cell, Math.min(2, this.question.seeds))));
      await Promise.all(this.cells.map((cell) => this.fill(cell, this.question.seeds)));
      if (!this.question.y) await this.refine();
    } catch (error) {
      if (!(error instanceof Withdrawn)) throw error;
    }
    this.isOver = true;
    this.onChange();
  }

  cancel(): void {
    this.withdrawal.abort();
  }

  /** Along one axis: halves the step where the answer turns, twice. */
  private async refine(): Promise<void> {
    for (let round = 0; round < 2; round++) {
      const between = turns(this.cells).map(({ from, until }) => Number((from > 0 ? Math.sqrt(from * until) : until / 2).toPrecision(2)));
      const fresh = [...new Set(between)].filter((x) => !this.xs.includes(x)).map((x) => this.cell(x, null));
      this.cells = [...this.cells, ...fresh].sort((a, b) => a.x - b.x);
      this.xs = this.cells.map((cell) => cell.x);
      this.of += fresh.length * this.question.senders.length * this.question.seeds;
      await Promise.all(fresh.map((cell) => this.fill(cell, this.question.seeds)));
    }
  }

  private cell(x: number, y: number | null): Cell {
    return { x, y, judged: null, values: {}, seeds: 0, error: null };
  }

  private async fill(cell: Cell, seeds: number): Promise<void> {
    const { question, pools } = this;
    const { signal } = this.withdrawal;
    try {
      const prepared = await pools.desk.ask("prepare", { text: question.text, files: question.files, senders: question.senders, overrides: { set: this.set(cell) } }, signal);
      const records = new Map<string, (EngineRecord | undefined)[]>(question.senders.map((sender) => [sender, []]));
      const play = async (sender: string, place: number) => {
        const seed = prepared.resolved.run.first_seed + place;
        records.get(sender)![place] = (await pools.stage.ask("play", { text: prepared.text, sender, seed, trace: false }, signal)).record;
        if (place >= cell.seeds) this.done += 1;
      };
      await Promise.all(question.senders.flatMap((sender) => Array.from({ length: seeds }, (_, place) => play(sender, place))));
      const { values } = columns(records);
      cell.judged = await pools.desk.ask("judge", { values, hasVideo: question.hasVideo }, signal);
      [cell.values, cell.seeds] = [values, seeds];
    } catch (error) {
      if (error instanceof Withdrawn) throw error;
      cell.error = (error as Error).message;
      this.done += question.senders.length * (seeds - cell.seeds);
    }
    this.onChange();
  }

  private set(cell: Cell): Record<string, unknown> {
    const { question } = this;
    const set: Record<string, unknown> = { ...question.overrides.set, [question.x.knob.key]: question.x.knob.write(cell.x) };
    if (question.y && cell.y !== null) set[question.y.knob.key] = question.y.knob.write(cell.y);
    if (question.seconds !== null) set["video.duration"] = `${question.seconds} s`;
    return set;
  }
}

/** Who is best in a cell: its leader; "alike" where the senders share the first rank; null before it is judged. */
export function winner(cell: Cell): string | null {
  if (!cell.judged) return null;
  const { ranking, ranks } = cell.judged.decision;
  return ranking.length > 1 && ranking.every((sender) => ranks[sender] === 1) ? "alike" : ranking[0];
}

/** Whether the cell's winner is proven against all others. */
export const isProven = (cell: Cell): boolean => cell.judged !== null && cell.judged.decision.open.length === 0;

/** Along one axis: neighbours whose winners differ. */
export function turns(cells: Cell[]): { from: number; until: number; before: string; after: string }[] {
  const judged = cells.filter((cell) => winner(cell) !== null);
  return judged.slice(1).flatMap((cell, i) => {
    const [before, after] = [winner(judged[i])!, winner(cell)!];
    return before === after ? [] : [{ from: judged[i].x, until: cell.x, before, after }];
  });
}

const who = (winner: string): string => (winner === "alike" ? "nobody" : winner);

/** Where the answer turns, in a sentence. */
export function turnSentence(map: WhatIf, label: string): string {
  const { unit } = map.question.x.knob;
  const cells = map.cells.filter((cell) => cell.judged);
  if (cells.length < 2) return "";
  if (map.question.y) {
    const counts = new Map<string, number>();
    cells.forEach((cell) => counts.set(winner(cell)!, (counts.get(winner(cell)!) ?? 0) + 1));
    const parts = [...counts].sort((a, b) => b[1] - a[1]).map(([name, count]) => (name === "alike" ? `in ${count} nobody is ahead` : `${name} is ahead in ${count}`));
    return `Of ${cells.length} situations ${parts.join(", ")}.`;
  }
  const found = turns(map.cells);
  const range = `${short(cells[0].x)} to ${short(cells.at(-1)!.x)} ${unit}`;
  const first = winner(cells[0])!;
  if (found.length === 0) return `${first === "alike" ? "Nobody is ahead" : `${first} is ahead`} all the way: ${label} ${range}.`;
  const told = found.slice(0, 4).map(({ from, until, before, after }) => `from ${who(before)} to ${who(after)} between ${short(from)} and ${short(until)} ${unit}`);
  return `The answer turns ${told.join("; ")}${found.length > 4 ? `; and ${found.length - 4} more times` : ""} (${label}, ${range}).`;
}
