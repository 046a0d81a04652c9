// One page with everything in it: `node build.mjs [OUT]`, by default ../python/playpath/web/explorer.html.
//
// The engine travels gzipped in base64 in a data block; the worker's program is text in the page's program. The content security
// policy names the hashes of the one script and the one style, and allows no address to be loaded from.
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const out = resolve(process.argv[2] ?? join(here, "../python/playpath/web/explorer.html"));
const shared = { bundle: true, minify: true, write: false, target: "es2022", charset: "utf8", legalComments: "none", logLevel: "warning" };

/** The shipped scenarios and the files that they name, as the page has them. */
function shipped() {
  const folder = join(here, "../scenarios");
  const scenarios = {}, files = {};
  for (const file of readdirSync(folder).filter((name) => name.endsWith(".toml")).sort()) {
    scenarios[file.replace(/\.toml$/, "")] = readFileSync(join(folder, file), "utf8");
  }
  for (const text of Object.values(scenarios)) {
    for (const [, name] of text.matchAll(/"(traces\/[\w.-]+)"/g)) files[name] = readFileSync(join(folder, name), "utf8");
  }
  return { scenarios, files };
}

async function bundle(entry, define = {}) {
  // wasm-bindgen's module can find its file by its own address; the page hands the module in.
  const found = await build({ ...shared, entryPoints: [join(here, entry)], format: "iife", define: { "import.meta.url": '""', ...define } });
  return found.outputFiles[0].text;
}

const packed = (content) => gzipSync(content, { level: 9 }).toString("base64");
const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

const worker = await bundle("src/engine/worker.ts");
const script = (await bundle("src/main.ts", { WORKER_SOURCE: JSON.stringify(worker) })).replaceAll("</script", "<\\/script");
const style = (await build({ ...shared, entryPoints: [join(here, "src/style.css")], loader: { ".css": "css" } })).outputFiles[0].text.trim();
const policy = [
  "default-src 'none'", `script-src ${hash(script)} 'wasm-unsafe-eval'`, "worker-src blob:", `style-src ${hash(style)}`,
  "img-src data: blob:", "base-uri 'none'", "form-action 'none'",
].join("; ");
const parts = {
  policy, style, script,
  engine: packed(readFileSync(join(here, "engine/playpath_web_bg.wasm"))),
  shipped: packed(JSON.stringify(shipped())),
};
const page = readFileSync(join(here, "src/index.html"), "utf8").replace(/<!--(\w+)-->/g, (_, name) => parts[name]);
mkdirSync(dirname(out), { recursive: true });
writeFileSync(out, page);
console.log(`${out}: ${(page.length / 1024).toFixed(0)} kB, ${(gzipSync(page).length / 1024).toFixed(0)} kB compressed`);
