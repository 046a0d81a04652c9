/** A path with its packets on their way, the queue before the link, the player's buffer and the picture: a session as it happens. */

import { packetFlows, rowAt } from "../model/packets";
import { clock, withUnit } from "../model/quantity";
import { type Session, type Span, at, filmstrip } from "../model/story";
import { token } from "./colours";
import { h } from "./dom";
import { inkOf } from "./spread";

/** A session, and what its path and player are like. */
export interface Lane {
  name: string;
  place: number;
  session: Session;
  link: string;
  rate_mbps: number;
  one_way_s: number;
  /** Whether all packets wait in one queue, in the order in which they came. */
  isFifo: boolean;
  /** Seconds of film that the player holds at most. */
  room_s: number;
}

const HEIGHT = 112;
const [SERVER, VIEWER, DOT] = [14, 128, 2.6];
const LEAST_WAIT = 0.03;
/** Seconds on the screen for which a lost packet is seen. */
const FALL = 0.9;
const ROWS = 5;
/** Of the line of words, which a reader cannot follow more often. */
const UPDATE_EVERY_MS = 250;

export class Scene {
  readonly element = h("div", { class: "scene" });
  private lanes: { lane: Lane; canvas: HTMLCanvasElement; words: HTMLElement; spans: Span[]; lost: Map<number, number> }[] = [];
  private view: [number, number] = [0, 1];
  private pace = 1;
  private now = 0;
  private frame = 0;
  private updatedAt = 0;
  private longest = LEAST_WAIT;
  private readonly button = h("button", { type: "button", class: "main", onclick: () => (this.frame ? this.pause() : this.play()) }, "Play");
  private readonly range = h("input", { type: "range", "aria-label": "Time of the session", oninput: () => { this.pause(); this.go(this.range.valueAsNumber); } });
  private readonly clock = h("span", { class: "note" });
  private readonly observer = new ResizeObserver(() => this.paint());

  constructor(private readonly onTime: (time: number) => void) {
    this.observer.observe(this.element);
  }

  draw(lanes: Lane[], view: [number, number], pace: number): void {
    this.pause();
    [this.view, this.pace, this.now] = [view, pace, view[0]];
    this.longest = Math.max(LEAST_WAIT, ...lanes.map((lane) => longestWait(lane, view)));
    this.lanes = lanes.map((lane) => {
      const lost = new Map<number, number>();
      const drops = lane.session.series["drops.video"];
      drops?.offset.forEach((offset, i) => lost.set(offset, drops.time_s[i]));
      return { lane, canvas: h("canvas", { role: "img", "aria-label": `${lane.name}: server, queue, link, and the viewer’s picture` }), words: h("p", { class: "words" }), spans: filmstrip(lane.session.record), lost };
    });
    Object.assign(this.range, { min: String(view[0]), max: String(view[1]), step: String((view[1] - view[0]) / 400), value: String(view[0]) });
    const slow = pace === 1 ? "in real time" : pace < 1 ? `${Math.round(1 / pace)} times slower than it was` : `${pace} times faster than it was`;
    this.element.replaceChildren(
      ...this.lanes.flatMap(({ canvas, words }) => [words, canvas]),
      h("p", { class: "scene-controls" }, this.button, this.range, this.clock),
      h("p", { class: "note" }, `A dot is a packet of the film, ${slow}. Grey: what others have in the queue. A cross is a packet that got lost; a ring is one that was sent again.`),
    );
    this.go(view[0]);
  }

  /** Shows nothing. */
  clear(): void {
    this.pause();
    this.lanes = [];
    this.element.replaceChildren();
  }

  play(): void {
    if (this.now >= this.view[1]) this.now = this.view[0];
    let before = performance.now();
    this.button.textContent = "Pause";
    const step = (moment: number) => {
      this.frame = requestAnimationFrame(step);
      this.go(Math.min(this.view[1], this.now + ((moment - before) / 1e3) * this.pace));
      before = moment;
      if (this.now >= this.view[1] || !this.element.isConnected) this.pause();
    };
    this.frame = requestAnimationFrame(step);
  }

  pause(): void {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    this.button.textContent = "Play";
  }

  private go(time: number): void {
    this.now = time;
    this.range.value = String(time);
    this.onTime(time);
    this.paint();
    if (this.frame && performance.now() - this.updatedAt < UPDATE_EVERY_MS) return;
    this.updatedAt = performance.now();
    this.clock.textContent = clock(time);
    const words = this.lanes.map((one) => {
      const text = inWords(one.lane, one.spans, time);
      one.words.replaceChildren(...(this.lanes.length > 1 ? [swatch(one.lane.place), h("b", {}, one.lane.name), ": "] : []), text);
      return `${one.lane.name}: ${text}`;
    });
    this.range.setAttribute("aria-valuetext", `${clock(time)}. ${words.join(" ")}`);
  }

  private paint(): void {
    for (const one of this.lanes) paint(one.canvas, one.lane, one.spans, one.lost, this.now, this.longest, this.pace);
  }
}

function swatch(place: number): HTMLElement {
  const made = h("i", { class: "swatch" });
  made.style.background = inkOf(place);
  return made;
}

const showing = (spans: Span[], time: number): Span["kind"] => spans.find((span) => span.until > time)?.kind ?? "playing";

function inWords({ session, ...lane }: Lane, spans: Span[], time: number): string {
  const window = at(session.series, "flow.video", "snd_cwnd", time);
  const level = at(session.series, "player", "buffer_level_s", time) ?? 0;
  const picture = { playing: "the film plays", stalled: "the picture stands still", waiting: "the film has not begun" }[showing(spans, time)];
  return `window ${window === null ? "–" : Math.round(window)} packets, wait in the queue ${withUnit(Math.round(1e3 * waitAt({ session, ...lane }, time)), "ms")}, in the buffer ${level.toFixed(1)}\u00a0s: ${picture}.`;
}

/** Between two samples on the straight line. */
function between(times: Float64Array, values: Float64Array, time: number): number {
  const i = rowAt(times, time);
  if (i === 0) return values[0] ?? 0;
  if (i >= times.length) return values[times.length - 1] ?? 0;
  const share = (time - times[i - 1]) / (times[i] - times[i - 1] || 1);
  return values[i - 1] + share * (values[i] - values[i - 1]);
}

/** Seconds that a packet of the film waits which comes to the queue at a time. */
function waitAt({ session, link, rate_mbps, one_way_s, isFifo }: Lane, time: number): number {
  const queue = session.series[link];
  if (isFifo && queue) return (between(queue.time_s, queue.queue_bytes, time) * 8) / (rate_mbps * 1e6);
  const flow = session.series["flow.video"];
  return Math.max(0, between(flow.time_s, flow.rtt_ms, time) / 1e3 - 2 * one_way_s);
}

function longestWait(lane: Lane, [from, until]: [number, number]): number {
  return Math.max(...Array.from({ length: 101 }, (_, i) => waitAt(lane, from + (i / 100) * (until - from))));
}

function paint(canvas: HTMLCanvasElement, lane: Lane, spans: Span[], lost: Map<number, number>, now: number, longest: number, pace: number): void {
  const width = canvas.clientWidth;
  if (width === 0) return;
  const ratio = devicePixelRatio;
  [canvas.width, canvas.height] = [width * ratio, HEIGHT * ratio];
  const pen = canvas.getContext("2d")!;
  pen.scale(ratio, ratio);
  pen.font = "12px sans-serif";
  const ink = token(`sender${lane.place % 8}`);
  const [left, right] = [SERVER + 8, width - VIEWER];
  const perSecond = (right - left) / (longest + lane.one_way_s);
  const mouth = left + longest * perSecond;
  const middle = 46;
  road(pen, left, mouth, right, middle);
  const wait = waitAt(lane, now);
  pen.fillStyle = token("faint");
  pen.globalAlpha = 0.45;
  pen.fillRect(mouth - wait * perSecond, middle - 15, wait * perSecond, 30);
  pen.globalAlpha = 1;
  dots(pen, lane, lost, now, { left, mouth, right, middle, perSecond, ink, pace });
  screen(pen, width - VIEWER + 10, lane, showing(spans, now), now);
}

/** The queue's room, the link behind it, the server before it. */
function road(pen: CanvasRenderingContext2D, left: number, mouth: number, right: number, middle: number): void {
  pen.strokeStyle = token("soft");
  pen.fillStyle = token("shade");
  pen.fillRect(left, middle - 16, mouth - left, 32);
  pen.strokeRect(left, middle - 16, mouth - left, 32);
  pen.fillRect(mouth, middle - 7, right - mouth, 14);
  pen.strokeRect(mouth, middle - 7, right - mouth, 14);
  pen.fillStyle = token("text");
  pen.fillRect(0, middle - 20, SERVER, 40);
  pen.fillStyle = token("soft");
  pen.fillText("server", 0, middle + 36);
  if (mouth - left > 60) pen.fillText("queue", Math.max(left + 26, mouth - 40), middle + 36);
  if (right - mouth > 40) pen.fillText("link", (mouth + right) / 2 - 8, middle + 36);
}

interface Places {
  left: number;
  mouth: number;
  right: number;
  middle: number;
  perSecond: number;
  ink: string;
  pace: number;
}

function dots(pen: CanvasRenderingContext2D, lane: Lane, lost: Map<number, number>, now: number, { mouth, right, middle, perSecond, ink, pace }: Places): void {
  const [flow] = packetFlows([lane.session]);
  if (!flow) return;
  const { time_s, offset, kind } = flow.sent;
  const fall = FALL * pace;
  const oldest = now - lane.one_way_s - longestWait(lane, [Math.max(0, now - 3), now]) - fall;
  for (let i = rowAt(time_s, Math.max(0, oldest)); i < time_s.length && time_s[i] <= now; i++) {
    const leaves = time_s[i] + waitAt(lane, time_s[i]);
    const gone = kind[i] === 0 ? lost.get(offset[i]) : undefined;
    const time = gone === undefined ? now : Math.min(now, Math.max(gone, time_s[i]));
    const x = time < leaves ? mouth - (leaves - time) * perSecond : mouth + (time - leaves) * perSecond;
    const isQueued = time < leaves;
    const y = middle + ((i % ROWS) - (ROWS - 1) / 2) * (isQueued ? 5.5 : 2.4);
    if (gone !== undefined && now >= gone) {
      if (now - gone < fall) cross(pen, Math.min(x, right), y + (46 * (now - gone)) / fall);
    } else if (x <= right) dot(pen, x, y, ink, kind[i] !== 0);
  }
}

function dot(pen: CanvasRenderingContext2D, x: number, y: number, ink: string, isAgain: boolean): void {
  pen.beginPath();
  pen.arc(x, y, isAgain ? 2 * DOT : DOT, 0, 2 * Math.PI);
  if (isAgain) {
    pen.strokeStyle = token("stall");
    pen.lineWidth = 2.5;
    pen.stroke();
    pen.lineWidth = 1;
  } else {
    pen.fillStyle = ink;
    pen.fill();
  }
}

function cross(pen: CanvasRenderingContext2D, x: number, y: number): void {
  pen.strokeStyle = token("stall");
  pen.lineWidth = 3;
  pen.beginPath();
  for (const [dx, dy] of [[1, 1], [1, -1]]) {
    pen.moveTo(x - 6 * dx, y - 6 * dy);
    pen.lineTo(x + 6 * dx, y + 6 * dy);
  }
  pen.stroke();
  pen.lineWidth = 1;
}

/** The picture, whose ball moves as the film does, and below it the buffer. */
function screen(pen: CanvasRenderingContext2D, left: number, { session, room_s }: Lane, kind: Span["kind"], now: number): void {
  const [width, height] = [108, 62];
  pen.fillStyle = kind === "playing" ? token("card") : token("shade");
  pen.strokeStyle = kind === "stalled" ? token("stalled") : token("soft");
  pen.lineWidth = kind === "stalled" ? 4 : 2;
  pen.fillRect(left, 8, width, height);
  pen.strokeRect(left, 8, width, height);
  pen.lineWidth = 1;
  if (kind === "waiting") {
    pen.fillStyle = token("soft");
    pen.fillText("not yet", left + 34, 44);
  } else {
    const shown = filmTime(session, now);
    const [x, y] = [left + 14 + (width - 28) * (0.5 - 0.5 * Math.cos(2 * shown)), 8 + height - 14 - (height - 30) * Math.abs(Math.sin(3.1 * shown))];
    pen.fillStyle = kind === "stalled" ? token("stalled") : token("playing");
    pen.beginPath();
    pen.arc(x, y, 8, 0, 2 * Math.PI);
    pen.fill();
    if (kind === "stalled") pen.fillText("stands still", left + 22, 24);
  }
  const level = Math.min(room_s, at(session.series, "player", "buffer_level_s", now) ?? 0);
  pen.fillStyle = token("shade");
  pen.fillRect(left, 80, width, 10);
  pen.fillStyle = token("playing");
  pen.fillRect(left, 80, (width * level) / room_s, 10);
  pen.strokeStyle = token("soft");
  pen.strokeRect(left, 80, width, 10);
  pen.fillStyle = token("soft");
  pen.fillText(`buffer ${level.toFixed(1)}\u00a0s`, left, 104);
}

/** Seconds of film that have been shown. */
const filmTime = ({ record }: Session, now: number): number =>
  filmstrip(record).reduce((sum, span) => sum + (span.kind === "playing" ? Math.max(0, Math.min(now, span.until) - span.from) : 0), 0);
