/** The time-sequence diagram: every packet as a stroke at its place in the stream, what was lost, acknowledged and allowed. */

import uPlot from "uplot";
import { BY_QUEUE, CAUSES, COPY, NEW, type PacketChoice, type PacketFlow, RETRANSMISSION, counted, ordered, packetFlows, packetWindow, rowAt, rows } from "../model/packets";
import { clock } from "../model/quantity";
import type { Session } from "../model/story";
import { timeLabels, timeTicks } from "../model/time";
import { token } from "./colours";
import { h, svg } from "./dom";
import { sheet } from "./drawing";
import { saveable } from "./saving";

const EXPLAINED = "Each stroke is a packet: to the right when it left the server, upwards where it belongs in the stream. A cross is one that got lost, a thick stroke one that was sent again. The solid line is up to where all has arrived, the dashed one up to where the server may send: between them lies its window. Drag to zoom.";
const HEIGHT = 320;
const NEAR = 12;
const TICK_ROOM = 100;
const MB = 1e6;
/** Of the packets' range so much is kept free above it for the window's edge. */
const HEADROOM = 0.35;

type View = [number, number];

/** A way to draw, and what it stands for. */
interface Sign {
  name: string;
  ink: string;
  width: number;
  dash?: number[];
  label: string;
  /** What the legend shows: a path in a box of 20 by 12. */
  sample: string;
}

const SIGNS: Sign[] = [
  { name: "receive", ink: "soft", width: 1.3, dash: [2, 3], label: "edge of the receiver’s window", sample: "M0 6H20" },
  { name: "window", ink: "text", width: 1.3, dash: [6, 4], label: "edge of the sender’s window", sample: "M0 6H20" },
  { name: "acked", ink: "text", width: 1.6, label: "acknowledged without a gap", sample: "M0 9H10V3H20" },
  { name: "sent", ink: "main", width: 1.6, label: "packet", sample: "M10 2V10" },
  { name: "sacked", ink: "playing", width: 3, label: "acknowledged beyond a gap (SACK)", sample: "M10 2V10" },
  { name: "again", ink: "sender1", width: 3.4, label: "sent again", sample: "M10 2V10" },
  { name: "copy", ink: "sender7", width: 1.6, label: "copy of what another path was given", sample: "M10 2L14 6L10 10L6 6Z" },
  { name: "lost", ink: "stall", width: 2, label: "lost on the channel", sample: "M6 2L14 10M14 2L6 10" },
  { name: "dropped", ink: "stall", width: 2, label: "dropped by the queue", sample: "M5 6H15M10 1V11" },
];

/** Shortest strokes, in units: a packet sent again must be found where others are a dot. */
const LEAST: Record<string, number> = { sent: 0.35, sacked: 0.35, again: 1 };

/** From seconds and bytes to a place on the paper. */
interface Scales {
  x: (time: number) => number;
  y: (offset: number) => number;
  /** Length of a small mark. */
  unit: number;
}

export class PacketView {
  readonly element = h("div", { class: "packets" });
  private plot: uPlot | null = null;
  private observer = new ResizeObserver(() => this.fit());

  constructor(private onChoice: (choice: PacketChoice) => void) {
    this.observer.observe(this.element);
  }

  /** `zoomed` is the part that the charts show. */
  draw(sessions: Session[], path: number, choice: PacketChoice, zoomed: View | null): void {
    this.plot?.destroy();
    this.plot = null;
    const flows = packetFlows(sessions);
    const found = flows.find((flow) => flow.label === choice.of) ?? flows.find((flow) => Number(flow.session.record.metrics.stall_count) > 0) ?? flows[0];
    if (!found) return this.element.replaceChildren();
    const flow = { ...found, drops: ordered(found.drops) };
    const view = packetWindow(flow, path, choice, zoomed);
    const bytes = range(flow, path, view);
    const body = h("div", { class: "plot" });
    this.plot = this.make(flow, path, view, bytes, body);
    const figure = h("figure", { id: "chart-packets" });
    figure.append(h("figcaption", {}, h("h3", {}, `Packets of ${flow.label}: place in the stream over time`), bytes ? this.saving(figure, flow, path, view) : ""), body, bytes ? legend(flow, path, view, bytes) : "");
    this.element.replaceChildren(
      h("p", { class: "note screen" }, EXPLAINED),
      this.controls(flows, flow, view),
      h("p", { class: "note", "aria-live": "polite" }, bytes ? `From ${clock(view[0])} to ${clock(view[1])}: ${counted(flow, path, view)}.` : this.missing(flow, path, view)),
      figure,
    );
    this.fit();
  }

  private missing(flow: PacketFlow, path: number, view: View): string {
    const times = flow.sent.time_s.filter((_, i) => flow.sent.path[i] === path);
    const kept = times.length ? `packets are kept from ${clock(times[0])} to ${clock(times[times.length - 1])}` : "no packets were kept on this path";
    return `From ${clock(view[0])} to ${clock(view[1])} nothing was sent, or not kept: ${kept}.`;
  }

  private controls(flows: PacketFlow[], flow: PacketFlow, view: View): HTMLElement {
    const of = flow.label;
    const select = h("select", { "aria-label": "Packets of", onchange: () => this.onChoice({ of: flows[select.selectedIndex].label, view: null }) }, ...flows.map(({ label }) => h("option", { selected: label === of }, label)));
    const width = view[1] - view[0];
    const move = (from: number, until: number) => this.onChoice({ of, view: [Math.max(0, from), Math.max(0, from) + (until - from)] });
    const button = (label: string, description: string, act: () => void) => h("button", { type: "button", class: "small", "aria-label": description, onclick: act }, label);
    return h(
      "div", { class: "packet-controls" },
      flows.length > 1 && h("label", { class: "choice" }, "Packets of ", select),
      button("◀ Earlier", "Earlier packets", () => move(view[0] - width / 2, view[1] - width / 2)),
      button("Later ▶", "Later packets", () => move(view[0] + width / 2, view[1] + width / 2)),
      button("+", "Fewer packets, larger", () => move(view[0] + width / 4, view[1] - width / 4)),
      button("−", "More packets, smaller", () => move(view[0] - width / 2, view[1] + width / 2)),
      button("What mattered", "What mattered: back to the cut of the window", () => this.onChoice({ of, view: null })),
    );
  }

  private saving(figure: HTMLElement, flow: PacketFlow, path: number, view: View): HTMLElement {
    const title = `Packets of ${flow.label}`;
    return saveable(figure, {
      name: "packets", title,
      picture: () => new Promise((resolve) => this.plot!.ctx.canvas.toBlob(resolve)),
      drawing: () => drawn(this.plot!, flow, path, view, title),
      numbers: () => table(flow, path, view),
    });
  }

  private make(flow: PacketFlow, path: number, view: View, bytes: View | null, body: HTMLElement): uPlot | null {
    if (!bytes) return null;
    const grid = { stroke: token("line"), width: 1 };
    const axis = { stroke: token("text"), grid, ticks: grid };
    const digits = (splits: number[]) => Math.max(0, -Math.floor(Math.log10(splits[1] - splits[0] || 1) + 1e-9));
    const tip = h("div", { class: "tip", hidden: true });
    const plot = new uPlot(
      {
        width: 600, height: HEIGHT, padding: [8, 14, 0, 0],
        cursor: { drag: { x: true, y: false, setScale: false }, points: { show: false } },
        legend: { show: false },
        scales: { x: { time: false, range: () => view }, y: { range: () => [bytes[0] / MB, bytes[1] / MB] } },
        axes: [
          { ...axis, size: 30, splits: (plot, _, min, max) => timeTicks(min, max, plot.bbox.width / devicePixelRatio / TICK_ROOM), values: (_, splits) => timeLabels(splits) },
          { ...axis, size: 64, label: "MB from the start", labelSize: 18, values: (_, splits) => splits.map((value) => value.toFixed(digits(splits))) },
        ],
        series: [{}, { stroke: "transparent", paths: () => null, points: { show: false } }],
        hooks: {
          draw: [(drawn) => paint(drawn, flow, path, view)],
          setSelect: [(selected) => {
            const { left, width } = selected.select;
            if (width > 4) this.onChoice({ of: flow.label, view: [selected.posToVal(left, "x"), selected.posToVal(left + width, "x")] });
          }],
          setCursor: [(moved) => showTip(moved, tip, flow, path, view)],
        },
      },
      [view, [bytes[0] / MB, bytes[1] / MB]], body,
    );
    plot.over.addEventListener("dblclick", () => this.onChoice({ of: flow.label, view: null }));
    plot.over.append(tip);
    plot.ctx.canvas.setAttribute("role", "img");
    plot.ctx.canvas.setAttribute("aria-label", `Packets of ${flow.label} from ${clock(view[0])} to ${clock(view[1])}: ${counted(flow, path, view)}`);
    return plot;
  }

  private fit(): void {
    const width = this.element.clientWidth;
    if (width > 0 && this.plot && this.plot.width !== width) this.plot.setSize({ width, height: HEIGHT });
  }
}

/** The part of the stream in which something is sent, with room for the window's edge; null if nothing is. */
function range(flow: PacketFlow, path: number, view: View): View | null {
  const sent = rows(flow.sent, path, view);
  if (sent.length === 0) return null;
  const answers = rows(flow.acks, path, view);
  let [low, high] = [Infinity, 0];
  for (const i of sent) [low, high] = [Math.min(low, flow.sent.offset[i]), Math.max(high, flow.sent.offset[i] + flow.sent.bytes[i])];
  const edge = answers.reduce((most, i) => Math.max(most, flow.acks.window[i]), high);
  if (answers.length > 0) low = Math.min(low, flow.acks.acked[answers[0]]);
  const span = high - low;
  return [Math.max(0, low - 0.04 * span), Math.min(edge, high + HEADROOM * span) + 0.04 * span];
}

/** What each sign draws, as the data of an SVG path; marks that would fall on the one before are left out. */
function shapes(flow: PacketFlow, path: number, view: View, { x, y, unit }: Scales): Map<string, string> {
  const parts = new Map<string, string[]>(SIGNS.map(({ name }) => [name, []]));
  const last = new Map<string, string>();
  const mark = (name: string, left: number, low: number, high: number, make: (l: string, t: string, b: string) => string) => {
    const spot = `${Math.round(left)} ${Math.round(low)}`;
    if (last.get(name) === spot) return;
    last.set(name, spot);
    parts.get(name)!.push(make(left.toFixed(1), high.toFixed(1), low.toFixed(1)));
  };
  const stroke = (name: string, time: number, from: number, until: number) => {
    const [low, high] = [y(from), y(until)];
    mark(name, x(time), low, Math.min(high, low - LEAST[name] * unit), (l, top, bottom) => `M${l} ${bottom}V${top}`);
  };
  const { sent, acks, sacks, drops } = flow;
  for (const i of rows(sent, path, view)) {
    const [time, from, until] = [sent.time_s[i], sent.offset[i], sent.offset[i] + sent.bytes[i]];
    if (sent.kind[i] === COPY) mark("copy", x(time), y(until), y(from), (l, top, bottom) => `M${l} ${bottom}l${unit / 2} ${-unit / 2}l${-unit / 2} ${-unit / 2}l${-unit / 2} ${unit / 2}ZM${l} ${top}V${bottom}`);
    else stroke(sent.kind[i] === RETRANSMISSION ? "again" : "sent", time, from, until);
  }
  for (const i of rows(sacks, path, view)) stroke("sacked", sacks.time_s[i], sacks.from[i], sacks.until[i]);
  const arm = unit / 2;
  for (const i of rows(drops, path, view)) {
    const isQueue = BY_QUEUE.has(drops.cause[i]);
    const middle = y(drops.offset[i] + (sent.bytes[0] ?? 0) / 2);
    mark(isQueue ? "dropped" : "lost", x(drops.time_s[i]), middle, middle, (l, top) => (isQueue ? `M${l} ${top}m${-arm} 0h${unit}m${-arm} ${-arm}v${unit}` : `M${l} ${top}m${-arm} ${-arm}l${unit} ${unit}m0 ${-unit}l${-unit} ${unit}`));
  }
  const line = (name: string, values: Float64Array) => parts.get(name)!.push(staircase(acks.time_s, values, known(acks, path, view), { x, y }, x(view[1])));
  if (acks.acked) {
    line("acked", acks.acked);
    line("window", acks.window);
    line("receive", acks.receive_window);
  }
  return new Map([...parts].map(([name, found]) => [name, found.join("")]));
}

/** The ACKs of a part, and the one before. */
function known(acks: PacketFlow["acks"], path: number, view: View): number[] {
  let before = rowAt(acks.time_s, view[0]) - 1;
  while (before >= 0 && acks.path[before] !== path) before -= 1;
  return [...(before >= 0 ? [before] : []), ...rows(acks, path, view)];
}

/** A value that holds until the next; where several fall on one place of the axis, the last. */
function staircase(times: Float64Array, values: Float64Array, at: number[], { x, y }: Pick<Scales, "x" | "y">, end: number): string {
  const parts: string[] = [];
  let drawn = -Infinity;
  at.forEach((i, k) => {
    const [left, next] = [x(times[i]), k + 1 < at.length ? x(times[at[k + 1]]) : end];
    if (!Number.isFinite(values[i]) || (next - drawn < 0.7 && k + 1 < at.length)) return;
    drawn = left;
    const height = y(values[i]).toFixed(1);
    parts.push(parts.length ? `H${left.toFixed(1)}V${height}` : `M${left.toFixed(1)} ${height}`);
  });
  return parts.length ? `${parts.join("")}H${end.toFixed(1)}` : "";
}

function paint(plot: uPlot, flow: PacketFlow, path: number, view: View): void {
  const { ctx, bbox } = plot;
  const ratio = devicePixelRatio;
  const scales = { x: (time: number) => plot.valToPos(time, "x", true), y: (offset: number) => plot.valToPos(offset / MB, "y", true), unit: 9 * ratio };
  const found = shapes(flow, path, view, scales);
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  for (const { name, ink, width, dash } of SIGNS) {
    ctx.strokeStyle = token(ink);
    ctx.lineWidth = width * ratio;
    ctx.setLineDash((dash ?? []).map((length) => length * ratio));
    ctx.stroke(new Path2D(found.get(name)));
  }
  ctx.restore();
}

/** What is in this part, with the sign of each. */
function legend(flow: PacketFlow, path: number, view: View, bytes: View): HTMLElement {
  const found = shapes(flow, path, view, { x: (time) => 1e4 * time, y: (offset) => offset, unit: 1 });
  const isBeyond = !known(flow.acks, path, view).some((i) => flow.acks.receive_window[i] <= bytes[1]);
  const shown = SIGNS.filter(({ name }) => found.get(name) && !(name === "receive" && isBeyond)).reverse();
  return h("ul", { class: "signs" }, ...shown.map((sign) => h("li", {}, svg("svg", { viewBox: "0 0 20 12", width: 20, height: 12, "aria-hidden": "true" }, svg("path", { d: sign.sample, fill: "none", stroke: `var(--${sign.ink})`, "stroke-width": sign.width, "stroke-dasharray": sign.dash?.join(" ") ?? null })), sign.label)));
}

/** The nearest thing under the cursor, in words. */
function showTip(plot: uPlot, tip: HTMLElement, flow: PacketFlow, path: number, view: View): void {
  const { left = -1, top = -1 } = plot.cursor;
  const label = left < 0 ? null : nearest(plot, flow, path, view, left, top);
  tip.hidden = label === null;
  if (label === null) return;
  tip.textContent = label;
  const isRight = left > plot.over.clientWidth / 2;
  tip.style.left = isRight ? "" : `${left + 12}px`;
  tip.style.right = isRight ? `${plot.over.clientWidth - left + 12}px` : "";
  tip.style.top = `${Math.max(0, Math.min(top + 10, plot.over.clientHeight - 40))}px`;
}

function nearest(plot: uPlot, flow: PacketFlow, path: number, view: View, left: number, top: number): string | null {
  const around: View = [Math.max(view[0], plot.posToVal(left - NEAR, "x")), Math.min(view[1], plot.posToVal(left + NEAR, "x"))];
  let [best, label]: [number, string | null] = [NEAR, null];
  const offer = (time: number, offset: number, text: () => string) => {
    const distance = Math.hypot(plot.valToPos(time, "x") - left, plot.valToPos(offset / MB, "y") - top);
    if (distance < best) [best, label] = [distance, text()];
  };
  const { sent, acks, sacks, drops } = flow;
  const place = (offset: number) => `byte ${offset.toLocaleString("en")}`;
  const at = (time: number) => `${time.toFixed(3)} s`;
  const kinds = { [NEW]: "sent", [RETRANSMISSION]: "sent again", [COPY]: "sent as a copy of what another path was given" };
  for (const i of rows(drops, path, around)) offer(drops.time_s[i], drops.offset[i] + (sent.bytes[0] ?? 0) / 2, () => `${at(drops.time_s[i])}: ${place(drops.offset[i])} ${CAUSES[drops.cause[i]]}`);
  for (const i of rows(sent, path, around)) offer(sent.time_s[i], sent.offset[i] + sent.bytes[i] / 2, () => `${at(sent.time_s[i])}: ${place(sent.offset[i])} and ${sent.bytes[i] - 1} more ${kinds[sent.kind[i]]}`);
  for (const i of rows(sacks, path, around)) offer(sacks.time_s[i], (sacks.from[i] + sacks.until[i]) / 2, () => `${at(sacks.time_s[i])}: SACK: ${place(sacks.from[i])} to ${(sacks.until[i] - 1).toLocaleString("en")} arrived`);
  for (const i of rows(acks, path, around)) offer(acks.time_s[i], acks.acked[i], () => `${at(acks.time_s[i])}: ACK: all up to ${place(acks.acked[i])} arrived; the window ends at ${place(Math.round(acks.window[i]))}`);
  return label;
}

/** The part as an SVG file that needs no page around it. */
function drawn(plot: uPlot, flow: PacketFlow, path: number, view: View, title: string): string {
  return sheet(plot, `${title}: MB from the start`, ({ x, y }) => {
    const found = shapes(flow, path, view, { x, y: (offset) => y(offset / MB), unit: 8 });
    return SIGNS.filter(({ name }) => found.get(name)).map(({ name, ink, width, dash, label }) => ({ d: found.get(name)!, ink: token(ink), width, dash, name: label }));
  });
}

function table(flow: PacketFlow, path: number, view: View): string[][] {
  const { sent, acks, sacks, drops } = flow;
  const lines: [number, ...(string | number)[]][] = [
    ...rows(sent, path, view).map((i): [number, ...(string | number)[]] => [sent.time_s[i], ["packet", "retransmission", "copy"][sent.kind[i]], sent.offset[i], sent.offset[i] + sent.bytes[i], ""]),
    ...rows(drops, path, view).map((i): [number, ...(string | number)[]] => [drops.time_s[i], CAUSES[drops.cause[i]], drops.offset[i], "", ""]),
    ...rows(acks, path, view).map((i): [number, ...(string | number)[]] => [acks.time_s[i], "ack", "", acks.acked[i], acks.window[i]]),
    ...rows(sacks, path, view).map((i): [number, ...(string | number)[]] => [sacks.time_s[i], "sack", sacks.from[i], sacks.until[i], ""]),
  ];
  lines.sort((a, b) => a[0] - b[0]);
  return [["time_s", "what", "from_byte", "until_byte", "window_edge_byte"], ...lines.map((line) => line.map(String))];
}
