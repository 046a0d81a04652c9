/** What the engine's JSON has, as far as the page looks at it. */

export type Columns = Record<string, Float64Array>;
export type Series = Record<string, Columns>;

export interface PlaybackEvent {
  time_s: number;
  event: string;
  [field: string]: unknown;
}

/** Events and decisions of a congestion control. */
export interface WindowEvent {
  time_s: number;
  path: number;
  event: "loss" | "ecn" | "early_retransmit" | "rto" | "undo" | "window_set" | "phase";
  cwnd_before: number;
  cwnd_after: number;
  phase: string;
}

export interface FlowRecord {
  name: string;
  cc: string;
  goodput_mbps: number;
  mean_rtt_ms: number | null;
  retransmitted_packets: number;
  loss_ratio: number;
}

export interface EngineRecord {
  metrics: Record<string, number | null>;
  flows: FlowRecord[];
  events: PlaybackEvent[];
  warnings: string[];
  digest: string;
  window_events?: Record<string, WindowEvent[]>;
  path_switches?: Record<string, { time_s: number; from: string; to: string; reason: string }[]>;
}

export interface PathFigures {
  name: string;
  rate_mbps: number | null;
  rtt_ms: number;
  loss_percent: number;
}

/** Mbit/s over equal parts of a path's trace. */
export interface TraceFigures {
  period_s: number;
  bins_mbps: number[];
}

/** A scenario with every default written out; only what the page reads is named. */
export interface Resolved {
  name: string;
  description: string;
  video: { rate: string | null; duration: string; [key: string]: unknown } | null;
  player: { kind: string; [key: string]: unknown } | null;
  link: unknown[];
  path: { name: string; queue: { kind: string; limit?: string }; trace?: { content: string }; [key: string]: unknown }[];
  sender: { name: string; cc: { name: string }; mss?: number; transport: { name: string; datagram_bytes?: number } }[];
  traffic: Record<string, unknown>[];
  choice?: Axis[];
  /** What the verdict puts first, where that is not every viewer's weighing. */
  verdict?: { prefer: string };
  run: { seeds: number; first_seed: number; sample_interval: string };
}

export interface Overrides {
  set?: Record<string, unknown>;
}

/** `[[choice]]`: values of a setting that are compared. */
export interface Axis {
  key: string;
  values: unknown[];
}

/** What a compared name stands for, and the text of the scenario that plays under it. */
export interface Choice {
  name: string;
  sender: string;
  value: string;
  text: string;
}

/** A scenario made ready: `toml` is what was edited, `resolved` its JSON as the engine plays it; its senders are all that is compared. */
export interface Prepared {
  toml: string;
  text: string;
  resolved: Resolved;
  /** Without its choices played out. */
  plain: Resolved;
  /** Empty where senders alone are compared. */
  choices: Choice[];
  paths: PathFigures[];
  /** Null for constant rates. */
  traces: (TraceFigures | null)[];
}

export interface Summary {
  mean: number;
  median: number;
  ci95: [number, number] | null;
  min: number;
  max: number;
  n: number;
}

export interface Difference {
  sender: string;
  best: string;
  metric: string;
  mean: number;
  median: number;
  ci95: [number, number] | null;
  n: number;
  noticed: number;
  relation: "alike" | "apart" | "open";
}

export interface Judged {
  headline: string;
  verdict: string;
  criteria: string[];
  decision: {
    ranking: string[];
    ranks: Record<string, number>;
    places: Record<string, [number, number]>;
    beaten: string[];
    tied: string[];
    open: string[];
    /** Of the open ones those of which no session showed a viewer any difference from the best. */
    unnoticed: string[];
    deciding: Record<string, string>;
    more_runs: number | null;
    more_runs_for_viewer: number | null;
  };
  senders: Record<string, Record<string, Summary | null>>;
  differences: Record<string, Difference>;
}

export interface MetricEntry {
  name: string;
  label: string;
  unit: string;
  better: "lower" | "higher" | "neither";
  least: number;
  /** Whose figure it is: "viewer", or the network's. */
  of: string;
  summary: string;
}

export interface ControlEntry {
  name: string;
  summary: string;
  is_coupled: boolean;
}

/** Sender → metric → one value a seed. */
export type Values = Record<string, Record<string, (number | null)[]>>;

export interface Asks {
  about: { ask: Record<string, never>; answer: { version: string; metrics: MetricEntry[]; controls: ControlEntry[]; queues: { name: string }[]; rules: { name: string }[]; pacings: { name: string }[] } };
  prepare: { ask: { text: string; overrides: Overrides; senders: string[]; ecn: boolean; files: Record<string, string> }; answer: Prepared };
  play: { ask: { text: string; sender: string; seed: number; trace: boolean }; answer: { record: EngineRecord; series: Series } };
  judge: { ask: { values: Values; hasVideo: boolean; prefer: string; choices: Choice[] }; answer: Judged };
}

export type Kind = keyof Asks;

/** Bytes of a full packet, as the sender's transport counts its window; 0: it does not say. */
export const packetBytes = (sender: Resolved["sender"][number] | undefined): number => sender?.mss ?? sender?.transport.datagram_bytes ?? 0;
