// What the tests in a real browser share: Chromium, and pages whose complaints are heard.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { chromium } from "playwright-core";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"];
/** Milliseconds that a busy machine may take. */
export const PATIENCE = 240_000;

export function launch() {
  return chromium.launch({ executablePath: process.env.PLAYPATH_CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu"] });
}

/** An empty page, and what it will have complained about or asked the network for. */
export async function emptyPage(browser, { width = 1400, height = 1000, ...more }) {
  const page = await browser.newPage({ viewport: { width, height }, ...more });
  page.setDefaultTimeout(PATIENCE);
  const complaints = [];
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("request", (request) => /^(file|blob|data):/.test(request.url()) || complaints.push(`asked for ${request.url()}`));
  return { page, complaints };
}

/** What the dialog of the page saves of a figure, as a picture, a drawing or numbers. */
export async function saved(page, title, kind) {
  await page.getByRole("button", { name: "Save a figure" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Figure").selectOption({ label: title });
  const [download] = await Promise.all([page.waitForEvent("download"), dialog.getByRole("button", { name: kind }).click()]);
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  return { name: download.suggestedFilename(), content: readFileSync(await download.path()) };
}

/** What axe finds on a page: a line for each rule, with the elements. */
export async function violations(page) {
  await page.evaluate(axe);
  const found = await page.evaluate((rules) => globalThis.axe.run(document, { runOnly: rules }), RULES);
  return found.violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html.slice(0, 120)).join(" | ")}`);
}
