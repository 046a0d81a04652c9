import { expect, it } from "vitest";
import type { Pool } from "../src/engine/pool";
import type { Prepared } from "../src/engine/types";
import { Comparison } from "../src/model/compare";

const ended = () => new Promise((resolve) => setTimeout(resolve));

it("is not over before all seeds are judged, though a look at fewer is under way", async () => {
  const prepared = { text: "", choices: [], resolved: { sender: [{ name: "a" }], run: { first_seed: 1, seeds: 2 }, video: null } } as unknown as Prepared;
  const looks: { seeds: number; answer: () => void }[] = [];
  const desk = {
    ask: (_: string, { values }: { values: Record<string, { x: number[] }> }) =>
      new Promise((resolve) => looks.push({ seeds: values.a.x.length, answer: () => resolve({}) })),
  } as unknown as Pool;
  const stage = { ask: async (_: string, { seed }: { seed: number }) => (seed > 1 && (await ended()), { record: { metrics: { x: seed } }, series: {} }) } as unknown as Pool;
  const comparison = new Comparison(prepared, { desk, stage }, () => undefined);
  const run = comparison.run();
  await ended();
  await ended();
  expect(looks.map((look) => look.seeds)).toEqual([1]);
  expect([comparison.progress.done, comparison.isOver]).toEqual([2, false]);
  looks[0].answer();
  await ended();
  expect(looks.map((look) => look.seeds)).toEqual([1, 2]);
  expect(comparison.isOver).toBe(false);
  looks[1].answer();
  await run;
  expect([comparison.seeds, comparison.isOver]).toEqual([2, true]);
});
