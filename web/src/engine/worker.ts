/** A worker of the page: it has an engine of its own and answers one question at a time. */

import { Engine } from "./engine.js";
import type { Asks, Choice, Kind, Prepared, Resolved } from "./types";

type Answers = { [K in Kind]: (ask: Asks[K]["ask"]) => Asks[K]["answer"] };

const TRACE_BINS = 600;

let engine: Engine;
/** The scenario that is set up: a comparison plays the same one many times. */
let staged = "";

function prepare({ text, overrides, senders, ecn, files }: Asks["prepare"]["ask"]): Prepared {
  engine.ask("resolve", { text, overrides, files }); // Errors refer to the text as it was written.
  let toml: string = engine.ask("edit", { text, overrides, senders, files });
  if (ecn) toml = engine.ask("edit", { text: toml, overrides: { set: Object.fromEntries(senders.map((_, i) => [`sender.${i}.ecn`, true])) }, senders: [], files });
  const resolvedText = engine.text("resolve", { text: toml, overrides: {}, files });
  const plain: Resolved = JSON.parse(resolvedText);
  const { resolved, choices }: { resolved: Resolved; choices: Choice[] } = plain.choice ? engine.ask("vary", { text: toml, files }) : { resolved: plain, choices: [] };
  const traces = resolved.path.map((path) => (path.trace ? engine.ask("preview_trace", { text: path.trace.content, bins: TRACE_BINS }) : null));
  return { toml, text: resolvedText, resolved, plain, choices, paths: engine.ask("path_figures", { resolved: resolvedText }), traces };
}

function play({ text, sender, seed, trace }: Asks["play"]["ask"]): Asks["play"]["answer"] {
  if (text !== staged) {
    staged = "";
    engine.ask("stage", { resolved: text });
    staged = text;
  }
  return engine.play(sender, seed, trace);
}

const answers: Answers = {
  about: () => ({
    version: engine.ask("version"),
    metrics: engine.ask("registry", { kind: "metric" }),
    controls: engine.ask("registry", { kind: "cc" }),
    queues: engine.ask("registry", { kind: "queue" }),
    rules: engine.ask("registry", { kind: "abr" }),
    pacings: engine.ask("registry", { kind: "pacing" }),
  }),
  prepare,
  play,
  judge: ({ values, hasVideo, prefer, choices }) => engine.ask("judge", { values, has_video: hasVideo, prefer, choices: choices.map(({ name, sender, value }) => ({ name, sender, value })) }),
};

/** Numbers of a series go to the page without a copy. */
function transfers(answer: unknown): ArrayBuffer[] {
  const series = (answer as { series?: Record<string, Record<string, Float64Array>> }).series ?? {};
  return Object.values(series).flatMap((columns) => Object.values(columns).map((column) => column.buffer as ArrayBuffer));
}

self.onmessage = ({ data }: MessageEvent) => {
  if (data.module) {
    engine = new Engine(data.module);
    return;
  }
  const { id, kind, ask } = data as { id: number; kind: Kind; ask: never };
  try {
    const answer = answers[kind](ask);
    self.postMessage({ id, answer }, { transfer: transfers(answer) });
  } catch (error) {
    // A trap of WebAssembly leaves the engine unusable; the pool takes another worker.
    self.postMessage({ id, error: error instanceof Error ? error.message : String(error), isBroken: error instanceof WebAssembly.RuntimeError });
  }
};
