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
}

main().catch((error: Error) => {
  document.getElementById("app")!.textContent = `The page cannot start: ${error.message}`;
});
