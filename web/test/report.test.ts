import { expect, it } from "vitest";
import { untilLastByte } from "../src/model/measured";
import { compare, keyOf } from "../src/report/tables";
import { csv } from "../src/view/csv";
import { COLOURS, dashed } from "../src/view/colours";
import { dashAt, scaleOf, surface } from "../src/view/plane";

it("puts numbers before words, by size", () => {
  const cells = ["–", "1,234", "-2.5 s", "12 (10 to 14)", "cubic", "bbr", "2e-3"];
  const ordered = cells.map((text) => ({ text, key: keyOf(text) })).sort((a, b) => compare(a.key, b.key));
  expect(ordered.map(({ text }) => text)).toEqual(["-2.5 s", "2e-3", "12 (10 to 14)", "1,234", "–", "bbr", "cubic"]);
});

it("writes cells that no spreadsheet runs", () => {
  expect(csv([["a", 'b "c", d'], ["=1+1", "-2.5"], ["-cmd", "@x"]])).toBe('a,"b ""c"", d"\r\n\'=1+1,-2.5\r\n\'-cmd,\'@x\r\n');
});

it("ends a flow's figures with its last byte", () => {
  const columns = { time_s: Float64Array.of(0, 1, 2, 3), unacked: Float64Array.of(1, 0, 0, 0), goodput_mbps: Float64Array.of(0, 0, 4, 0) };
  expect([...untilLastByte(columns).time_s]).toEqual([0, 1, 2]);
});

it("does not reach below zero where there is nothing but zeros", () => {
  const { at, ticks } = scaleOf({ label: "stall time", unit: "s" }, [0, 0], 200, 0, 5);
  expect([ticks[0], ticks.at(-1), at(0)]).toEqual([0, 1, 200]);
});

it("has equal steps for equal factors", () => {
  const { at } = scaleOf({ label: "rate", unit: "Mbit/s", isLog: true }, [1, 100], 0, 200, 5);
  expect(at(10)).toBeCloseTo(100);
  expect(at(1) - 0).toBeCloseTo(200 - at(100));
});

it("draws no surface where there are no points", () => {
  expect(surface([], [])).toBe("");
  expect(surface([[0, 1], [2, 1]], [[0, 3], [2, 3]])).toBe("M0.0 1.0L2.0 1.0L2.0 3.0L0.0 3.0Z");
});

it("dashes the lines whose colour another sender has", () => {
  expect([dashed(0), dashed(7), dashed(8)]).toEqual([undefined, undefined, [7, 3]]);
  const looks = Array.from({ length: 2 * COLOURS }, (_, i) => `${i % COLOURS} ${dashAt(i)}`);
  expect(new Set(looks).size).toBe(2 * COLOURS);
});
