/** Colours of the style sheet (tokens.css), for canvases and single elements. */

export const isDark = (): boolean => {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
};

export const token = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

/** Senders' colours in tokens.css. */
export const COLOURS = 8;

export const colour = (place: number): string => token(`sender${place % COLOURS}`);
