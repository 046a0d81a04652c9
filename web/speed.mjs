// What a session costs in this engine: `node speed.mjs SCENARIO SENDER…` prints seconds of processor time for each sender.
import { readFileSync } from "node:fs";
import { Engine } from "./src/engine/engine.js";

const engine = new Engine(new WebAssembly.Module(readFileSync(new URL("./engine/playpath_web.wasm", import.meta.url))));
const [scenario, ...senders] = process.argv.slice(2);
const text = readFileSync(new URL(`../scenarios/${scenario}.toml`, import.meta.url), "utf8");
engine.ask("stage", { resolved: engine.text("resolve", { text, overrides: {}, files: {} }) });
for (const sender of senders) {
  const times = [1, 2, 3].map((seed) => {
    const before = process.cpuUsage();
    engine.play(sender, seed, false);
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1e6;
  });
  console.log(`${scenario} ${sender}: ${times.map((time) => time.toFixed(3)).join(" ")} s`);
}
