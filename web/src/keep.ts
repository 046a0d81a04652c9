/** The worker of the explorer's page on a host: keeps the page, so that a phone has it without a network. */

const KEPT = "playpath-explorer";

// What a service worker is given, as far as it is used here: the page's own types know none.
interface Installing extends Event {
  waitUntil(done: Promise<unknown>): void;
}
interface Fetching extends Event {
  request: Request;
  respondWith(answer: Promise<Response>): void;
}
const host = self as unknown as { addEventListener(kind: string, act: (event: never) => void): void };

// It comes after the page that asks for it: the page is fetched once more, to be kept.
host.addEventListener("install", (event: Installing) => event.waitUntil(caches.open(KEPT).then((kept) => kept.add("explorer.html"))));
host.addEventListener("fetch", (event: Fetching) => {
  if (event.request.mode === "navigate" && new URL(event.request.url).pathname.endsWith("/explorer.html")) event.respondWith(newest(event.request));
});

/** The page of the host; without a network, the one that was there last. */
async function newest(request: Request): Promise<Response> {
  const kept = await caches.open(KEPT);
  try {
    const found = await fetch(request);
    if (found.ok) await kept.put("explorer.html", found.clone());
    return found;
  } catch (error) {
    const last = await kept.match("explorer.html");
    if (last) return last;
    throw error;
  }
}
