/** What can be undone: states in their order, where turning one knob is one step. */

import type { State } from "./state";

const MOST = 100;
/** Changes of one kind that follow each other so soon are one. */
const ONE_STEP_MS = 1000;

export class History {
  private states: State[] = [];
  private last = { kind: "", at: -Infinity };

  /** `state` is about to be left by a change of a kind; `at` in milliseconds. */
  leave(state: State, kind: string, at: number): void {
    const isSame = kind === this.last.kind && at - this.last.at < ONE_STEP_MS;
    this.last = { kind, at };
    if (isSame) return;
    this.states.push(state);
    if (this.states.length > MOST) this.states.shift();
  }

  /** The state before; undefined if there is none. */
  back(): State | undefined {
    this.last.kind = "";
    return this.states.pop();
  }

  get isEmpty(): boolean {
    return this.states.length === 0;
  }
}
