import { describe, expect, it } from "vitest";
import type { EngineRecord, Judged, PlaybackEvent, WindowEvent } from "../src/engine/types";
import { columns } from "../src/model/compare";
import { command, quoted } from "../src/model/command";
import { type Knob, STEPS, around, fromStep, overrides, toStep } from "../src/model/knobs";
import { clock, number, short, signed, tickLabels } from "../src/model/quantity";
import { decode, encode, start } from "../src/model/state";
import { History } from "../src/model/history";
import { envelope } from "../src/model/envelope";
import { CHARTS } from "../src/model/lines";
import { filmstrip, inWords, why } from "../src/model/story";
import { timeLabels, timeTicks, valueTicks } from "../src/model/time";
import { shownCriteria } from "../src/view/ranking";
import { type Cell, type WhatIf, provenFrom, turnSentence, turns, winner } from "../src/model/whatif";

const record = (events: Partial<PlaybackEvent>[], metrics: Record<string, number | null> = {}): EngineRecord =>
  ({ events, metrics, flows: [], warnings: [], digest: "" }) as unknown as EngineRecord;

describe("the queue over time", () => {
  const context = { paths: [{ name: "p", rate_mbps: 10, rtt_ms: 20 }], film: null, traces: [null], path: 0 };
  const drawn = (columns: Record<string, Float64Array>) => {
    const series = { "link.path.p/down": { time_s: Float64Array.of(0, 1), queue_packets: Float64Array.of(3, 4), ...columns } };
    const session = { sender: "cubic", record: record([]), series };
    return CHARTS.find((chart) => chart.id === "queue")!.lines([session], context).map(({ label, values, source }) => [label, [...values], source !== undefined]);
  };
  it("is one line for one queue, and two for the two of L4S", () => {
    expect(drawn({})).toEqual([["cubic", [3, 4], true]]);
    const two = drawn({ low_latency_packets: Float64Array.of(1, 0), classic_packets: Float64Array.of(2, 4) });
    expect(two).toEqual([["cubic: classic queue", [2, 4], false], ["cubic: low-latency queue", [1, 0], false]]);
  });
});

describe("quantities", () => {
  it("reads what a resolved scenario writes", () => {
    expect(number("20 Mbit/s")).toBe(20);
    expect(number("4500 kbit/s")).toBe(4.5);
    expect(number("50 us")).toBe(0.05);
    expect(number("1 bdp")).toBeNull();
    expect(number(null)).toBeNull();
  });
  it("writes three digits", () => expect([short(1234.5), short(0.01234), short(0), short(null), clock(65.25)]).toEqual(["1235", "0.0123", "0", "–", "1:05.3"]));
  it("tells the labels of an axis apart", () => {
    expect(tickLabels([0, 50, 100])).toEqual(["0", "50", "100"]);
    expect(tickLabels([2.47, 2.472, 2.474])).toEqual(["2.47", "2.472", "2.474"]);
    expect(tickLabels([1000.2, 1000.4, 1000.6])).toEqual(["1000.2", "1000.4", "1000.6"]);
  });
});

describe("signs", () => {
  it("are true minus signs, and none has none", () => expect([short(-2.5), signed(3, "s"), signed(-3, "s"), signed(0, "s")]).toEqual(["−2.5", "+3\u00a0s", "−3\u00a0s", "0\u00a0s"]));
});

describe("the axis of time", () => {
  it("has round places, told in one way", () => {
    expect(timeLabels(timeTicks(0, 1046, 9))).toEqual(["0:00", "2:00", "4:00", "6:00", "8:00", "10:00", "12:00", "14:00", "16:00"]);
    expect(timeLabels(timeTicks(161.3, 199.2, 8))).toEqual(["2:45", "2:50", "2:55", "3:00", "3:05", "3:10", "3:15"]);
    expect(timeLabels(timeTicks(0, 50, 5))).toEqual(["0\u00a0s", "10\u00a0s", "20\u00a0s", "30\u00a0s", "40\u00a0s", "50\u00a0s"]);
    expect(timeLabels(timeTicks(179.9, 180.3, 4))).toEqual(["2:59.9", "3:00.0", "3:00.1", "3:00.2", "3:00.3"]);
  });
  it("never has more places than there is room for by more than one", () => {
    for (let length = 0.01; length < 1e4; length *= 1.7) for (const most of [2, 5, 12]) expect(timeTicks(3, 3 + length, most).length).toBeLessThanOrEqual(most + 1);
  });
  it("has values in steps of 1, 2 or 5", () => expect(valueTicks(-40, 720, 4)).toEqual([0, 200, 400, 600]));
});

describe("an envelope", () => {
  it("keeps every peak, and the mean, of each part", () => {
    const times = Float64Array.from({ length: 100 }, (_, i) => i / 10);
    const values = times.map((_, i) => (i === 57 ? 1000 : i % 2));
    const { times: at, low, high, mean } = envelope(times, values, [0, 10], 10);
    expect([...at]).toEqual([0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5, 9.5]);
    expect([...low]).toEqual(Array(10).fill(0));
    expect([...high]).toEqual([1, 1, 1, 1, 1, 1000, 1, 1, 1, 1]);
    expect([...mean].map((value, i) => (i === 5 ? value : 0.5))).toEqual([...mean]);
    expect(mean[5]).toBeCloseTo((5 - 1 + 1000) / 10);
  });
  it("leaves out where nothing was measured", () => {
    const { times } = envelope(Float64Array.of(0, 1, 8), Float64Array.of(1, NaN, 3), [0, 10], 5);
    expect([...times]).toEqual([1, 9]);
  });
});

describe("the address", () => {
  it("holds the whole state", async () => {
    const state = {
      ...start("wireless", ["cubic", "<b>&=#"]), seeds: 7, ecn: true, text: 'name = "ö"\n', files: { "a.mahi": "1\n2\n".repeat(500) },
      set: { "path.0.loss": "1 %", "player.xfactor": 3, "path.0.rate": null }, traffic: [{ kind: "bulk" as const, cc: "cubic", count: 2 }],
      paths: [{ rate: "5 Mbit/s", rtt: "60 ms", loss: "0 %" }], map: { x: "loss0", y: null, seconds: 120 }, lesson: { id: "film", step: 2 }, packets: { of: "<b>", view: [1.25, 2] as [number, number] }, view: [1.5, 20.25] as [number, number], kept: "scenario=wireless&set=path.0.loss%3D%221+%25%22",
    };
    const address = await encode(state);
    expect(await decode(`#${address}`)).toEqual(state);
    expect(address.length).toBeLessThan(1000); // the trace is deflated
  });
  it("is refused in one line where it is damaged", async () => {
    await expect(decode("#scenario=wireless&seeds=1e9")).rejects.toThrow("1 to 100");
    await expect(decode("#scenario=wireless&set=path.0.loss=%7B")).rejects.toThrow("damaged");
    expect(await decode("")).toBeNull();
  });
});

const loss: Knob = { id: "loss0", label: "Loss", unit: "%", low: 0.001, high: 10, zero: true, key: "path.0.loss", read: () => null, write: (value) => `${value} %`, hint: "" };

describe("undo", () => {
  const states = ["a", "b", "c"].map((name) => start(name, []));
  it("goes back a step at a time, and a slider's way is one step", () => {
    const history = new History();
    history.leave(states[0], "path.0.loss", 0);
    history.leave(states[1], "path.0.loss", 400);
    history.leave(states[2], "path.0.rtt", 500);
    expect([history.back(), history.back(), history.back()]).toEqual([states[2], states[0], undefined]);
    expect(history.isEmpty).toBe(true);
  });
  it("is another step after a while", () => {
    const history = new History();
    history.leave(states[0], "seeds", 0);
    history.leave(states[1], "seeds", 5000);
    expect(history.back()).toBe(states[1]);
  });
});

describe("knobs", () => {
  it("stay where they are put", () => {
    for (let step = 0; step <= STEPS; step++) expect(Math.abs(toStep(loss, fromStep(loss, step)) - step)).toBeLessThanOrEqual(1);
    expect(fromStep(loss, 0)).toBe(0);
    expect(fromStep(loss, STEPS)).toBe(10);
  });
  it("span a map around their place", () => {
    const values = around(loss, 0.15, 11);
    expect(values[0]).toBe(0);
    expect(values).toEqual([...values].sort((a, b) => a - b));
    expect(Math.max(...values)).toBe(2.4);
  });
  it("put lists before keys within them", () => {
    const state = { ...start("wireless", []), set: { "path.1.loss": "1 %" }, paths: [{ rate: "5 Mbit/s", rtt: "60 ms", loss: "0 %" }] };
    const set = overrides(state, { path: [{ name: "wifi" }], traffic: [] });
    expect(Object.keys(set)).toEqual(["path", "path.1.loss"]);
    expect((set.path as { name: string }[]).map((path) => path.name)).toEqual(["wifi", "path 2"]);
  });
});

describe("the command", () => {
  const base = { sender: [{ name: "cubic", cc: { name: "cubic" } }, { name: "paced", cc: { name: "newreno" } }], path: [], traffic: [] } as never;
  it("quotes what a shell would read", () => {
    expect(quoted("it's; rm -rf $HOME")).toBe(`'it'\\''s; rm -rf $HOME'`);
    const state = { ...start("wireless", ["cubic", "bbr"]), set: { "path.0.loss": "0.5 %" } };
    expect(command(state, base)).toBe("playpath compare wireless --cc cubic,bbr --seeds 10 --set 'path.0.loss=0.5 %'");
  });
  it("varies what is compared", () => {
    const state = { ...start("wireless", ["cubic"]), set: { choice: [{ key: "path.queue", values: ["droptail", "pie"] }, { key: "player.ladder", values: ["1 Mbit/s, 2 Mbit/s", "1 Mbit/s"] }] } };
    expect(command(state, base)).toBe(`playpath compare wireless --cc cubic --seeds 10 --vary 'path.queue=droptail, pie' --vary 'player.ladder=["1 Mbit/s, 2 Mbit/s","1 Mbit/s"]'`);
  });
  it("goes by the file where a sender has a name of its own", () => expect(command(start("adaptive", ["paced"]), base)).toContain("playpath compare scenario.toml"));
});

describe("a session", () => {
  const events = [
    { time_s: 0, event: "session_started" }, { time_s: 1, event: "playback_started" },
    { time_s: 5, event: "stall_start", since_s: 4.5 }, { time_s: 6, event: "stall_end", frozen_s: 1.5 }, { time_s: 10, event: "finished" },
  ];
  it("is a strip from pressing play to the end", () => {
    expect(filmstrip(record(events)).map((span) => [span.kind, span.from, span.until])).toEqual([["waiting", 0, 1], ["playing", 1, 4.5], ["stalled", 4.5, 6], ["playing", 6, 10]]);
  });
  it("shows the rate of each segment when it is played", () => {
    const segment = (number: number, rate: number) => ({ time_s: 0.5, event: "segment_downloaded", kind: "video", segment: number, rate_mbps: rate, media_duration_s: 2 });
    const strip = filmstrip(record([events[0], segment(0, 1), segment(1, 3), events[1], { time_s: 5, event: "finished" }]));
    expect(strip.map((span) => [span.kind, span.from, span.until, span.rate])).toEqual([["waiting", 0, 1, undefined], ["playing", 1, 3, 1], ["playing", 3, 5, 3]]);
  });
  const cut: WindowEvent = { time_s: 3, path: 0, event: "loss", cwnd_before: 60, cwnd_after: 42, phase: "congestion_avoidance" };
  it("says in words what the control did", () => {
    expect(inWords(cut)!.text).toBe("loss: window × 0.70 (60 → 42 packets)");
    expect(inWords({ ...cut, event: "window_set", cwnd_after: 10 })!.text).toBe("idle: window reset (60 → 10 packets)");
    expect(inWords({ ...cut, cwnd_after: 60 })!.text).toContain("window kept");
  });
  it("says what went before a stop, with the figures of the session, and names no cause", () => {
    const series = { "flow.video": { time_s: Float64Array.of(0, 2.9), rtt_ms: Float64Array.of(100, 100), goodput_mbps: Float64Array.of(5, 5) } };
    const session = { sender: "cubic", record: { ...record(events), window_events: { video: [cut] } }, series };
    const lines = why(session, { at: 4.5, length: 1.5 }, 1448, 5.24);
    // 42 packets x 1448 byte x 8 / 100 ms = 4.87 Mbit/s
    expect(lines).toEqual([
      "At 3.0\u00a0s a packet was lost, and cubic cut its window from 60 to 42 packets.",
      "A round trip of 100\u00a0ms with 42 packets carries 4.87\u00a0Mbit/s, and the film needs 5.24; at the stop the path gave 5\u00a0Mbit/s.",
      "At 4.5\u00a0s the buffer was empty, and the picture stood still for 1.5\u00a0s.",
    ]);
  });
});

describe("what went before a stop", () => {
  const cut: WindowEvent = { time_s: 3, path: 0, event: "phase", cwnd_before: 108, cwnd_after: 4, phase: "probe_rtt" };
  const segment = { time_s: 2, event: "segment_decision", kind: "video", segment: 1, rate_mbps: 4.5, reason: "throughput" };
  const played = (events: WindowEvent[], cwnd: number[]) => {
    const series = { "flow.video": { time_s: Float64Array.of(0, 2.9, 3.5), rtt_ms: Float64Array.of(100, 100, 100), goodput_mbps: Float64Array.of(5, 5, 5), snd_cwnd: Float64Array.from(cwnd) } };
    return { sender: "bbr", record: { ...record([segment]), window_events: { video: events } }, series };
  };
  it("is not called a loss where the control measured the RTT with an empty queue", () => {
    // 4 packets x 1448 byte x 8 / 100 ms = 0.463 Mbit/s
    expect(why(played([cut], [108, 108, 108]), { at: 3.6, length: 0.2 }, 1448, null).slice(0, 2)).toEqual([
      "At 3.0\u00a0s bbr went over to probe rtt and cut its window from 108 to 4 packets.",
      "A round trip of 100\u00a0ms with 4 packets carries 0.463\u00a0Mbit/s, and the segment on its way needs 4.5; at the stop the path gave 5\u00a0Mbit/s.",
    ]);
  });
  it("is no cut from which the window was back long before", () => {
    expect(why(played([cut], [108, 108, 108]), { at: 9, length: 0.2 }, 1448, null)[0]).toBe(
      "The window had not been cut for half a minute, or was back; the path gave 5\u00a0Mbit/s, and the segment on its way needs 4.5.",
    );
    expect(why(played([cut], [108, 108, 8]), { at: 9, length: 0.2 }, 1448, null)[0]).toContain("went over to probe rtt");
  });
  it("is told with what the window carried, whether or not that is enough", () => {
    const wide = { ...cut, event: "loss", cwnd_after: 54 } as WindowEvent;
    expect(why(played([wide], [108, 108, 54]), { at: 4, length: 0.2 }, 1448, 3)[1]).toBe(
      "A round trip of 100\u00a0ms with 54 packets carries 6.26\u00a0Mbit/s, and the film needs 3; at the stop the path gave 5\u00a0Mbit/s.",
    );
  });
});

describe("a comparison", () => {
  it("judges only the seeds that all have played", () => {
    const records = new Map([["a", [record([], { x: 1 }), record([], { x: 2 })]], ["b", [undefined, record([], { x: 5, y: null })]]]);
    expect(columns(records)).toEqual({ seeds: 1, values: { a: { x: [2] }, b: { x: [5], y: [null] } } });
  });
});

describe("the map", () => {
  const cell = (x: number, ranking: string[], deciding: string, noticed: number): Cell =>
    ({ x, y: null, values: {}, seeds: 8, error: null, judged: { decision: { ranking, tied: [], open: [], unnoticed: noticed ? [] : [ranking[1]], deciding: { [ranking[1]]: deciding } } } as unknown as Judged });
  const costs = new Set(["retransmitted_packets"]);
  it("finds where the winner for the viewer changes", () => {
    const cells = [cell(0, ["a", "b"], "retransmitted_packets", 8), cell(0.01, ["a", "b"], "stall_time_s", 0), cell(0.1, ["b", "a"], "stall_time_s", 3)];
    expect(cells.map((one) => winner(one, costs))).toEqual(["alike", "alike", "b"]);
    expect(turns(cells, costs)).toEqual([{ from: 0.01, until: 0.1 }]);
    const map = { cells, question: { x: { knob: loss }, y: null, costs } } as unknown as WhatIf;
    expect(turnSentence(map, "loss")).toBe("The answer changes between 0.01 and 0.1 % of loss: up to 0.01 % no viewer sees a difference, from 0.1 % on b is ahead.");
  });

  it("says from where on the last winner is proven", () => {
    const open = cell(0.1, ["b", "a"], "stall_time_s", 3);
    open.judged!.decision.open = ["a"];
    const map = (cells: Cell[]) => ({ cells, question: { x: { knob: loss }, y: null, costs } }) as unknown as WhatIf;
    expect(provenFrom(map([cell(0, ["a", "b"], "stall_time_s", 0), open, cell(0.2, ["b", "a"], "stall_time_s", 8)]))).toEqual({ who: "b", from: 0.2 });
    expect(provenFrom(map([cell(0, ["a", "b"], "stall_time_s", 3), open]))).toBeNull();
    expect(provenFrom(map([cell(0, ["a", "b"], "stall_time_s", 0)]))).toBeNull();
  });
});

describe("the ranking", () => {
  it("shows what viewers see and senders differ in, and always what it costs", () => {
    const of = (values: Record<string, number>) => Object.fromEntries(Object.entries(values).map(([name, mean]) => [name, { mean }]));
    const judged = {
      criteria: ["played_s", "stall_time_s", "late_packet_ratio", "startup_delay_s", "retransmitted_packets"],
      senders: { a: of({ played_s: 60, stall_time_s: 0, startup_delay_s: 1, retransmitted_packets: 5 }), b: of({ played_s: 60, stall_time_s: 0, startup_delay_s: 2, retransmitted_packets: 5 }) },
    } as unknown as Judged;
    expect(shownCriteria(judged, (name) => name === "retransmitted_packets")).toEqual(["stall_time_s", "startup_delay_s", "retransmitted_packets"]);
  });
});
