import { startEngine } from "./engine/load";
import { unpack } from "./engine/unpack";
import { App } from "./app";
import { decode } from "./model/state";
import type { Start } from "./app";

async function main(): Promise<void> {
  const shipped = JSON.parse(new TextDecoder().decode(await unpack("shipped")));
  const given: Start | null = JSON.parse(document.getElementById("start")!.textContent!);
  const app = new App(await startEngine(), shipped, given, document.getElementById("app")!);
  addEventListener("hashchange", () => void app.follow(location.hash));
  let state = null;
  let wrong: string | null = null;
  try {
    state = await decode(location.hash);
  } catch (error) {
    wrong = (error as Error).message;
  }
  await app.open(state, wrong);
  keep();
}

/** On a host with its documents (`make site`) the page stays on the reader's device; elsewhere it is a file already. */
function keep(): void {
  if (document.querySelector<HTMLElement>("nav.site")!.hidden || !("serviceWorker" in navigator)) return;
  navigator.serviceWorker.register("explorer-keep.js").catch((error: Error) => console.info(`The page is not kept on this device: ${error.message}`));
}

main().catch((error: Error) => {
  document.getElementById("app")!.textContent = `The page cannot start: ${error.message}`;
});
