import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { Engine } from "../src/engine/engine.js";

const module = new WebAssembly.Module(readFileSync(new URL("../engine/playpath_web.wasm", import.meta.url)));
const wireless = readFileSync(new URL("../../scenarios/wireless.toml", import.meta.url), "utf8");

function staged(): Engine {
  const engine = new Engine(module);
  const overrides = { set: { "run.duration": "5 s" } };
  engine.ask("stage", { resolved: engine.text("resolve", { text: wireless, overrides, files: {} }) });
  return engine;
}

it("asks its surroundings for nothing", () => {
  expect(WebAssembly.Module.imports(module)).toEqual([]);
});

it("gives the columns of a series their own numbers", () => {
  const { record, series } = staged().play("cubic", 1, true);
  const [time, ...others] = Object.values(series["flow.video"]);
  expect([...time]).toEqual([...time].sort((a, b) => a - b));
  expect(time.length).toBeGreaterThan(10);
  expect(others.every((column) => column.length === time.length)).toBe(true);
  expect(staged().play("cubic", 1, false)).toEqual({ record: expect.objectContaining({ digest: record.digest }), series: {} });
});

it("says in one line what is wrong, and answers the next question", () => {
  const engine = new Engine(module);
  expect(() => engine.play("cubic", 1, false)).toThrow(/^play: no scenario was set up/);
  expect(() => engine.ask("sing")).toThrow(/^unknown variant `sing`, expected one of `version`.*$/);
  expect(() => engine.ask("resolve", { text: "…", overrides: {}, files: {} })).toThrow();
  expect(engine.ask("registry", { kind: "cc" }).length).toBeGreaterThan(3);
});

it("plays choices as the installed program does: under their names, a queue with the limit of the one in its place", () => {
  const engine = new Engine(module);
  const text = `${wireless}\n[[choice]]\nkey = "path.queue"\nvalues = ["droptail", "fq_codel"]\n`;
  const { resolved, choices } = engine.ask("vary", { text, files: {} });
  const names = choices.map(({ name }: { name: string }) => name);
  expect(resolved.sender.map(({ name }: { name: string }) => name)).toEqual(names);
  expect(names).toContain("cubic · fq_codel");
  const of = (wanted: string) => JSON.parse(choices.find(({ name }: { name: string }) => name === wanted).text);
  expect(of("cubic · fq_codel").path[0].queue).toMatchObject({ kind: "fq_codel", limit: of("cubic · droptail").path[0].queue.limit });
  expect(() => engine.ask("vary", { text: text.replace(', "fq_codel"', ""), files: {} })).toThrow(/a list of two or more/);
});
