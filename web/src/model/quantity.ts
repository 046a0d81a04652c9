/** Quantities as scenarios write them, and numbers for people. */

const UNITS: Record<string, number> = {
  "bit/s": 1e-6, "kbit/s": 1e-3, "Mbit/s": 1, "Gbit/s": 1e3,
  ns: 1e-6, us: 1e-3, ms: 1, s: 1e3, min: 6e4,
  "%": 1,
};

/** Mbit/s, milliseconds or percent; null for what is none of them ("1 bdp"). */
export function number(text: unknown): number | null {
  const found = typeof text === "string" ? /^\s*([\d.eE+-]+)\s*(\S+)\s*$/.exec(text) : null;
  const unit = found && UNITS[found[2]];
  return unit && Number.isFinite(Number(found[1])) ? Number(found[1]) * unit : null;
}

/** About three significant digits, or as many as are asked for, with a true minus sign. */
export function short(value: number | null | undefined, digits = 3): string {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (value < 0) return `−${short(-value, digits)}`;
  if (value === 0) return "0";
  if (value >= 100) return String(Number(value.toFixed(digits - 3)));
  if (value < 1e-4) return value.toExponential(digits - 2).replace("-", "−");
  return String(Number(value.toPrecision(digits)));
}

/** The labels of an axis: with as many digits as tell neighbours apart. */
export function tickLabels(ticks: number[], digits = 3): string[] {
  const words = ticks.map((tick) => short(tick, digits));
  return new Set(words).size === ticks.length || digits === 12 ? words : tickLabels(ticks, digits + 1);
}

/** A line is never broken between a number and its unit. */
export const withUnit = (value: number | null | undefined, unit: string): string => (unit && value != null ? `${short(value)}\u00a0${unit}` : short(value));

/** A difference with its sign; none has none. */
export const signed = (value: number, unit: string): string => (value > 0 && short(value) !== "0" ? `+${withUnit(value, unit)}` : withUnit(value, unit));

/** "1:05.3" from the start of the session. */
export function clock(seconds: number): string {
  const minutes = Math.floor(seconds / 60);
  const rest = seconds - 60 * minutes;
  return minutes === 0 ? `${rest.toFixed(1)}\u00a0s` : `${minutes}:${rest.toFixed(1).padStart(4, "0")}`;
}
