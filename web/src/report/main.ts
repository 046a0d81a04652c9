/** The report's page: what Python wrote as tables and drawings can be put in order, asked and taken away; sessions are drawn here. */

import { report } from "./data";
import { figure } from "./figures";
import { Sessions } from "./sessions";
import { sortable } from "./tables";

document.querySelectorAll<HTMLElement>("figure.drawn").forEach(figure);
document.querySelectorAll<HTMLTableElement>("table.cards").forEach(sortable);

async function start(place: HTMLElement): Promise<Sessions> {
  const sessions = new Sessions(await report(), place);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => sessions.draw());
  return sessions;
}

let sessions: Sessions | null = null;
const place = document.getElementById("sessions-place");
if (place) {
  start(place).then(
    (started) => (sessions = started),
    (error: Error) => (place.textContent = `The sessions cannot be shown: ${error.message}`),
  );
}

// Paper is light, and shows everything: what is folded is open while printing.
addEventListener("beforeprint", () => {
  document.documentElement.dataset.theme = "light";
  sessions?.draw(); // before it has parts that are folded
  document.querySelectorAll<HTMLDetailsElement>("details:not([open])").forEach((part) => {
    part.open = true;
    part.dataset.folded = "";
  });
});
addEventListener("afterprint", () => {
  delete document.documentElement.dataset.theme;
  document.querySelectorAll<HTMLDetailsElement>("details[data-folded]").forEach((part) => {
    part.open = false;
    delete part.dataset.folded;
  });
  sessions?.draw();
});
