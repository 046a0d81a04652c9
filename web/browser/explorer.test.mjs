// The built page in a real browser: `PLAYPATH_CHROMIUM=/usr/bin/chromium node --test browser/`. PLAYPATH_DIGESTS are the native
// digests ("sender=digest …"), pictures go to PLAYPATH_PICTURES if it is set. Nothing here asserts time.
import assert from "node:assert/strict";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { PATIENCE, violations, emptyPage, launch, saved } from "./page.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const file = process.env.PLAYPATH_PAGE ?? join(here, "../../python/playpath/web/explorer.html");
const address = pathToFileURL(file).href;
const brief = { scenario: "short-buffer", seeds: "2", set: 'video.duration="12 s"' };

let browser;
before(async () => {
  browser = await launch();
});
after(() => browser?.close());

/** A page at a state, and what it complained about or asked the network for. */
async function open(query = {}, { senders = ["cubic", "bbr"], ...look } = {}) {
  const { page, complaints } = await emptyPage(browser, { bypassCSP: false, ...look });
  const state = new URLSearchParams({ ...brief, ...query });
  senders.forEach((sender) => state.append("sender", sender));
  await page.goto(`${address}#${state}`);
  return { page, complaints };
}

const played = (page) => page.waitForSelector('.progress[data-over="true"]');
const order = (page) => page.$$eval(".ranking tbody tr", (rows) => rows.map((row) => row.dataset.sender));

/** What a hand does to a slider. */
async function slide(page, knob, step) {
  await page.$eval(`[data-knob="${knob}"]`, (range, value) => {
    range.value = value;
    range.dispatchEvent(new Event("input", { bubbles: true }));
  }, String(step));
  await page.waitForFunction(() => document.querySelector(".progress")?.dataset.over === "false");
  await played(page);
}

async function picture(page, name) {
  if (process.env.PLAYPATH_PICTURES) await page.screenshot({ path: join(process.env.PLAYPATH_PICTURES, `${name}.png`), fullPage: true });
}

test("loads without a complaint, plays, and its digests are the native ones", async () => {
  const { page, complaints } = await open();
  await played(page);
  assert.equal((await order(page)).length, 2);
  assert.match(await page.textContent(".headline"), /cubic|bbr/);
  const digests = await page.evaluate(() => document.documentElement.dataset.digests);
  assert.match(digests, /^cubic=[0-9a-f]{64} bbr=[0-9a-f]{64}$/);
  if (process.env.PLAYPATH_DIGESTS) assert.equal(digests, process.env.PLAYPATH_DIGESTS);
  assert.equal(await page.locator(".strip").count(), 2);
  assert.ok((await page.locator(".charts canvas").count()) >= 5);
  assert.deepEqual(complaints, []);
  await page.close();
});

test("a slider changes the answer, and the link brings it back", async () => {
  const { page } = await open({ set: 'video.duration="20 s"' });
  await played(page);
  const before = await page.evaluate(() => document.documentElement.dataset.digests);
  await slide(page, "loss0", 170);
  const [digests, told, link] = await page.evaluate(() => [document.documentElement.dataset.digests, document.querySelector(".headline").textContent, location.href]);
  assert.notEqual(digests, before);
  assert.equal((await order(page))[0], "bbr", "at some percent of loss CUBIC is behind");
  assert.match(link, /path\.0\.loss/);
  await page.close();

  const again = await browser.newPage();
  again.setDefaultTimeout(PATIENCE);
  await again.goto(link);
  await played(again);
  assert.equal(await again.evaluate(() => document.documentElement.dataset.digests), digests);
  assert.equal(await again.textContent(".headline"), told);
  await again.close();
});

test("what is under way can be stopped, and the page goes on", async () => {
  const { page, complaints } = await open({ set: 'video.duration="600 s"', seeds: "60" });
  const stop = await page.waitForSelector("text=/^Stop$/");
  await page.waitForFunction(() => document.querySelector(".progress progress")?.value > 1);
  // The same button still: one that was replaced between press and release would get no click.
  assert.ok(await stop.evaluate((button) => button.isConnected));
  await stop.click();
  await played(page);
  assert.ok(await stop.isHidden());
  const done = await page.$eval(".progress progress", (progress) => progress.value);
  assert.ok(done < 120, `${done} of 120`);
  await page.locator("#seeds").fill("1");
  await page.locator("#seeds").blur();
  await page.waitForFunction(() => document.querySelector(".progress progress")?.max === 2);
  await page.$eval("#knob-video", (field) => field.value);
  assert.deepEqual(complaints, []);
  await page.close();
});

test("a hostile file is one clear line, a good one is played, and names are text", async () => {
  const { page, complaints } = await open();
  await played(page);
  const folder = mkdtempSync(join(tmpdir(), "playpath-"));
  const give = async (name, text) => {
    writeFileSync(join(folder, name), text);
    await page.setInputFiles('input[type="file"]', join(folder, name));
  };
  await give("bad.toml", '[video]\nrate = "<img src=x onerror=alert(1)>"\nduration = "1 s"\n');
  await page.waitForFunction(() => document.querySelector(".alert").textContent.includes("bad.toml"));
  const wrong = await page.textContent(".alert");
  assert.equal(wrong.trim().split("\n").length, 1);
  assert.match(wrong, /^bad\.toml: line 2: .*rate/);
  assert.equal(await page.locator(".alert img").count(), 0);
  await give("zeros.trace", "\0".repeat(100));
  await page.waitForFunction(() => document.querySelector(".alert").textContent.includes("zeros.trace"));

  const name = "<img src=x onerror=alert(1)>";
  await give("good.toml", `name = "${name}"\n[video]\nrate = "1 Mbit/s"\nduration = "5 s"\n[[path]]\nname = "p"\nrate = "5 Mbit/s"\nrtt = "20 ms"\n[[sender]]\nname = "${name}"\ncc = "cubic"\n[run]\nseeds = 2\n`);
  await page.waitForFunction((text) => document.querySelector(".who b")?.textContent === text, name);
  await played(page);
  assert.equal(await page.locator("main img, aside img").count(), 0);
  assert.deepEqual(complaints, []);
  await page.close();
});

test("a dropped trace is followed", async () => {
  const { page } = await open();
  await played(page);
  const folder = mkdtempSync(join(tmpdir(), "playpath-"));
  writeFileSync(join(folder, "cell.mahi"), Array.from({ length: 2000 }, (_, i) => i * 3 + 1).join("\n"));
  await page.setInputFiles('input[type="file"]', join(folder, "cell.mahi"));
  await page.getByText("Its rate follows a trace").waitFor();
  await played(page);
  assert.equal(await page.textContent(".alert"), "");
  await page.close();
});

test("the map says where the answer changes", async () => {
  const { page } = await open({ set: 'video.duration="15 s"', map: '{"x":"loss0","y":null,"seconds":null}' });
  await played(page);
  await page.getByRole("button", { name: "Find where the answer changes" }).click();
  await page.getByText(/sessions played\. /).waitFor();
  assert.match(await page.textContent(".map .headline"), /The answer changes (\d+ times, first )?between .* % of random loss/);
  await picture(page, "map");
  assert.deepEqual(await violations(page), []);
  await page.close();
});

test("every packet of the moment that mattered is there, and the link keeps the part that is looked at", async () => {
  const { page, complaints } = await open({ set: 'path.0.loss="1 %"' });
  await played(page);
  const note = page.locator(".packets [aria-live]");
  const told = await note.textContent();
  assert.match(told, /^From .* packets sent, \d+ lost on the channel, \d+ sent again\.$/);
  assert.ok((await page.locator(".signs li").count()) >= 5);
  await page.getByRole("button", { name: "Later packets" }).click();
  const later = await note.textContent();
  assert.notEqual(later, told);
  await page.waitForFunction(() => location.hash.includes("packets="));
  const title = (await page.locator("#chart-packets h3").textContent()).split(":")[0];
  const rows = (await saved(page, title, /CSV/)).content.toString().split("\r\n");
  assert.equal(rows[0], "time_s,what,from_byte,until_byte,window_edge_byte");
  assert.equal(rows.filter((row) => /,(packet|retransmission),/.test(row)).length, Number(/(\d+) packets sent/.exec(later)[1]));
  const link = page.url();
  await page.getByRole("button", { name: /^What mattered/ }).click();
  assert.equal(await note.textContent(), told);
  const box = await page.locator("#chart-packets .u-over").boundingBox();
  await page.locator("#chart-packets").scrollIntoViewIfNeeded();
  const found = async () => {
    for (let step = 1; step < 40; step++) {
      await page.mouse.move(0, 0);
      await page.locator("#chart-packets .u-over").hover({ position: { x: (box.width * step) / 40, y: box.height / 2 } });
      const tip = page.locator("#chart-packets .tip");
      if (await tip.isVisible()) return tip.textContent();
    }
    return null;
  };
  assert.match(await found(), /s: .*byte [\d,]+/);
  await picture(page, "packets");
  assert.deepEqual(complaints, []);
  await page.close();

  const { page: again } = await emptyPage(browser, {});
  await again.goto(link);
  await played(again);
  assert.equal(await again.locator(".packets [aria-live]").textContent(), later);
  await again.close();
});

test("the first key leads to the answer, and the address keeps the state", async () => {
  const { page } = await open();
  await played(page);
  const address = page.url();
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "Skip to the answer");
  await page.keyboard.press("Enter");
  assert.equal(await page.evaluate(() => document.activeElement.id), "answer");
  assert.equal(page.url(), address);
  await page.close();
});

test("a lesson asks first, then shows, by keyboard alone", async () => {
  const { page, complaints } = await open({}, { width: 390, height: 844, reducedMotion: "reduce" });
  await played(page);
  await page.getByRole("button", { name: "The queue that is too long" }).focus();
  await page.keyboard.press("Enter");
  for (let screen = 1; screen <= 4; screen++) {
    await page.getByText(`screen ${screen} of 4`).waitFor();
    assert.equal(await page.evaluate(() => document.activeElement.id), "lesson-title");
    assert.ok(await page.locator(".scene").isHidden(), "nothing is shown before the prediction");
    assert.ok(await page.locator(".columns").isHidden());
    await page.locator(".lesson input[type=radio]").first().focus();
    await page.keyboard.press("Space");
    await page.locator(".scene canvas").first().waitFor();
    assert.match(await page.locator(".said").textContent(), /^(You were right|You said)/);
    assert.match(await page.getByLabel("Time of the session").getAttribute("aria-valuetext"), /window \d+ packets.*buffer/);
    // The charts are where the scene is: at its beginning, since nothing moves by itself here.
    const [scene, chart] = await page.evaluate(() => [document.querySelector(".scene-controls .note"), document.querySelector(".lesson .u-legend .u-value")].map((one) => Number.parseFloat(one.textContent)));
    assert.ok(Math.abs(scene - chart) <= 0.3, `the scene is at ${scene} s, the charts at ${chart} s`);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "nothing is cut at the side");
    if (screen === 2) {
      assert.deepEqual(await violations(page), []);
      await picture(page, "lesson-390");
    }
    const next = page.getByRole("button", { name: screen < 4 ? "Next" : "Done" });
    await next.focus();
    await page.keyboard.press("Enter");
  }
  await page.locator(".columns").waitFor();
  assert.deepEqual(complaints, []);
  await page.close();
});

test("a lesson moves, can be turned, and leads to the explorer at that point", async () => {
  const { page } = await open({ scenario: "wireless", lesson: "film.1" });
  await page.getByText("screen 2 of 4").waitFor();
  await page.getByLabel("More than a tenth").check();
  const said = page.locator(".said");
  await page.getByText(/^You were right/).waitFor();
  const time = page.getByLabel("Time of the session");
  const begun = await time.inputValue();
  await page.waitForFunction((value) => document.querySelector(".scene input").value !== value, begun);
  await page.locator('.lesson [data-knob="loss0"]').evaluate((range) => {
    range.value = 0;
    range.dispatchEvent(new Event("input", { bubbles: true }));
  });
  await page.waitForFunction(() => document.querySelector(".said").textContent.includes("stood still for 0"));
  assert.doesNotMatch(await said.textContent(), /You/);
  await page.getByRole("link", { name: "Open this in the explorer" }).click();
  await played(page);
  assert.equal(await page.$eval("#knob-loss0", (field) => field.value), "0");
  assert.ok(await page.locator(".lesson").isHidden());
  await page.close();
});

test("what was turned can be undone, and two situations stand beside each other", async () => {
  const { page, complaints } = await open();
  await played(page);
  const [digests, loss] = [() => page.evaluate(() => document.documentElement.dataset.digests), () => page.$eval("#knob-loss0", (field) => field.value)];
  const [before, was] = [await digests(), await loss()];
  assert.ok(await page.getByRole("button", { name: "Undo" }).isDisabled());
  assert.ok(await page.locator("#beside").isHidden());
  await page.getByRole("button", { name: "Keep this to compare" }).click();
  await slide(page, "loss0", 170);
  assert.match(await page.locator("#beside table").first().textContent(), /Random loss/);
  assert.equal(await page.locator("#beside .strip").count(), 4);
  const headlines = await page.locator(".side > p").allTextContents();
  assert.equal(new Set(headlines).size, 2);
  const link = page.url();
  await page.keyboard.press("Control+z");
  await page.waitForFunction((value) => document.querySelector("#knob-loss0").value === value, was);
  await played(page);
  assert.equal(await digests(), before);
  assert.deepEqual(complaints, []);
  await page.close();

  const { page: again } = await emptyPage(browser, {});
  await again.goto(link);
  await played(again);
  await again.waitForFunction((texts) => JSON.stringify([...document.querySelectorAll(".side > p")].map((one) => one.textContent)) === JSON.stringify(texts), headlines);
  assert.deepEqual(await violations(again), []);
  await picture(again, "beside");
  await again.close();
});

test("the answer stays in sight beside the controls", async () => {
  const { page } = await open();
  await played(page);
  await page.evaluate(() => scrollTo(0, 1500));
  const top = await page.$eval("#answer", (answer) => answer.getBoundingClientRect().top);
  assert.ok(top >= 0 && top < 40, `${top}`);
  await page.close();
});

test("on a phone path and senders come before the results, and the answer is in sight while they are turned", async () => {
  const { page } = await open({}, { width: 390, height: 844 });
  await played(page);
  await page.locator('[data-knob="rate0"]').scrollIntoViewIfNeeded();
  const [knob, sender, answer, results] = await page.evaluate(() =>
    ['[data-knob="rate0"]', "[data-sender]", "#answer", "#viewers"].map((one) => document.querySelector(one).getBoundingClientRect().toJSON()));
  assert.ok(knob.top < sender.top && sender.top < results.top, "controls first");
  assert.ok(answer.top > 0 && answer.bottom <= 844, "the answer is in sight");
  assert.ok(knob.bottom <= answer.top, "and does not cover what is turned");
  await page.close();
});

for (const [width, scheme] of [[1400, "light"], [1400, "dark"], [390, "light"]]) {
  test(`nothing is hidden from anybody: ${width} px, ${scheme}`, async () => {
    const { page } = await open({}, { width, height: width === 390 ? 844 : 1000, colorScheme: scheme });
    await played(page);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "nothing is cut at the side");
    assert.deepEqual(await violations(page), []);
    await picture(page, `explorer-${width}-${scheme}`);
    await page.close();
  });
}
