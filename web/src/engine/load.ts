/** From the page's data blocks to workers with an engine. */

import { Pool } from "./pool";
import { unpack } from "./unpack";

declare const WORKER_SOURCE: string;

/** Workers for sessions, as many as the machine has processors but one, and one that is never busy with a session. */
export async function startEngine(): Promise<{ desk: Pool; stage: Pool }> {
  const module = await WebAssembly.compile(await unpack("engine"));
  const address = URL.createObjectURL(new Blob([WORKER_SOURCE], { type: "text/javascript" }));
  const make = () => {
    const worker = new Worker(address);
    worker.postMessage({ module });
    return worker;
  };
  const processors = navigator.hardwareConcurrency || 2;
  return { desk: new Pool(make, 1), stage: new Pool(make, Math.min(8, Math.max(1, processors - 1))) };
}
