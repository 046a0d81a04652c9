/** The report's page: what Python wrote as tables and drawings can be put in order, asked and taken away; sessions are drawn here. */

import { report } from "./data";
import { figure } from "./figures";
import { Sessions } from "./sessions";
import { sortable } from "./tables";

document.querySelectorAll<HTMLElement>("figure.drawn").forEach(figure);
document.querySelectorAll<HTMLTableElement>("table.cards").forEach(sortable);

// Paper shows everything: open what is folded while printing.
addEventListener("beforeprint", () => {
  document.querySelectorAll<HTMLDetailsElement>("details:not([open])").forEach((part) => {
    part.open = true;
    part.dataset.folded = "";
  });
});
addEventListener("afterprint", () => {
  document.querySelectorAll<HTMLDetailsElement>("details[data-folded]").forEach((part) => {
    part.open = false;
    delete part.dataset.folded;
  });
});

async function start(place: HTMLElement): Promise<void> {
  const sessions = new Sessions(await report(), place);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => sessions.draw());
}

const place = document.getElementById("sessions-place");
if (place) start(place).catch((error: Error) => (place.textContent = `The sessions cannot be shown: ${error.message}`));
