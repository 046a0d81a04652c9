/** Colours of the style sheet (tokens.css), for canvases and single elements. */

export const isDark = (): boolean => {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
};

export const token = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

/** Senders' colours in tokens.css. */
export const COLOURS = 8;

export const colour = (place: number): string => token(`sender${place % COLOURS}`);

/** Of a line: the colours begin anew with the ninth sender, and its line is dashed. */
export const dashed = (place: number): number[] | undefined => (place < COLOURS ? undefined : [7, 3]);

/** Of a swatch: hatched from the ninth sender on. */
export const filling = (place: number): string => (place < COLOURS ? colour(place) : `repeating-linear-gradient(90deg, ${colour(place)} 0 3px, transparent 3px 5px)`);
