// All that ran: kernels, collectives and copies with their source, filtered by name and kind.

import {append, el} from "./element.js";
import {count, percent, seconds} from "./numbers.js";
import {kindOf, tagOfSource} from "./job_fields.js";
import {shortName} from "./text.js";

const SHOWN = 12;

function rowOf(kernel, total, largest, errors, rates) {
  const name = kernel.name === "collective" ? kernel.family : kernel.name;
  const cut = shortName(name);
  return el("tr", {},
    el("th", {scope: "row"}, el("code", {title: name}, cut),
      el("div", {class: "note"}, kindOf(kernel), kernel.name === "collective" ? "" : ` · ${kernel.family}`)),
    el("td", {}, tagOfSource(kernel.source)),
    errors && el("td", {class: "number"}, kernel.error === undefined ? "" : `± ${percent(kernel.error, 0)}`),
    rates && el("td", {class: "number"}, kernel.matrixFlops && kernel.seconds
      ? (kernel.matrixFlops / kernel.seconds * 1e-12).toFixed(1) : ""),
    el("td", {class: "number"}, count(kernel.launches)),
    el("td", {class: "number"}, seconds(kernel.launches ? kernel.seconds / kernel.launches : undefined, 3)),
    el("td", {class: "number"}, seconds(kernel.seconds, 3),
      el("span", {class: "meter", "aria-hidden": "true"}, el("span", {class: `fill part-${kernel.source}`,
        style: {width: `${kernel.seconds / largest * 100}%`}}))),
    el("td", {class: "number"}, percent(kernel.seconds / total)));
}

export function kernelsPart({kernels, count: all, what}) {
  const total = kernels.reduce((sum, kernel) => sum + kernel.seconds, 0) || 1;
  const largest = Math.max(...kernels.map((kernel) => kernel.seconds), 1e-12);
  const errors = kernels.some((kernel) => kernel.error !== undefined);
  const rates = kernels.some((kernel) => kernel.matrixFlops);
  const body = el("tbody");
  const tally = el("p", {class: "note", role: "status"});
  const search = el("input", {type: "search", placeholder: "Filter kernels", "aria-label": "Filter kernels",
    spellcheck: "false", oninput: () => show()});
  const more = el("button", {type: "button", onclick: () => {
    whole = true;
    show();
  }}, "Show all");
  let whole = false;
  const kinds = ["all", "kernel", "collective", "copy"];
  let kind = "all";
  const chips = kinds.map((one) => el("button", {type: "button", class: "chip", onclick: () => {
    kind = one;
    show();
  }}, {all: "All", kernel: "Kernels", collective: "Collectives", copy: "Copies"}[one]));

  function show() {
    chips.forEach((chip, i) => chip.setAttribute("aria-pressed", String(kinds[i] === kind)));
    const words = search.value.toLowerCase();
    const found = kernels.filter((kernel) => (kind === "all" || kindOf(kernel) === kind) &&
      `${kernel.name} ${kernel.family} ${kernel.source}`.toLowerCase().includes(words));
    const wanted = whole ? found : found.slice(0, SHOWN);
    body.replaceChildren(...wanted.map((kernel) => rowOf(kernel, total, largest, errors, rates)));
    more.hidden = wanted.length === found.length;
    tally.textContent = `${count(wanted.length)} of ${count(found.length)} shown` +
      (all > kernels.length ? `; the job has ${count(all)}, the shortest are not listed` : "");
  }
  show();
  const node = document.createDocumentFragment();
  append(node, [
    el("p", {class: "note"}, what === "iteration" ? "Busy time of the first measured iteration, summed over ranks."
      : "Busy time of the program, summed over ranks.", " What overlaps counts fully."),
    el("div", {class: "bar"}, search, el("div", {class: "chips", role: "group", "aria-label": "Kind"}, chips)),
    el("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": "Kernels"},
      el("table", {class: "kernels"}, el("caption", {class: "unseen"}, "Kernels and collectives"),
        el("thead", {}, el("tr", {}, ["Name", "Source", errors && "Error", rates && "TFLOP/s", "Launches", "Each", "Busy time", "Share"]
          .filter(Boolean).map((title, i) => el("th", {scope: "col", class: i > 1 && "number"}, title)))), body)),
    el("div", {class: "bar"}, tally, more)]);
  return node;
}
