/** The report's page: what Python wrote as tables and drawings can be put in order, asked and taken away; the rest is drawn here. */

import type { Drawn } from "../view/drawn";
import { Field } from "../view/field";
import { Lanes } from "../view/lanes";
import { Plane } from "../view/plane";
import { Rows } from "../view/rows";
import { alone, picture, saveButton, saveable } from "../view/saving";
import { report } from "./data";
import { Sessions } from "./sessions";
import { sortable } from "./tables";

// Figures of papers are drawn already, and can be saved like the others.
document.querySelectorAll<HTMLElement>("figure.drawn").forEach((figure) => {
  const drawing = figure.querySelector("svg")!;
  const title = drawing.getAttribute("aria-label")!;
  figure.append(saveable(figure, { name: fileName(title), title, picture: () => picture(drawing), drawing: () => alone(drawing) }));
});
document.querySelectorAll<HTMLTableElement>("table.cards").forEach(sortable);
const MAKERS: Record<string, (given: never) => Drawn> = { rows: (given) => new Rows(given), plane: (given) => new Plane(given), field: (given) => new Field(given), lanes: (given) => new Lanes(given) };
const figures = [...document.querySelectorAll<HTMLElement>("[data-figure]")].map((place) => {
  const made = MAKERS[place.dataset.figure!](JSON.parse(place.querySelector("script")!.textContent!) as never);
  made.element.classList.toggle("full", place.classList.contains("full"));
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

/** Longer lists stay folded on paper: those of a session take ten pages. */
const MOST_ROWS = 60;

// Paper is light and narrow, and shows what is folded.
addEventListener("beforeprint", () => {
  document.documentElement.dataset.theme = "light";
  document.documentElement.dataset.paper = "";
  drawAnew(); // before it has parts that are folded
  document.querySelectorAll<HTMLDetailsElement>("details:not([open])").forEach((part) => {
    if (part.querySelectorAll("tr").length > MOST_ROWS) return;
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
  figures.forEach((figure) => figure.fit());
  sessions?.draw();
}

/** A title as the name of a file. */
function fileName(title: string): string {
  return title.replace(/[^\w.-]+/g, "-").replace(/^[-.]+|[-.]+$/g, "").slice(0, 80) || "figure";
}
