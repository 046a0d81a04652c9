// What a session costs in this engine: `node speed.mjs SCENARIO SENDER…` prints seconds of processor time for each sender.
import { readFileSync } from "node:fs";
import { Stage, initSync, resolve } from "./engine/playpath_web.js";

initSync({ module: readFileSync(new URL("./engine/playpath_web_bg.wasm", import.meta.url)) });
const [scenario, ...senders] = process.argv.slice(2);
const stage = new Stage(resolve(readFileSync(new URL(`../scenarios/${scenario}.toml`, import.meta.url), "utf8"), "{}", "{}"));
for (const sender of senders) {
  const times = [1, 2, 3].map((seed) => {
    const before = process.cpuUsage();
    stage.play(sender, seed, false).free();
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1e6;
  });
  console.log(`${scenario} ${sender}: ${times.map((time) => time.toFixed(3)).join(" ")} s`);
}
