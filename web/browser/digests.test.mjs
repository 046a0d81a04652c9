// Shipped scenarios in full length, played by the built page in a real browser: PLAYPATH_FULL is JSON, `[{scenario, sender, digest}]`
// with the native digests, which tests/python/test_explorer.py writes.
import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { emptyPage, launch } from "./page.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const file = process.env.PLAYPATH_PAGE ?? join(here, "../../python/playpath/web/explorer.html");
const asked = JSON.parse(process.env.PLAYPATH_FULL ?? "[]");
const skip = asked.length ? false : "PLAYPATH_FULL is not set: tests/python/test_explorer.py sets it";

let browser;
before(async () => {
  if (!skip) browser = await launch();
});
after(() => browser?.close());

test("every shipped scenario in full has the native digest", { skip }, async (context) => {
  for (const { scenario, sender, digest } of asked) {
    await context.test(`${scenario}, ${sender}`, async () => {
      const { page, complaints } = await emptyPage(browser, {});
      const begun = performance.now();
      await page.goto(`${pathToFileURL(file).href}#${new URLSearchParams({ scenario, sender, seeds: "1" })}`);
      await page.waitForSelector('.progress[data-over="true"]');
      context.diagnostic(`${scenario}, ${sender}: ${((performance.now() - begun) / 1e3).toFixed(1)} s`);
      assert.equal(await page.evaluate(() => document.documentElement.dataset.digests), `${sender}=${digest}`);
      assert.deepEqual(complaints, []);
      await page.close();
    });
  }
});
