// Reports in a real browser: PLAYPATH_REPORTS is a folder with one of each kind (compare.html, run.html, sweep.html …), which
// tests/python/test_report_page.py writes. Pictures go to PLAYPATH_PICTURES if it is set.
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { violations, emptyPage, launch, saved } from "./page.mjs";

const folder = process.env.PLAYPATH_REPORTS;
const skip = folder ? false : "PLAYPATH_REPORTS is not set: tests/python/test_report_page.py sets it";

/** Kinds of report that have no session, with what they draw. */
const DRAWN = { sweep: ["field-map", "plane"], population: ["rows", "plane"], twin: ["rows"] };

let browser;
before(async () => {
  if (folder) browser = await launch();
});
after(() => browser?.close());

async function open(name, look = {}) {
  const { page, complaints } = await emptyPage(browser, { acceptDownloads: true, ...look });
  await page.goto(pathToFileURL(join(folder, `${name}.html`)).href);
  await page.waitForSelector(name in DRAWN ? ".made svg" : ".charts canvas");
  return { page, complaints };
}

test("a report is whole: tables in order, tips, pictures and numbers to take away", { skip }, async () => {
  const { page, complaints } = await open("compare");
  assert.equal(await page.locator(".strip").count(), 2);
  assert.ok((await page.locator(".charts canvas").count()) >= 4);

  const metrics = page.locator("table.cards").last();
  await page.getByText("Every metric").click();
  await metrics.locator(".sort").nth(1).click();
  assert.equal(await metrics.locator("thead th").nth(1).getAttribute("aria-sort"), "ascending");
  const values = (await metrics.locator("tbody tr").evaluateAll((rows) => rows.map((row) => Number.parseFloat(row.cells[1].textContent)))).filter(Number.isFinite);
  assert.ok(values.length > 5);
  assert.deepEqual(values, values.toSorted((a, b) => a - b));

  const figure = page.locator("figure.rows").first();
  await figure.scrollIntoViewIfNeeded();
  await figure.locator("g").first().hover();
  assert.match(await figure.locator(".tip").textContent(), /on average/);

  const title = await figure.locator("h3").textContent();
  const png = await saved(page, title, /PNG/);
  assert.deepEqual([...png.content.subarray(1, 4)], [...Buffer.from("PNG")]);
  const svg = await saved(page, title, /SVG/);
  assert.match(svg.content.toString(), /^<svg /);
  assert.doesNotMatch(svg.content.toString(), /var\(/);
  const numbers = await saved(page, title, /CSV/);
  assert.match(numbers.content.toString(), /^sender,[^,]+,low,high,run_1,/);

  const chart = page.locator("#chart-window");
  await chart.scrollIntoViewIfNeeded();
  const series = await saved(page, "Window (packets) over time", /CSV/);
  assert.match(series.content.toString(), /^time_s,/);
  const lines = await saved(page, "Window (packets) over time", /SVG/);
  assert.match(lines.content.toString(), /<path /);

  const over = await chart.locator(".u-over").boundingBox();
  await page.mouse.move(over.x + 0.2 * over.width, over.y + 40);
  await page.mouse.down();
  await page.mouse.move(over.x + 0.3 * over.width, over.y + 40, { steps: 4 });
  await page.mouse.up();
  const shown = page.locator(".navigation [aria-live]");
  assert.match(await shown.textContent(), /^Shown: [\d.:]+\s?s? to .* of /);
  // One cursor in all charts and strips.
  await chart.locator(".u-over").hover({ position: { x: 0.5 * over.width, y: 60 } });
  const cursors = await page.$$eval(".charts .u-cursor-x", (all) => all.map((cursor) => Math.round(cursor.getBoundingClientRect().left)));
  assert.ok(cursors.length >= 4 && new Set(cursors).size === 1, JSON.stringify(cursors));
  assert.equal(await page.locator(".strip-box .now:not([hidden])").count(), 2);
  await page.getByRole("button", { name: "Show the whole session" }).click();
  assert.match(await shown.textContent(), /^Shown: the whole session/);
  await page.locator(".strip-box").first().click({ position: { x: 400, y: 8 } });
  assert.match(await shown.textContent(), / to .* of /);
  assert.deepEqual(complaints, []);
  await page.close();
});

test("strips and charts have one axis", { skip }, async () => {
  const { page } = await open("compare");
  const whole = page.getByRole("button", { name: "Show the whole session" });
  if (await whole.isEnabled()) await whole.click();
  const [strip, chart] = await page.evaluate(() => [".strip-box", "#chart-buffer .u-over"].map((one) => document.querySelector(one).getBoundingClientRect().toJSON()));
  assert.ok(Math.abs(strip.left - chart.left) <= 1 && Math.abs(strip.right - chart.right) <= 1, JSON.stringify([strip, chart]));
  await page.close();
});

test("ten minutes are lines with shades, and the report opens at the longest stop", { skip }, async () => {
  const { page } = await open("long");
  const shown = page.locator(".navigation [aria-live]");
  const opened = await shown.textContent();
  assert.match(opened, / to .* of /);
  await page.getByRole("button", { name: "Show the whole session" }).click();
  await page.getByText("minimum to maximum").waitFor();
  // Where each sender is alone in its row, the shade does not fill the chart: most of it is paper.
  const blank = await page.$eval("#chart-flight canvas", (canvas) => {
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    let blank = 0;
    for (let i = 3; i < data.length; i += 4) blank += Number(data[i] < 100);
    return blank / (data.length / 4);
  });
  assert.ok(blank > 0.7, `${blank} of the chart is blank or shaded`);
  await page.getByRole("button", { name: "Show the longest stop" }).click();
  assert.equal(await shown.textContent(), opened);
  await page.close();
});

test("keys reach every figure without stopping at each", { skip }, async () => {
  const { page } = await open("compare");
  const stops = await page.$$eval("figure button, figure [tabindex='0']", (all) => all.filter((one) => one.tabIndex >= 0).length);
  assert.equal(stops, 0);
  await page.getByRole("button", { name: "Save a figure" }).click();
  const options = await page.getByRole("dialog").locator("option").count();
  assert.equal(options, await page.locator("figure").count());
  await page.close();
});

test("no row of figures is left with one beside room", { skip }, async () => {
  for (const width of [1400, 2560]) {
    const { page } = await open("compare", { width });
    const rows = await page.$$eval(".figures", (all) => all.map((figures) => {
      const boxes = [...figures.children].map((one) => one.getBoundingClientRect());
      const last = boxes.filter((box) => box.top === boxes.at(-1).top);
      return last.at(-1).right - figures.getBoundingClientRect().right;
    }));
    assert.ok(rows.length > 1 && rows.every((gap) => Math.abs(gap) <= 1), JSON.stringify(rows));
    await page.close();
  }
});

test("packets of one path: lost, sent again, and those of another sender", { skip }, async () => {
  const { page, complaints } = await open("compare");
  const note = page.locator(".packets [aria-live]");
  assert.match(await note.textContent(), /packets sent, \d+ lost on the channel/);
  const drawing = await saved(page, await page.locator("#chart-packets h3").textContent().then((title) => title.split(":")[0]), /SVG/);
  assert.match(drawing.content.toString(), /sent again<\/text>/);
  const whose = page.getByLabel("Packets of", { exact: true });
  const [first, second] = await whose.locator("option").allTextContents();
  const other = (await page.locator("#chart-packets h3").textContent()).includes(` ${first}:`) ? second : first;
  await whose.selectOption(other);
  assert.match(await page.locator("#chart-packets h3").textContent(), new RegExp(` ${other}:`));
  assert.deepEqual(complaints, []);
  await page.close();
});

test("a sender can be left out, and others keep their colours", { skip }, async () => {
  const { page } = await open("compare");
  const colours = () => page.$$eval(".who", (all) => Object.fromEntries(all.map((who) => [who.querySelector("b").textContent, who.querySelector(".swatch").style.background])));
  const before = await colours();
  await page.locator(".choices input").first().uncheck();
  const after = await colours();
  assert.equal(Object.keys(after).length, Object.keys(before).length - 1);
  for (const [sender, colour] of Object.entries(after)) assert.equal(colour, before[sender]);
  await page.close();
});

test("paper is light, and shows what is folded but for long lists", { skip }, async () => {
  const { page } = await open("compare", { colorScheme: "dark" });
  const state = () => page.evaluate(() => [getComputedStyle(document.body).backgroundColor, document.querySelectorAll("details:not([open])").length]);
  const screen = await state();
  assert.ok(screen[1] > 0);
  await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
  assert.equal((await state())[0], "rgb(255, 255, 255)");
  const rows = (which) => page.evaluate((which) => [...document.querySelectorAll(which)].map((part) => part.querySelectorAll("tr").length), which);
  assert.ok(Math.min(...(await rows("details:not([open])"))) > 60);
  assert.ok(Math.max(...(await rows("details[open]"))) <= 60);
  await page.evaluate(() => dispatchEvent(new Event("afterprint")));
  assert.deepEqual(await state(), screen);
  await page.close();
});

test("hostile names are text", { skip }, async () => {
  const { page, complaints } = await open("hostile");
  assert.equal(await page.locator("img").count(), 0);
  assert.ok((await page.locator(".who b").allTextContents()).every((text) => text.startsWith("<img src=x")));
  assert.deepEqual(complaints, []);
  await page.close();
});

for (const [name, kinds] of Object.entries(DRAWN)) {
  test(`figures of a ${name} tell what is under the cursor, and can be taken away`, { skip }, async () => {
    const { page, complaints } = await open(name);
    for (const kind of kinds) {
      const figure = page.locator(`figure.${kind}`).first();
      await figure.scrollIntoViewIfNeeded();
      const mark = figure.locator(kind === "plane" ? "svg > circle, svg > path[stroke='var(--back)']" : "g text").last();
      await mark.hover({ force: true });
      assert.match(await figure.locator(".tip").textContent(), /\w+: .*\d/, kind);
      const title = await figure.locator("h3").textContent();
      const lines = (await saved(page, title, /CSV/)).content.toString().trim().split("\r\n");
      assert.ok(lines.length > 1 && new Set(lines.map((line) => line.split(",").length)).size === 1, lines.slice(0, 3).join(" / "));
      assert.match((await saved(page, title, /SVG/)).content.toString(), /^<svg [^]*<text/);
    }
    assert.deepEqual(complaints, []);
    await page.close();
  });
}

// Both widths, both schemes and every kind of page; what breaks in one of these breaks in it wherever it meets the others.
for (const [name, width, scheme] of [["compare", 1400, "light"], ["compare", 390, "dark"], ["run", 390, "light"], ["sweep", 390, "dark"], ["sweep", 1400, "light"], ["population", 390, "light"], ["population", 1400, "dark"], ["twin", 390, "dark"]]) {
  test(`${name} is for everybody: ${width} px, ${scheme}`, { skip }, async () => {
    const { page, complaints } = await open(name, { width, height: width === 390 ? 844 : 1000, colorScheme: scheme });
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "nothing is cut at the side");
    assert.deepEqual(await violations(page), []);
    assert.deepEqual(complaints, []);
    if (process.env.PLAYPATH_PICTURES) await page.screenshot({ path: join(process.env.PLAYPATH_PICTURES, `${name}-${width}-${scheme}.png`), fullPage: true });
    await page.close();
  });
}
