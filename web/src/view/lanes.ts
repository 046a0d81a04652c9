/** A lane for each path of a session: packets in a row as bars, single packets as strokes, changes of path as lines between. */

import { tickLabels } from "../model/quantity";
import { valueTicks } from "../model/time";
import { svg } from "./dom";
import { Drawn, FONT, type Titled } from "./drawn";

export interface LanesFigure extends Titled {
  lanes: string[];
  /** Seconds that are shown. */
  view: [number, number];
  /** Packets in a row: as high as their share of the most; `isOwn`: the path before had room. */
  bars: { lane: number; from: number; until: number; share: number; isOwn: boolean; label: string }[];
  strokes: { lane: number; time: number; kind: "packet" | "retransmission" | "copy" }[];
  changes: { from: number; left: number; to: number; entered: number; letter: string; isOwn: boolean; label: string }[];
  /** What the letters stand for. */
  letters: Record<string, string>;
}

const [LANE, BAR, TOP, FOOT, LINE] = [74, 40, 6, 42, 18];
const [LEAST, RIGHT, SLIVER] = [620, 14, 1.5];
const INKS = { packet: "var(--text)", retransmission: "var(--stall)", copy: "var(--soft)" };
const HIGH = { packet: 24, retransmission: 36, copy: 36 };

interface Scale {
  x: (time: number) => number;
  /** Where a lane stands. */
  foot: (lane: number) => number;
}

export class Lanes extends Drawn {
  constructor(private readonly figure: LanesFigure) {
    super("lanes", figure, LEAST);
  }

  protected draw(width: number): SVGElement {
    const { bars, changes, lanes, letters, strokes, title, view: [from, until] } = this.figure;
    const left = 16 + Math.max(...lanes.map((name) => this.measure(name)));
    const signs = [...this.signs(), ...Object.entries(letters).map(([letter, label]) => `${letter}: ${label}`)];
    const head = TOP + LINE * signs.length;
    const bottom = head + LANE * lanes.length;
    const scale: Scale = { x: (time) => left + ((time - from) / (until - from)) * (width - left - RIGHT), foot: (lane) => head + LANE * (lane + 1) - 8 };
    const ticks = valueTicks(0, (until - from) * 1e3, Math.max(3, (width - left) / 90));
    const words = tickLabels(ticks);
    const frame = [
      ...signs.map((label, i) => svg("text", { x: 2, y: TOP + 12 + LINE * i, fill: "var(--soft)" }, this.cut(label, width - 4))),
      ...lanes.flatMap((name, lane) => [svg("line", { x1: left, x2: width - RIGHT, y1: scale.foot(lane), y2: scale.foot(lane), stroke: "var(--line)" }), svg("text", { x: left - 8, y: scale.foot(lane) - 8, "text-anchor": "end", fill: "var(--text)" }, name)]),
      ...ticks.flatMap((value, i) => [svg("line", { x1: scale.x(from + value / 1e3), x2: scale.x(from + value / 1e3), y1: head, y2: bottom, stroke: "var(--line)" }), svg("text", { x: scale.x(from + value / 1e3), y: bottom + 16, "text-anchor": "middle", fill: "var(--soft)" }, words[i])]),
      svg("text", { x: (left + width) / 2, y: bottom + 35, "text-anchor": "middle", fill: "var(--soft)" }, `ms from ${from.toFixed(3)}\u00a0s of the session`),
    ];
    const label = `${title}: ${strokes.length > 0 ? `${strokes.length} packets` : `${bars.length} runs of packets`}, ${changes.length} changes of path`;
    return svg("svg", { viewBox: `0 0 ${width} ${bottom + FOOT}`, role: "img", "aria-label": label, "font-size": FONT, "font-family": "var(--font)" }, ...frame, ...changes.map((one) => this.change(one, scale)), ...bars.map((one) => this.bar(one, scale)), ...strokesOf(strokes, scale));
  }

  private signs(): string[] {
    const found = [["retransmission", "×: sent again"], ["copy", "◇: copy of what another path was given"]].filter(([kind]) => this.figure.strokes.some((one) => one.kind === kind));
    return found.map(([, label]) => label);
  }

  private bar({ lane, from, until, share, isOwn, label }: LanesFigure["bars"][number], { x, foot }: Scale): SVGElement {
    const [left, high] = [x(from), share * BAR];
    const width = Math.max(x(until) - left, SLIVER);
    const top = foot(lane) - high;
    const triangle = isOwn ? [svg("path", { d: `M${left - 4} ${top - 10}h8l-4 7Z`, fill: "var(--stall)" })] : [];
    const group = svg("g", {}, svg("rect", { x: left, y: top, width, height: high, fill: isOwn ? "var(--text)" : "var(--back)", stroke: "var(--text)" }), ...triangle);
    group.addEventListener("pointerenter", () => this.tell([label], left + 8, foot(lane) + 2));
    return group;
  }

  private change({ from, left, to, entered, letter, isOwn, label }: LanesFigure["changes"][number], { x, foot }: Scale): SVGElement {
    const ink = isOwn ? "var(--stall)" : "var(--soft)";
    const name = letter ? [svg("text", { x: x(entered), y: foot(to) - 42, "text-anchor": "middle", fill: ink, "font-size": 12, "font-weight": isOwn ? 700 : 400 }, letter)] : [];
    const group = svg("g", {}, svg("line", { x1: x(left), y1: foot(from), x2: x(entered), y2: foot(to), stroke: ink, "stroke-width": 0.9 }), ...name);
    group.addEventListener("pointerenter", () => this.tell([label], x(entered) + 8, foot(to) + 2));
    return group;
  }

  protected numbers(): string[][] {
    const { bars, changes, lanes, strokes } = this.figure;
    return [
      ["what", "path", "from_s", "until_s", "more"],
      ...bars.map((one) => ["packets in a row", lanes[one.lane], String(one.from), String(one.until), one.label]),
      ...strokes.map((one) => [one.kind, lanes[one.lane], String(one.time), "", ""]),
      ...changes.map((one) => ["change", lanes[one.to], String(one.left), String(one.entered), one.label]),
    ];
  }
}

/** One path of strokes for each kind: there are hundreds. */
function strokesOf(strokes: LanesFigure["strokes"], { x, foot }: Scale): SVGElement[] {
  return (["packet", "retransmission", "copy"] as const).flatMap((kind) => {
    const found = strokes.filter((one) => one.kind === kind).map(({ lane, time }) => [x(time), foot(lane), foot(lane) - HIGH[kind]]);
    if (found.length === 0) return [];
    const d = found.map(([at, low, high]) => `M${at.toFixed(1)} ${low}V${high}`).join("");
    const head = { packet: "", retransmission: "m-3.5 -3.5l7 7m0 -7l-7 7", copy: "m0 -4l4 4l-4 4l-4 -4Z" }[kind];
    const heads = head ? [svg("path", { d: found.map(([at, , high]) => `M${at.toFixed(1)} ${high}${head}`).join(""), fill: "var(--back)", stroke: INKS[kind], "stroke-width": 1.3 })] : [];
    return [svg("path", { d, stroke: INKS[kind], "stroke-width": 1.1 }), ...heads];
  });
}
