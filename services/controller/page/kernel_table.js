// All that ran: kernels, collectives and copies with their source, filtered by name and kind.

import {append, el, table} from "./element.js";
import {count, percent, seconds} from "./numbers.js";
import {kindOf, tagOfSource} from "./job_fields.js";
import {shortName} from "./text.js";

const SHOWN = 12;

const errorText = ({error}) => error === undefined ? "" : `± ${percent(error, 0)}`;

const rateText = ({matrixFlops, seconds: time}) => matrixFlops && time ? (matrixFlops / time * 1e-12).toFixed(1) : "";

/** Those of the columns that say something: {title, number, cell(kernel)}. */
function columnsOf(kernels, total) {
  const largest = Math.max(...kernels.map((kernel) => kernel.seconds), 1e-12);
  return [
    {title: "Name", cell: (kernel) => {
      const name = kernel.name === "collective" ? kernel.family : kernel.name;
      return [el("code", {title: name}, kernel.operator || shortName(name)),
        el("div", {class: "note"}, kindOf(kernel), kernel.name === "collective" ? "" : ` · ${kernel.family}`)];
    }},
    {title: "Source", cell: (kernel) => tagOfSource(kernel.source)},
    kernels.some(({error}) => error !== undefined) && {title: "Error", number: true, cell: errorText},
    kernels.some(({matrixFlops}) => matrixFlops) && {title: "TFLOP/s", number: true, cell: rateText},
    {title: "Launches", number: true, cell: (kernel) => count(kernel.launches)},
    {title: "Each", number: true, cell: (kernel) => seconds(kernel.launches ? kernel.seconds / kernel.launches : undefined, 3)},
    {title: "Busy time", number: true, cell: (kernel) => [seconds(kernel.seconds, 3),
      el("span", {class: "meter", "aria-hidden": "true"}, el("span", {class: `fill part-${kernel.source}`,
        style: {width: `${kernel.seconds / largest * 100}%`}}))]},
    {title: "Share", number: true, cell: (kernel) => percent(kernel.seconds / total)},
  ].filter(Boolean);
}

export function kernelsPart({kernels, count: all, what}) {
  const total = kernels.reduce((sum, kernel) => sum + kernel.seconds, 0) || 1;
  const columns = columnsOf(kernels, total);
  const place = el("div");
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
      `${kernel.operator || ""} ${kernel.name} ${kernel.family} ${kernel.source}`.toLowerCase().includes(words));
    const wanted = whole ? found : found.slice(0, SHOWN);
    place.replaceChildren(table("Kernels and collectives", columns,
      wanted.map((kernel) => columns.map((column) => column.cell(kernel))), {class: "kernels"}));
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
    place,
    el("div", {class: "bar"}, tally, more)]);
  return node;
}
