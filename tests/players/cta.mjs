// The SVTA's library for CTA-5004 and CTA-5006, which dash.js uses: reads each line of standard input and writes it again.
// A line is "cmcd1", "cmcd2", "event" or "cmsd", a space, and the text.
import { decodeCmcd, encodeCmcd } from "@svta/cml-cmcd";
import { decodeCmsdDynamic, encodeCmsdDynamic } from "@svta/cml-cmsd";
import { readFileSync } from "node:fs";

const again = {
  cmcd1: (text) => encodeCmcd(decodeCmcd(text, { convertToLatest: false }), { version: 1 }),
  cmcd2: (text) => encodeCmcd(decodeCmcd(text), { version: 2 }),
  event: (text) => encodeCmcd(decodeCmcd(text), { version: 2, reportingMode: "event" }),
  cmsd: (text) => encodeCmsdDynamic(decodeCmsdDynamic(text)),
};
for (const line of readFileSync(0, "utf8").split("\n").filter(Boolean)) {
  const [kind, text] = [line.slice(0, line.indexOf(" ")), line.slice(line.indexOf(" ") + 1)];
  console.log(again[kind](text));
}
