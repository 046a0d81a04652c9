// One line a run: SCENARIO SENDER SEED DIGEST, of the engine for browsers in Node: `node digests.mjs SECONDS < SCENARIOS`, where
// SCENARIOS is JSON `[{name, text, files}]`. tests/python/test_explorer.py holds it against the native engine.
import { readFileSync } from "node:fs";
import { Engine } from "./src/engine/engine.js";

const engine = new Engine(new WebAssembly.Module(readFileSync(new URL("./engine/playpath_web.wasm", import.meta.url))));
const overrides = { set: { "run.duration": `${process.argv[2]} s` } };
for (const { name, text, files } of JSON.parse(readFileSync(0, "utf8"))) {
  const resolved = engine.text("resolve", { text, overrides, files });
  engine.ask("stage", { resolved });
  for (const { name: sender } of JSON.parse(resolved).sender) console.log(`${name} ${sender} 1 ${engine.play(sender, 1, false).record.digest}`);
}
