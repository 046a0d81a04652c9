/** The report's page: what Python wrote as tables and drawings can be put in order, asked and taken away; the rest is drawn here. */

import { type RowFigure, Rows } from "../view/rows";
import { saveButton } from "../view/saving";
import { report } from "./data";
import { figure } from "./figures";
import { Sessions } from "./sessions";
import { sortable } from "./tables";

document.querySelectorAll<HTMLElement>("figure.drawn").forEach(figure);
document.querySelectorAll<HTMLTableElement>("table.cards").forEach(sortable);
const rows = [...document.querySelectorAll<HTMLElement>("[data-rows]")].map((place) => {
  const given: RowFigure = JSON.parse(place.querySelector("script")!.textContent!);
  const made = new Rows(given);
  place.replaceWith(made.element);
  return made;
});
if (document.querySelector("figure, #sessions-place")) (document.querySelector(".contents") ?? document.querySelector("header"))?.append(saveButton());

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

// Paper is light and narrow, and shows everything: what is folded is open while printing.
addEventListener("beforeprint", () => {
  document.documentElement.dataset.theme = "light";
  document.documentElement.dataset.paper = "";
  drawAnew(); // before it has parts that are folded
  document.querySelectorAll<HTMLDetailsElement>("details:not([open])").forEach((part) => {
    part.open = true;
    part.dataset.folded = "";
  });
});
addEventListener("afterprint", () => {
  delete document.documentElement.dataset.theme;
  delete document.documentElement.dataset.paper;
  document.querySelectorAll<HTMLDetailsElement>("details[data-folded]").forEach((part) => {
    part.open = false;
    delete part.dataset.folded;
  });
  drawAnew();
});

function drawAnew(): void {
  rows.forEach((figure) => figure.fit());
  sessions?.draw();
}
