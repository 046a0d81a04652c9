import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { Engine } from "../src/engine/engine.js";
import { type Case, LESSONS, type Lesson, type Screen, settingsOf } from "../src/model/lessons";
import { decode, encode } from "../src/model/state";
import type { Session } from "../src/model/story";
import { explorerState } from "../src/view/lesson";

const wasm = new URL("../engine/playpath_web.wasm", import.meta.url);

describe.skipIf(!existsSync(wasm))("lessons", () => {
  const engine = existsSync(wasm) ? new Engine(new WebAssembly.Module(readFileSync(wasm))) : (null as never);
  const text = (scenario: string) => readFileSync(new URL(`../../scenarios/${scenario}.toml`, import.meta.url), "utf8");

  function play(lesson: Lesson, screen: Screen, one: Case): Session {
    const files = lesson.files ?? {};
    const toml = engine.ask("edit", { text: text(lesson.scenario), overrides: { set: settingsOf(lesson, screen, one, {}) }, senders: [one.sender], files });
    engine.ask("stage", { resolved: engine.text("resolve", { text: toml, overrides: {}, files }) });
    return { sender: one.name, ...engine.play(one.sender, 1, true) };
  }

  // What a screen explains must be what happens: which option is right, in the order of the screens.
  it.each([["film", [0, 2, 1, 0]], ["queue", [0, 2, 0, 0]], ["loss", [1, 2, 2, 0]]])("%s: the sessions bear the explanations out", { timeout: 120_000 }, (id, right) => {
    const lesson = LESSONS.find((one) => one.id === id)!;
    const answers = lesson.screens.map((screen) => {
      const sessions = screen.cases.map((one) => play(lesson, screen, one));
      const [from, until] = screen.scene.view(sessions);
      expect(until).toBeGreaterThan(from);
      expect(screen.outcome(sessions)).not.toMatch(/NaN|undefined|null/);
      return screen.answer(sessions);
    });
    expect(answers).toEqual(right);
  });

  it("lead to the explorer at their situation", async () => {
    for (const lesson of LESSONS) {
      for (const screen of lesson.screens) {
        const state = (await decode(await encode(explorerState(lesson, screen, { "path.0.rtt": "80 ms" }))))!;
        expect(state.set["path.0.rtt"]).toBe("80 ms");
        const toml = engine.ask("edit", { text: text(state.scenario), overrides: { set: state.set }, senders: state.senders, files: state.files });
        engine.ask("resolve", { text: toml, overrides: {}, files: state.files });
      }
    }
  });
});
