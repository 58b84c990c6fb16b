// What a prediction costs on real GPUs: in GPU hours, and in money once the reader has given a price. The price stays in the
// reader's browser.

import {el} from "./element.js";
import {count, figureText, money} from "./numbers.js";
import {openDialog} from "./dialog.js";
import {figure} from "./marks.js";
import {predictionOf, throughputOf, timeOf} from "./job_fields.js";

const KEY = "eidolon.price";
const CURRENCY = "USD";
// How much of each unit a cost is of.
const AMOUNTS = {tokens: [1e6, "1 M tokens"], samples: [1000, "1,000 samples"], iterations: [1000, "1,000 iterations"]};

/** {perGpuHour, currency}, or null. */
export function priceOf() {
  try {
    const price = JSON.parse(localStorage.getItem(KEY));
    return price && price.perGpuHour > 0 ? price : null;
  } catch {
    return null;
  }
}

/** {hours, of, perStep}: GPU hours of a usual amount of work, and of a step; null before a prediction. */
export function gpuHoursOf(job) {
  const {gpus} = predictionOf(job).target || {};
  const [time, rate] = [timeOf(job), throughputOf(job)];
  if (!(gpus > 0) || !time || !(time.value > 0)) return null;
  if (!rate || !(rate.perSecond > 0)) return {hours: gpus * time.value / 3600, of: time.what === "program" ? "the program" : "a step"};
  const [amount, of] = AMOUNTS[rate.unit] || [1000, `1,000 ${rate.unit}`];
  return {hours: gpus * amount / rate.perSecond / 3600, of, perStep: gpus * time.value / 3600};
}

function askPrice() {
  const {perGpuHour = "", currency} = priceOf() || {currency: CURRENCY};
  const amount = el("input", {type: "number", id: "price-amount", min: "0", step: "any", value: perGpuHour});
  const code = el("input", {id: "price-currency", maxlength: "3", size: "4", autocomplete: "off", value: currency});
  openDialog("Price of a GPU hour", (close) => el("form", {onsubmit: (event) => {
    event.preventDefault();
    const price = {perGpuHour: Number(amount.value), currency: code.value.trim().toUpperCase() || CURRENCY};
    try {
      localStorage.setItem(KEY, JSON.stringify(price));
    } catch {
      // Private windows may keep nothing.
    }
    close();
    dispatchEvent(new Event("price"));
  }}, el("p", {class: "note"}, "It stays in this browser. An empty price shows GPU hours."),
  el("div", {class: "line"}, el("label", {for: "price-amount"}, "Price"), amount,
    el("label", {for: "price-currency"}, "Currency"), code, el("button", {type: "submit", class: "primary"}, "Use"))));
}

/** The number and its unit. */
export const gpuTime = (hours) => hours >= 0.01 ? [figureText(hours), "GPU hours"] : [figureText(hours * 3600), "GPU seconds"];

/** The figure of a job's cost, with a button that asks for the price. */
export function costFigure(job) {
  const cost = gpuHoursOf(job);
  if (!cost) return "";
  const price = priceOf();
  const {gpus} = predictionOf(job).target;
  const note = price && [cost.perStep && `${money(cost.perStep * price.perGpuHour, price.currency)} a step`,
    `${money(price.perGpuHour, price.currency)} for each of ${count(gpus)} GPUs and hour`].filter(Boolean).join(", ");
  const node = price ? figure(`Cost of ${cost.of}`, money(cost.hours * price.perGpuHour, price.currency), "", note, "cost")
    : figure(`Cost of ${cost.of}`, ...gpuTime(cost.hours), "", "cost");
  node.querySelector("dd").append(" ", el("button", {type: "button", class: "quiet small", onclick: askPrice},
    price ? "Change the price" : "Set a price"));
  return node;
}
