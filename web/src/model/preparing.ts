/** Situations made ready by the engine: the scenario as it is shipped or was dropped, and as it is turned. */

import type { Pool } from "../engine/pool";
import type { Prepared, Resolved } from "../engine/types";
import { featured } from "./featured";
import { overrides } from "./knobs";
import type { Settings, State } from "./state";

export interface Shipped {
  scenarios: Record<string, string>;
  files: Record<string, string>;
}

export interface Ready {
  /** Without what the reader turned. */
  base: Resolved;
  prepared: Prepared;
  /** Those of the state, or the ones to begin with. */
  senders: string[];
}

export class Preparing {
  private last: { key: string; base: Resolved } | null = null;

  constructor(private readonly desk: Pool, private readonly shipped: Shipped) {}

  get names(): string[] {
    return Object.keys(this.shipped.scenarios);
  }

  text({ text, scenario }: Pick<State, "text" | "scenario">): string {
    const found = text ?? this.shipped.scenarios[scenario];
    if (found === undefined) throw new Error(`there is no scenario “${scenario}”; there are ${this.names.join(", ")}`);
    return found;
  }

  files = ({ files }: Pick<State, "files">): Record<string, string> => ({ ...this.shipped.files, ...files });

  /** Rejects with the engine's one line. */
  async ready(state: State): Promise<Ready> {
    const base = await this.base(state);
    const senders = state.senders.length > 0 ? state.senders : featured(state.scenario, base.sender.map((sender) => sender.name));
    return { base, senders, prepared: await this.ask(state, { ...overrides(state, base), "run.seeds": state.seeds }, senders) };
  }

  async ask(state: Pick<State, "text" | "scenario" | "files" | "ecn">, set: Record<string, unknown> | Settings, senders: string[], signal?: AbortSignal): Promise<Prepared> {
    return this.desk.ask("prepare", { text: this.text(state), files: this.files(state), senders, ecn: state.ecn && senders.length > 0, overrides: { set } }, signal);
  }

  private async base(state: State): Promise<Resolved> {
    const key = JSON.stringify([this.text(state), state.files]);
    if (this.last?.key !== key) this.last = { key, base: (await this.ask(state, {}, [])).plain };
    return this.last.base;
  }
}
