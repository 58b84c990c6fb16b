// The list of sweeps, as it changes.

import {el, route} from "./element.js";
import {ago, count, DASH, seconds} from "./numbers.js";
import {isOver, lastCondition, PHASES, phaseOf, phaseTag} from "./job_fields.js";
import {keyOf, sweepStore} from "./object_store.js";
import {shortName} from "./text.js";
import {sortableTable} from "./sortable_table.js";
import {countsOf, isSuspended, matrixOf, progressText, sizeOfSweep} from "./sweep_fields.js";

function pointsCell(sweep) {
  const counts = countsOf(sweep);
  const over = (counts.complete || 0) + (counts.failed || 0);
  return [progressText(sweep), !isOver(sweep) &&
    el("progress", {max: String(sizeOfSweep(sweep)), value: over, "aria-label": "Points that are over"})];
}

function stateCell(sweep) {
  const condition = lastCondition(sweep);
  return [phaseTag(sweep), phaseOf(sweep) === "Failed" &&
    el("div", {class: "note", title: condition.message}, condition.reason),
  phaseOf(sweep) === "Running" && isSuspended(sweep) && el("div", {class: "note"}, "suspended; jobs that exist go on")];
}

function bestCell(sweep) {
  const best = (sweep.status || {}).best;
  if (!best) return DASH;
  return [seconds(best.iterationSeconds), el("div", {class: "note", title: best.name}, shortName(best.name, 60))];
}

const fieldsCell = (sweep) => Object.entries(matrixOf(sweep)).map(([path, values]) =>
  el("div", {class: "note"}, el("code", {}, path), ` × ${count(values.length)}`));

const COLUMNS = [
  {id: "name", title: "Sweep", value: keyOf, cell: (sweep) => [
    el("a", {href: route("sweeps", sweep.metadata.namespace, sweep.metadata.name)}, sweep.metadata.name),
    el("div", {class: "note"}, sweep.metadata.namespace)]},
  {id: "phase", title: "State", value: (sweep) => PHASES.indexOf(phaseOf(sweep)), cell: stateCell},
  {id: "points", title: "Points", value: sizeOfSweep, cell: pointsCell},
  {id: "fields", title: "Fields", value: (sweep) => Object.keys(matrixOf(sweep)).join(" "), cell: fieldsCell},
  {id: "best", title: "Fastest", value: (sweep) => ((sweep.status || {}).best || {}).iterationSeconds, cell: bestCell},
  {id: "created", title: "Created", number: true, value: (sweep) => sweep.metadata.creationTimestamp,
    cell: (sweep) => el("time", {datetime: sweep.metadata.creationTimestamp, title: sweep.metadata.creationTimestamp},
      ago(sweep.metadata.creationTimestamp))},
];

const textOf = (sweep) => [keyOf(sweep), ...Object.keys(matrixOf(sweep)), ((sweep.status || {}).best || {}).name,
  ...Object.entries(sweep.metadata.labels || {}).map(([name, value]) => `${name}=${value}`)].join(" ").toLowerCase();

function emptyState() {
  return el("div", {class: "empty"}, el("h2", {}, "No sweeps yet"),
    el("p", {}, "A sweep predicts a job on every combination of values of some fields, such as GPU models and batch sizes."),
    el("p", {}, el("a", {class: "button primary", href: "#/submit?kind=sweep"}, "New sweep")),
    el("p", {class: "note"}, "or from a terminal: ", el("code", {}, "eidolon sweep --submit -f sweep.yaml")));
}

export function sweepListView() {
  const search = el("input", {type: "search", "aria-label": "Filter sweeps", autocomplete: "off",
    placeholder: "Filter by name, field, label…", spellcheck: "false"});
  const tally = el("p", {class: "note", role: "status"});
  const rows = sortableTable("Sweeps", COLUMNS, {by: "created", down: true, keyOf, className: "sweeps"});
  const place = el("div");
  const node = el("section", {}, el("div", {class: "bar"}, el("h1", {}, "Sweeps"), search,
    el("a", {class: "button primary", href: "#/submit?kind=sweep"}, "New sweep")), place, tally);

  function show() {
    const sweeps = [...sweepStore.objects.values()];
    const {state} = sweepStore;
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = sweeps.filter((sweep) => words.every((word) => textOf(sweep).includes(word)));
    rows.show(found);
    tally.textContent = sweeps.length === 0 ? "" : found.length === 0 ? "No sweep fits the filter."
      : `${count(found.length)} of ${count(sweeps.length)} shown`;
    const failed = state instanceof Error && sweeps.length === 0;
    const shownNow = failed ? "failed" : sweeps.length === 0 && state === "live" ? "empty" : "rows";
    node.setAttribute("aria-busy", String(state === "connecting"));
    if (place.dataset.shown === shownNow) return;
    place.dataset.shown = shownNow;
    place.replaceChildren(failed ? el("div", {class: "empty"}, el("h2", {}, "No answer"), el("p", {}, state.message),
      state.status === 403 && el("p", {}, "Who may see one namespace alone chooses it in the list of ",
        el("a", {href: "#/"}, "jobs"), "."))
      : shownNow === "empty" ? emptyState() : rows.node);
  }

  search.addEventListener("input", show);
  let asked = false;
  const onChange = () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      show();
    });
  };
  sweepStore.addEventListener("change", onChange);
  const close = sweepStore.open();
  const clock = setInterval(() => {
    for (const time of rows.node.querySelectorAll("time")) time.textContent = ago(time.dateTime);
  }, 30000);
  show();
  return {title: "Sweeps", node, close() {
    close();
    clearInterval(clock);
    sweepStore.removeEventListener("change", onChange);
  }};
}
