/** Without a video: what each flow got. */

import type { FlowRecord } from "../engine/types";
import { short } from "../model/quantity";
import { h } from "./dom";

const HEAD = ["flow", "control", "goodput (Mbit/s)", "RTT (ms)", "retransmitted"];

export function flowTable(flows: FlowRecord[]): HTMLElement {
  const rows = flows.map((flow) => h("tr", {}, h("th", { scope: "row" }, flow.name), h("td", {}, flow.cc), h("td", {}, short(flow.goodput_mbps)), h("td", {}, short(flow.mean_rtt_ms)), h("td", {}, String(flow.retransmitted_packets))));
  return h(
    "div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Flows" },
    h("table", {}, h("caption", {}, "Nobody watches in this scenario; its flows, in the first seed."), h("thead", {}, h("tr", {}, ...HEAD.map((text) => h("th", { scope: "col" }, text)))), h("tbody", {}, ...rows)),
  );
}
