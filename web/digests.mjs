// One line a run: SCENARIO SENDER SEED DIGEST, of the engine for browsers in Node: `node digests.mjs SECONDS < SCENARIOS`, where
// SCENARIOS is JSON `[{name, text, files}]`. tests/python/test_explorer.py holds it against the native engine.
import { readFileSync } from "node:fs";
import { Stage, initSync, resolve } from "./engine/playpath_web.js";

initSync({ module: readFileSync(new URL("./engine/playpath_web_bg.wasm", import.meta.url)) });
const overrides = JSON.stringify({ set: { "run.duration": `${process.argv[2]} s` } });
for (const { name, text, files } of JSON.parse(readFileSync(0, "utf8"))) {
  const resolved = resolve(text, overrides, JSON.stringify(files));
  const stage = new Stage(resolved);
  for (const { name: sender } of JSON.parse(resolved).sender) {
    const played = stage.play(sender, 1, false);
    console.log(`${name} ${sender} 1 ${JSON.parse(played.record).digest}`);
    played.free();
  }
}
