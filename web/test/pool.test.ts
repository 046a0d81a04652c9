import { expect, it } from "vitest";
import { Pool, Withdrawn, type WorkerLike } from "../src/engine/pool";

/** A worker that answers when the test says so. */
class Fake implements WorkerLike {
  onmessage: ((event: MessageEvent) => void) | null = null;
  onerror: ((event: ErrorEvent) => void) | null = null;
  asked: { id: number; ask: unknown }[] = [];
  isEnded = false;
  postMessage(message: unknown): void {
    this.asked.push(message as { id: number; ask: unknown });
  }
  terminate(): void {
    this.isEnded = true;
  }
  answer(more: object): void {
    this.onmessage!({ data: { id: this.asked.at(-1)!.id, ...more } } as MessageEvent);
  }
}

function pool(size: number): { pool: Pool; workers: Fake[] } {
  const workers: Fake[] = [];
  const make = () => {
    workers.push(new Fake());
    return workers.at(-1)!;
  };
  return { pool: new Pool(make, size), workers };
}

const question = { values: {}, hasVideo: true, prefer: "range", choices: [] };

it("asks as many workers as it may, and the next when one is free", async () => {
  const { pool: made, workers } = pool(2);
  const answers = [1, 2, 3].map(() => made.ask("judge", question));
  expect(workers).toHaveLength(2);
  workers[0].answer({ answer: "first" });
  expect(await answers[0]).toBe("first");
  expect(workers[0].asked).toHaveLength(2);
});

it("ends a question under way with its worker, and drops one that waits", async () => {
  const { pool: made, workers } = pool(1);
  const withdrawal = new AbortController();
  const two = [made.ask("judge", question, withdrawal.signal), made.ask("judge", question, withdrawal.signal)];
  const third = made.ask("judge", question);
  withdrawal.abort();
  await expect(two[0]).rejects.toBeInstanceOf(Withdrawn);
  await expect(two[1]).rejects.toBeInstanceOf(Withdrawn);
  expect(workers[0].isEnded).toBe(true);
  expect(workers).toHaveLength(2); // not one more for the one that waited
  workers[1].answer({ answer: "third" });
  expect(await third).toBe("third");
});

it("takes another worker after a trap, and keeps one after a plain error", async () => {
  const { pool: made, workers } = pool(1);
  const wrong = made.ask("judge", question);
  workers[0].answer({ error: "one line" });
  await expect(wrong).rejects.toThrow("one line");
  const broken = made.ask("judge", question);
  workers[0].answer({ error: "unreachable", isBroken: true });
  await expect(broken).rejects.toThrow("unreachable");
  void made.ask("judge", question);
  expect(workers).toHaveLength(2);
});
