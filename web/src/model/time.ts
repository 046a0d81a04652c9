/** The time axis that strips and charts share: round places in one format. */

const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600];

/** At most `most` round times from `from` to `until`. */
export function timeTicks(from: number, until: number, most: number): number[] {
  const least = (until - from) / Math.max(1, most);
  const ten = 10 ** Math.floor(Math.log10(least));
  const fine = [1, 2, 5, 10].map((factor) => factor * ten).find((step) => step >= least * (1 - 1e-9))!;
  const step = least > 0.5 ? (STEPS.find((one) => one >= least) ?? Math.ceil(least / 3600) * 3600) : fine;
  const first = Math.ceil(from / step - 1e-9);
  const count = Math.floor(until / step + 1e-9) - first + 1;
  return Array.from({ length: Math.max(0, count) }, (_, i) => Number(((first + i) * step).toPrecision(12)));
}

/** Ticks in words: minutes and seconds if the axis reaches a minute ("1:30"), else seconds ("30 s"). */
export function timeLabels(ticks: number[]): string[] {
  const step = ticks.length > 1 ? ticks[1] - ticks[0] : 1;
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const isLong = (ticks.at(-1) ?? 0) >= 60;
  return ticks.map((time) => {
    if (!isLong) return `${time.toFixed(digits)}\u00a0s`;
    const minutes = Math.floor(time / 60 + 1e-9);
    return `${minutes}:${Math.abs(time - 60 * minutes).toFixed(digits).padStart(digits ? digits + 3 : 2, "0")}`;
  });
}

/** About `most` round numbers within a scale. */
export function valueTicks(min: number, max: number, most: number): number[] {
  const raw = (max - min) / most || 1;
  const ten = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((factor) => factor * ten).find((one) => one >= raw * (1 - 1e-9))!;
  const first = Math.ceil(min / step - 1e-9);
  return Array.from({ length: Math.floor(max / step + 1e-9) - first + 1 }, (_, i) => Number(((first + i) * step).toPrecision(12)));
}

/** 1, 2, 5, 10, 20 … within a scale of factors. */
export function factors(min: number, max: number): number[] {
  const found: number[] = [];
  for (let ten = 10 ** Math.floor(Math.log10(min)); ten <= max; ten *= 10) found.push(...[1, 2, 5].map((step) => step * ten));
  return found.filter((value) => value >= min && value <= max);
}
