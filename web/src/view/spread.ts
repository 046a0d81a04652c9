/** How a figure is spread over the seeds: a dot for each, a bar for the 95 % interval of the median. */

import { COLOURS } from "./colours";
import { svg } from "./dom";

/** A sender's colour for an element of the page; it follows light and dark by itself. */
export const inkOf = (place: number): string => `var(--sender${place % COLOURS})`;

export function spread(seeds: number[], ci95: [number, number] | null, x: (value: number) => number, y: number, ink: string): SVGElement[] {
  const bar = ci95 && svg("rect", { x: x(ci95[0]), y: y - 5, width: Math.max(2, x(ci95[1]) - x(ci95[0])), height: 10, rx: 2, fill: ink, "fill-opacity": 0.35 });
  return [...(bar ? [bar] : []), ...seeds.map((value) => svg("circle", { cx: x(value), cy: y, r: 2.5, fill: ink, "fill-opacity": 0.55 }))];
}
