/** What the page as a whole listens to: files that are dropped on it, its size, undo by keys, paper, and light or dark. */

export interface PageActions {
  drop: (files: FileList | null) => void;
  undo: () => void;
  /** All that has a size or colours of its own is drawn anew, with the next frame. */
  redraw: () => void;
  /** The same, before it returns. */
  redrawNow: () => void;
}

export function listen({ drop, undo, redraw, redrawNow }: PageActions): void {
  document.body.addEventListener("dragover", (event) => event.preventDefault());
  document.body.addEventListener("drop", (event) => {
    event.preventDefault();
    drop(event.dataTransfer?.files ?? null);
  });
  addEventListener("resize", redraw);
  addEventListener("keydown", (event) => {
    const isTyping = event.target instanceof HTMLElement && event.target.matches("textarea, input:not([type=range]):not([type=checkbox])");
    if (event.key.toLowerCase() !== "z" || !(event.ctrlKey || event.metaKey) || event.shiftKey || isTyping) return;
    event.preventDefault();
    undo();
  });
  // Paper is light.
  let theme: string | undefined;
  addEventListener("beforeprint", () => {
    theme = document.documentElement.dataset.theme;
    document.documentElement.dataset.theme = "light";
    redrawNow();
  });
  addEventListener("afterprint", () => {
    if (theme === undefined) delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    redraw();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
}
