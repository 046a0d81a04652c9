// What the page and the report are made of: `node build.mjs explorer [OUT]`, by default ../python/playpath/web/explorer.html;
// `node build.mjs report [FOLDER]`, by default ../python/playpath/show/report/assets;
// `node build.mjs site FOLDER`: the explorer for a host, with a worker that keeps it on the reader's device.
//
// The report's script and style are kept in the repository, so that reports need no Node; they have no engine in them.
// The explorer is one page with everything in it.
// The engine travels gzipped in base64 in a data block; the worker's program is text in the page's program. The content security
// policy names the hashes of the one script and the one style, and allows no address to be loaded from.
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
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
  const found = await build({ ...shared, entryPoints: [join(here, entry)], format: "iife", define });
  return found.outputFiles[0].text;
}

const packed = (content) => gzipSync(content, { level: 9 }).toString("base64");
const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

const styled = async (entry) => (await build({ ...shared, entryPoints: [join(here, entry)], loader: { ".css": "css" } })).outputFiles[0].text.trim();

async function explorer(out = join(here, "../python/playpath/web/explorer.html")) {
  const worker = await bundle("src/engine/worker.ts");
  const script = (await bundle("src/main.ts", { WORKER_SOURCE: JSON.stringify(worker) })).replaceAll("</script", "<\\/script");
  const style = await styled("src/style.css");
  const policy = [
    "default-src 'none'", `script-src ${hash(script)} 'wasm-unsafe-eval'`, "worker-src blob:", `style-src ${hash(style)}`,
    "img-src data: blob:", "base-uri 'none'", "form-action 'none'",
  ].join("; ");
  const parts = {
    policy, style, script,
    engine: packed(readFileSync(join(here, "engine/playpath_web.wasm"))),
    shipped: packed(JSON.stringify(shipped())),
  };
  const page = readFileSync(join(here, "src/index.html"), "utf8").replace(/<!--(\w+)-->/g, (_, name) => parts[name]);
  write(out, page);
}

async function report(folder = join(here, "../python/playpath/show/report/assets")) {
  write(join(folder, "report.js"), (await bundle("src/report/main.ts")).replaceAll("</script", "<\\/script"));
  write(join(folder, "report.css"), `${await styled("src/report/report.css")}\n`);
}

/** Of the page that there is: it shows the way to the documents beside it, and may have a worker of its own host. */
async function site(folder) {
  const page = readFileSync(join(here, "../python/playpath/web/explorer.html"), "utf8");
  const changed = (text, from, to) => {
    if (!from.test(text)) throw new Error(`the page has changed: ${from} is not found in it`);
    return text.replace(from, to);
  };
  const shown = changed(changed(page, /(<nav class="site" [^>]*) hidden>/, "$1>"), /worker-src blob:/, "worker-src blob: 'self'");
  write(join(folder, "explorer.html"), shown);
  write(join(folder, "explorer-keep.js"), (await bundle("src/keep.ts")));
}

function write(file, text) {
  mkdirSync(dirname(resolve(file)), { recursive: true });
  writeFileSync(file, text);
  console.log(`${resolve(file)}: ${(text.length / 1024).toFixed(0)} kB, ${(gzipSync(text).length / 1024).toFixed(0)} kB compressed`);
}

const [what, ...where] = process.argv.slice(2);
const makers = { explorer, report, site };
if (!makers[what]) {
  console.error(`build.mjs ${what ?? ""}: give explorer, report or site FOLDER`);
  process.exit(2);
}
await makers[what](...where);
