/** Who wins where: the same question over one or two axes, every cell judged by the rule of the comparison. */

import { Withdrawn, type Pool } from "../engine/pool";
import type { EngineRecord, Judged, Overrides, Values } from "../engine/types";
import { columns, textOf } from "./compare";
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
  /** All that is compared: the senders, or each with its choices. */
  compared: string[];
  ecn: boolean;
  hasVideo: boolean;
  x: { knob: Knob; value: number | null };
  y: { knob: Knob; value: number | null } | null;
  /** Length of the film in a cell; null for the scenario's own. */
  seconds: number | null;
  /** Seeds of a cell in the end. */
  seeds: number;
  /** Criteria that no viewer sees. */
  costs: Set<string>;
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
    this.of = this.cells.length * question.compared.length * question.seeds;
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

  /** Along one axis: halves the step where the answer changes, twice. */
  private async refine(): Promise<void> {
    for (let round = 0; round < 2; round++) {
      const between = turns(this.cells, this.question.costs).map(({ from, until }) => Number((from > 0 ? Math.sqrt(from * until) : until / 2).toPrecision(2)));
      const fresh = [...new Set(between)].filter((x) => !this.xs.includes(x)).map((x) => this.cell(x, null));
      this.cells = [...this.cells, ...fresh].sort((a, b) => a.x - b.x);
      this.xs = this.cells.map((cell) => cell.x);
      this.of += fresh.length * this.question.compared.length * this.question.seeds;
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
      const prepared = await pools.desk.ask("prepare", { text: question.text, files: question.files, senders: question.senders, ecn: question.ecn, overrides: { set: this.set(cell) } }, signal);
      const records = new Map<string, (EngineRecord | undefined)[]>(question.compared.map((sender) => [sender, []]));
      const play = async (sender: string, place: number) => {
        const seed = prepared.resolved.run.first_seed + place;
        records.get(sender)![place] = (await pools.stage.ask("play", { text: textOf(prepared, sender), sender, seed, trace: false }, signal)).record;
        if (place >= cell.seeds) this.done += 1;
      };
      await Promise.all(question.compared.flatMap((sender) => Array.from({ length: seeds }, (_, place) => play(sender, place))));
      const { values } = columns(records);
      cell.judged = await pools.desk.ask("judge", { values, hasVideo: question.hasVideo, prefer: prepared.resolved.verdict?.prefer ?? "range", choices: [] }, signal);
      [cell.values, cell.seeds] = [values, seeds];
    } catch (error) {
      if (error instanceof Withdrawn) throw error;
      cell.error = (error as Error).message;
      this.done += question.compared.length * (seeds - cell.seeds);
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

/** Who is ahead for the viewer in a cell; "alike" where no viewer saw a difference between any two; null before it is judged. */
export function winner(cell: Cell, costs: Set<string>): string | null {
  if (!cell.judged) return null;
  const { decision } = cell.judged;
  const [best, ...others] = decision.ranking;
  const isUnseen = (sender: string) => decision.tied.includes(sender) || costs.has(decision.deciding[sender]) || decision.unnoticed.includes(sender);
  return others.length > 0 && others.every(isUnseen) ? "alike" : best;
}

/** Whether the cell's winner is proven against all others. */
export const isProven = (cell: Cell): boolean => cell.judged !== null && cell.judged.decision.open.length === 0;

/** Along one axis: neighbours whose winners differ. */
export function turns(cells: Cell[], costs: Set<string>): { from: number; until: number }[] {
  const found = stretches(cells, costs);
  return found.slice(1).map((stretch, i) => ({ from: found[i].until, until: stretch.from }));
}

/** Neighbours of one winner, from their first value to their last. */
function stretches(cells: Cell[], costs: Set<string>): { who: string; from: number; until: number }[] {
  const found: { who: string; from: number; until: number }[] = [];
  for (const cell of cells) {
    const who = winner(cell, costs);
    const last = found.at(-1);
    if (who !== null && last?.who === who) last.until = cell.x;
    else if (who !== null) found.push({ who, from: cell.x, until: cell.x });
  }
  return found;
}

/** Along one axis: from where to the end of it one sender is proven to be ahead; null if it is not at the end. */
export function provenFrom({ cells, question }: WhatIf): { who: string; from: number } | null {
  const judged = cells.filter((cell) => cell.judged);
  const last = judged.at(-1);
  const who = last ? winner(last, question.costs) : null;
  if (who === null || who === "alike") return null;
  const holds = (cell: Cell) => winner(cell, question.costs) === who && isProven(cell);
  const before = judged.map(holds).lastIndexOf(false);
  return before === judged.length - 1 ? null : { who, from: judged[before + 1].x };
}

const SHOWN = 5;

const said = (who: string): string => (who === "alike" ? "no viewer sees a difference" : `${who} is ahead`);

/** Where the answer changes, in a sentence. */
export function turnSentence(map: WhatIf, label: string): string {
  const { x, y, costs } = map.question;
  const { unit } = x.knob;
  const cells = map.cells.filter((cell) => cell.judged);
  if (cells.length < 2) return "";
  if (y) {
    const counts = new Map<string, number>();
    cells.forEach((cell) => counts.set(winner(cell, costs)!, (counts.get(winner(cell, costs)!) ?? 0) + 1));
    const parts = [...counts].sort((a, b) => b[1] - a[1]).map(([who, count]) => `${said(who)} in ${count}`);
    return `Of ${cells.length} situations: ${parts.join(", ")}.`;
  }
  const found = stretches(cells, costs);
  if (found.length === 1) return `From ${short(found[0].from)} to ${short(found[0].until)} ${unit} ${said(found[0].who)} (${label}).`;
  const clauses = found.map(({ who, from, until }, i) => {
    if (i === 0) return `up to ${short(until)} ${unit} ${said(who)}`;
    return i === found.length - 1 ? `from ${short(from)} ${unit} on ${said(who)}` : `from ${short(from)} to ${short(until)} ${unit} ${said(who)}`;
  });
  const [first] = turns(cells, costs);
  const times = found.length === 2 ? "changes" : `changes ${found.length - 1} times, first`;
  const more = clauses.length > SHOWN ? "; and so on" : "";
  return `The answer ${times} between ${short(first.from)} and ${short(first.until)} ${unit} of ${label}: ${clauses.slice(0, SHOWN).join(", ")}${more}.`;
}
