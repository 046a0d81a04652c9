/** Workers that play sessions beside each other. A question can be withdrawn: one that waits is dropped, one under way is ended. */

import type { Asks, Kind } from "./types";

/** What a worker is to the pool; tests have their own. */
export interface WorkerLike {
  postMessage(message: unknown): void;
  terminate(): void;
  onmessage: ((event: MessageEvent) => void) | null;
  onerror: ((event: ErrorEvent) => void) | null;
}

interface Task {
  id: number;
  kind: Kind;
  ask: unknown;
  signal?: AbortSignal;
  resolve: (answer: never) => void;
  reject: (error: Error) => void;
}

interface Slot {
  worker: WorkerLike;
  task: Task | null;
}

export class Withdrawn extends Error {
  constructor() {
    super("withdrawn");
  }
}

export class Pool {
  private slots: Slot[] = [];
  private waiting: Task[] = [];
  private lastId = 0;

  /** `make` gives a worker that has its engine. */
  constructor(private make: () => WorkerLike, readonly size: number) {}

  /** Asks the next free worker. Rejects with the engine's one line, or with `Withdrawn`. */
  ask<K extends Kind>(kind: K, ask: Asks[K]["ask"], signal?: AbortSignal): Promise<Asks[K]["answer"]> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(new Withdrawn());
      const task: Task = { id: ++this.lastId, kind, ask, signal, resolve: resolve as never, reject };
      signal?.addEventListener("abort", () => this.withdraw(task), { once: true });
      this.waiting.push(task);
      this.handOut();
    });
  }

  /** Questions under way. */
  get busy(): number {
    return this.slots.filter((slot) => slot.task).length;
  }

  private handOut(): void {
    while (this.waiting.length > 0) {
      const slot = this.slots.find((one) => !one.task) ?? this.grow();
      if (!slot) return;
      const task = (slot.task = this.waiting.shift()!);
      slot.worker.postMessage({ id: task.id, kind: task.kind, ask: task.ask });
    }
  }

  private grow(): Slot | null {
    if (this.slots.length >= this.size) return null;
    const slot: Slot = { worker: this.make(), task: null };
    slot.worker.onmessage = ({ data }) => this.take(slot, data);
    slot.worker.onerror = (event) => this.take(slot, { id: slot.task?.id, error: event.message || "the worker failed", isBroken: true });
    this.slots.push(slot);
    return slot;
  }

  private take(slot: Slot, data: { id?: number; answer?: unknown; error?: string; isBroken?: boolean }): void {
    const task = slot.task;
    if (!task || data.id !== task.id) return;
    slot.task = null;
    if (data.isBroken) this.drop(slot);
    if (data.error === undefined) task.resolve(data.answer as never);
    else task.reject(new Error(data.error));
    this.handOut();
  }

  private withdraw(task: Task): void {
    // One signal withdraws many questions, each in its turn: none of them may get a new worker meanwhile.
    this.waiting = this.waiting.filter((one) => one !== task && !one.signal?.aborted);
    const slot = this.slots.find((one) => one.task === task);
    if (slot) this.drop(slot);
    task.reject(new Withdrawn());
    this.handOut();
  }

  private drop(slot: Slot): void {
    slot.worker.terminate();
    this.slots = this.slots.filter((one) => one !== slot);
  }
}
