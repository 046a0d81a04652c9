// Reports in a real browser: PLAYPATH_REPORTS is a folder with compare.html, hostile.html and run.html, which
// tests/python/test_report_page.py writes. Pictures go to PLAYPATH_PICTURES if it is set.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { axe, emptyPage, launch } from "./page.mjs";

const folder = process.env.PLAYPATH_REPORTS;
const skip = folder ? false : "PLAYPATH_REPORTS is not set: tests/python/test_report_page.py sets it";

let browser;
before(async () => {
  if (folder) browser = await launch();
});
after(() => browser?.close());

async function open(name, look = {}) {
  const { page, complaints } = await emptyPage(browser, { acceptDownloads: true, ...look });
  await page.goto(pathToFileURL(join(folder, `${name}.html`)).href);
  await page.waitForSelector(".charts canvas");
  return { page, complaints };
}

async function taken(page, button) {
  const [download] = await Promise.all([page.waitForEvent("download"), button.click()]);
  return { name: download.suggestedFilename(), content: readFileSync(await download.path()) };
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

  const figure = page.locator("figure.drawn").first();
  await figure.scrollIntoViewIfNeeded();
  const [x, y, told] = await figure.evaluate((element) => JSON.parse(element.querySelector("script").textContent).points[0]);
  const drawing = figure.locator("svg");
  const box = await drawing.boundingBox();
  const scale = box.width / (await drawing.evaluate((svg) => svg.viewBox.baseVal.width));
  await page.mouse.move(box.x + x * scale, box.y + y * scale);
  assert.match(await figure.locator(".tip").textContent(), new RegExp(told.slice(0, 8).replaceAll(/[^\w ]/g, ".")));

  const png = await taken(page, figure.getByRole("button", { name: "PNG" }));
  assert.deepEqual([...png.content.subarray(1, 4)], [...Buffer.from("PNG")]);
  const svg = await taken(page, figure.getByRole("button", { name: "SVG" }));
  assert.match(svg.content.toString(), /^<svg /);
  assert.doesNotMatch(svg.content.toString(), /var\(/);
  const numbers = await taken(page, figure.getByRole("button", { name: "CSV" }));
  assert.match(numbers.content.toString(), /^panel,what,x,y\r\n/);

  const chart = page.locator("#chart-window");
  await chart.scrollIntoViewIfNeeded();
  const series = await taken(page, chart.getByRole("button", { name: "CSV" }));
  assert.match(series.content.toString(), /^time_s,/);
  const lines = await taken(page, chart.getByRole("button", { name: "SVG" }));
  assert.match(lines.content.toString(), /<path /);

  const over = await chart.locator(".u-over").boundingBox();
  await page.mouse.move(over.x + 0.2 * over.width, over.y + 40);
  await page.mouse.down();
  await page.mouse.move(over.x + 0.3 * over.width, over.y + 40, { steps: 4 });
  await page.mouse.up();
  await page.getByRole("button", { name: "Show the whole session" }).waitFor();
  assert.deepEqual(complaints, []);
  await page.close();
});

test("packets of one path: lost, sent again, and those of another sender", { skip }, async () => {
  const { page, complaints } = await open("compare");
  const note = page.locator(".packets [aria-live]");
  assert.match(await note.textContent(), /packets sent, \d+ lost on the channel/);
  const drawing = await taken(page, page.getByRole("button", { name: /^SVG.*Packets of/ }));
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

test("paper is light, and shows what is folded", { skip }, async () => {
  const { page } = await open("compare", { colorScheme: "dark" });
  const state = () => page.evaluate(() => [getComputedStyle(document.body).backgroundColor, document.querySelectorAll("details:not([open])").length]);
  const screen = await state();
  assert.ok(screen[1] > 0);
  await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
  assert.deepEqual(await state(), ["rgb(255, 255, 255)", 0]);
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

// Both widths, both schemes and both kinds of page; what breaks in one of these breaks in it wherever it meets the others.
for (const [name, width, scheme] of [["compare", 1400, "light"], ["compare", 390, "dark"], ["run", 390, "light"]]) {
  test(`${name} is for everybody: ${width} px, ${scheme}`, { skip }, async () => {
    const { page, complaints } = await open(name, { width, height: width === 390 ? 844 : 1000, colorScheme: scheme });
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "nothing is cut at the side");
    await page.evaluate(axe);
    const { violations } = await page.evaluate(() => globalThis.axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"] }));
    assert.deepEqual(violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html.slice(0, 160)).join(" | ")}`), []);
    assert.deepEqual(complaints, []);
    if (process.env.PLAYPATH_PICTURES) await page.screenshot({ path: join(process.env.PLAYPATH_PICTURES, `${name}-${width}-${scheme}.png`), fullPage: true });
    await page.close();
  });
}
