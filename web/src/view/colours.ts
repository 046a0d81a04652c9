/** One colour a sender, told apart by the colour-blind (Okabe and Ito), at least 3:1 against either background. */

const LIGHT = ["#b84700", "#0067a5", "#00795a", "#a3437c", "#7a6400", "#3f5fbf", "#5c5c5c", "#8a2be2"];
const DARK = ["#ff8f4a", "#5cb8ff", "#3fd6a5", "#f08cc8", "#e6cc45", "#98aeff", "#bdbdbd", "#c69cff"];

export const isDark = (): boolean => {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
};

export const colour = (place: number): string => (isDark() ? DARK : LIGHT)[place % LIGHT.length];

/** A colour of the style sheet, for canvases. */
export const token = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
