// Paper shows everything: open what is folded while printing.
addEventListener("beforeprint", () => {
  for (const part of document.querySelectorAll("details:not([open])")) { part.open = true; part.dataset.folded = "1"; }
});
addEventListener("afterprint", () => {
  for (const part of document.querySelectorAll("details[data-folded]")) { part.open = false; delete part.dataset.folded; }
});
