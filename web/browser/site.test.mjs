// The explorer on a host: once opened it is there without a network. The host is a server of this test.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync } from "node:fs";
import { execFileSync } from "node:child_process";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { PATIENCE, launch } from "./page.mjs";

const web = join(dirname(fileURLToPath(import.meta.url)), "..");

test("a page that was opened once plays without a network", async () => {
  const folder = mkdtempSync(join(tmpdir(), "playpath-"));
  execFileSync("node", ["build.mjs", "site", folder], { cwd: web });
  const kinds = { "/explorer.html": "text/html", "/explorer-keep.js": "text/javascript" };
  const server = createServer(({ url }, answer) => {
    const path = new URL(url, "http://localhost").pathname;
    answer.writeHead(kinds[path] ? 200 : 404, { "Content-Type": kinds[path] ?? "text/plain" });
    answer.end(kinds[path] ? readFileSync(join(folder, path)) : "");
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const browser = await launch();
  try {
    const page = await browser.newPage();
    page.setDefaultTimeout(PATIENCE);
    const address = `http://localhost:${server.address().port}/explorer.html#${new URLSearchParams({ scenario: "short-buffer", seeds: "1", set: 'video.duration="5 s"' })}`;
    await page.goto(address);
    await page.waitForSelector('.progress[data-over="true"]');
    assert.ok(await page.locator("nav.site").isVisible());
    await page.waitForFunction(async () => (await (await caches.open("playpath-explorer")).match("explorer.html")) !== undefined);
    await new Promise((resolve) => (server.close(resolve), server.closeAllConnections()));
    await page.goto("about:blank");
    await page.goto(address);
    await page.waitForSelector('.progress[data-over="true"]');
    assert.equal(await page.textContent(".alert"), "");
  } finally {
    await browser.close();
    server.close();
  }
});
