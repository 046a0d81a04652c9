/** A worker of the page: it has an engine of its own and answers one question at a time. */

import { Stage, edit, initSync, judge, path_figures, preview_trace, registry, resolve, version } from "../../engine/playpath_web.js";
import type { Asks, Kind, Prepared, Resolved, Series } from "./types";

type Answers = { [K in Kind]: (ask: Asks[K]["ask"]) => Asks[K]["answer"] };

const TRACE_BINS = 600;

/** The stage of the last scenario: a comparison plays the same one many times. */
let stage: { text: string; stage: Stage } | null = null;

function stageOf(text: string): Stage {
  if (stage?.text !== text) {
    stage?.stage.free();
    stage = null;
    stage = { text, stage: new Stage(text) };
  }
  return stage.stage;
}

function prepare({ text, overrides, senders, files }: Asks["prepare"]["ask"]): Prepared {
  const [given, known] = [JSON.stringify(overrides), JSON.stringify(files)];
  resolve(text, given, known); // What is wrong is told of the text as it was written.
  const toml = edit(text, given, JSON.stringify(senders), known);
  const resolvedText = resolve(toml, "{}", known);
  const resolved: Resolved = JSON.parse(resolvedText);
  const traces = resolved.path.map((path) => (path.trace ? JSON.parse(preview_trace(path.trace.content, TRACE_BINS)) : null));
  return { toml, text: resolvedText, resolved, paths: JSON.parse(path_figures(resolvedText)), traces };
}

const answers: Answers = {
  about: () => ({
    version: version(),
    metrics: JSON.parse(registry("metric")),
    controls: JSON.parse(registry("cc")),
    queues: JSON.parse(registry("queue")),
    rules: JSON.parse(registry("abr")),
  }),
  prepare,
  play: ({ text, sender, seed, trace }) => {
    const played = stageOf(text).play(sender, seed, trace);
    try {
      return { record: JSON.parse(played.record), series: played.series() as Series };
    } finally {
      played.free();
    }
  },
  judge: ({ values, hasVideo }) => JSON.parse(judge(JSON.stringify(values), hasVideo)),
};

/** Numbers of a series go to the page without a copy. */
function transfers(answer: unknown): ArrayBuffer[] {
  const series = (answer as { series?: Record<string, Record<string, Float64Array>> }).series ?? {};
  return Object.values(series).flatMap((columns) => Object.values(columns).map((column) => column.buffer as ArrayBuffer));
}

self.onmessage = ({ data }: MessageEvent) => {
  if (data.module) {
    initSync({ module: data.module });
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
