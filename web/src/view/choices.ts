/** What is compared besides senders: a row for each setting, with its values. */

import type { Axis, Prepared } from "../engine/types";
import { type Offered, read, written } from "../model/choices";
import { h } from "./dom";

const OTHER = "another setting";

export function choices(prepared: Prepared, offered: Offered[], set: (axes: Axis[]) => void): HTMLElement {
  const axes = prepared.plain.choice ?? [];
  const change = (key: string, values: unknown[]) => set(values.length > 0 ? axes.map((axis) => (axis.key === key ? { key, values } : axis)) : axes.filter((axis) => axis.key !== key));
  const free = offered.filter(({ key }) => axes.every((axis) => axis.key !== key));
  const add = h("select", { "aria-label": "Compare values of", onchange: () => {
    const chosen = free.find(({ label }) => label === add.value);
    if (chosen) set([...axes, { key: chosen.key, values: chosen.values }]);
    else key.hidden = add.value !== OTHER;
  } }, h("option", { value: "" }, "add a setting …"), ...free.map(({ label }) => h("option", { value: label }, label)), h("option", {}, OTHER));
  const entered = h("input", { type: "text", placeholder: "path.jitter=0 ms,10 ms", "aria-label": "A setting and its values", onchange: () => {
    const [name, ...values] = entered.value.split("=");
    if (values.length > 0) set([...axes, { key: name.trim(), values: read(values.join("=")) }]);
  } });
  const key = h("div", { hidden: true }, entered);
  return h("fieldset", { class: "choices-to-compare" }, h("legend", {}, "Choices to compare"), h("p", { class: "note" }, axes.length === 0 ? "The senders alone. Add a setting, and each of its values plays with every sender." : "Each sender plays with every combination."), ...axes.map((axis) => row(axis, offered.find(({ key }) => key === axis.key), change)), add, key);
}

function row({ key, values }: Axis, offered: Offered | undefined, change: (key: string, values: unknown[]) => void): HTMLElement {
  const name = h("strong", { title: key }, offered?.label ?? key);
  const drop = h("button", { type: "button", class: "small", "aria-label": `Remove ${offered?.label ?? key}`, onclick: () => change(key, []) }, "Remove");
  const words = offered?.words;
  if (!words || !values.every((value) => words.includes(value as string))) {
    const field = h("input", { type: "text", value: written(values), "aria-label": `Values of ${offered?.label ?? key}`, onchange: () => change(key, read(field.value)) });
    return h("div", { class: "axis" }, name, drop, field);
  }
  const box = (word: string) => {
    const isOn = values.includes(word);
    const flip = () => change(key, isOn ? values.filter((value) => value !== word) : [...values, word]);
    return h("label", { class: "tick" }, h("input", { type: "checkbox", checked: isOn, disabled: isOn && values.length < 3, onchange: flip }), word);
  };
  return h("div", { class: "axis" }, name, drop, h("div", { class: "ticks-box" }, ...words.map(box)));
}
