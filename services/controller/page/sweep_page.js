// One sweep: how far it is, which points are worth a look, and what each came to.

import {append, el} from "./element.js";
import {follow, patchJson, remove, sweepPath} from "./api.js";
import {actionButton, confirmed, save, saveBlob} from "./actions.js";
import {ago, count} from "./numbers.js";
import {responsive} from "./marks.js";
import {isOver, lastCondition, phaseTag} from "./job_fields.js";
import {conditionsPart, specPart} from "./job_parts.js";
import {bestText, isSuspended, matrixOf, meritsOf, pointsOf, progressText, sizeOfSweep, countsOf} from "./sweep_fields.js";
import {drawnPoints, sweepChart} from "./sweep_chart.js";
import {pointsCsv, pointsTable} from "./sweep_points.js";

function headOf(sweep, name, actions) {
  const condition = lastCondition(sweep);
  const fields = Object.entries(matrixOf(sweep)).map(([path, values]) => `${path} × ${count(values.length)}`);
  return [
    el("div", {class: "bar"}, el("h1", {}, name), phaseTag(sweep), el("div", {class: "actions"}, actions)),
    el("p", {class: "target"}, fields.join("  ·  ")),
    el("p", {class: "note"}, condition.message && `${condition.reason}: ${condition.message}`),
    isSuspended(sweep) && el("p", {class: "warning"}, "Suspended: no point begins, and jobs that exist go on."),
    el("p", {class: "note"}, "created ", ago(sweep.metadata.creationTimestamp),
      Object.entries(sweep.metadata.labels || {}).map(([key, value]) =>
        [" ", el("span", {class: "label"}, `${key}=${value}`)]))];
}

function progressOf(sweep) {
  const counts = countsOf(sweep);
  return [el("p", {class: "lead"}, progressText(sweep)),
    !isOver(sweep) && el("progress", {max: String(sizeOfSweep(sweep)),
      value: (counts.complete || 0) + (counts.failed || 0), "aria-label": "Points that are over"}),
    bestText(sweep) && el("p", {}, isOver(sweep) ? "The fastest is " : "The fastest so far is ", el("b", {}, bestText(sweep)), ".")];
}

function chartPart(sweep) {
  const points = pointsOf(sweep);
  const drawn = drawnPoints(points);
  const {priced} = meritsOf(points);
  if (drawn.length === 0) return null;
  return [responsive((width, height) => sweepChart(drawn, sweep, width, height), 300),
    el("p", {class: "note"}, "Diamonds are the Pareto front: no other point beats them in both throughput and ",
      priced ? "cost" : "memory head-room", ". The table says the same. The axes do not begin at zero.")];
}

/** How many jobs run at a time; `change` is asked for another number. */
function paceOf(concurrency, change) {
  const field = el("input", {type: "number", id: "pace", min: "1", max: "64", required: true, value: concurrency});
  return el("form", {class: "line pace", onsubmit: (event) => {
    event.preventDefault();
    change(Number(field.value));
  }}, el("label", {for: "pace"}, "Jobs at a time"), field, el("button", {type: "submit"}, "Change"));
}

export function sweepView([namespace, name]) {
  const path = sweepPath(namespace, name);
  const head = el("div", {class: "job-head"});
  const notice = el("div", {role: "alert"});
  const progress = el("div", {}, el("p", {class: "note"}, "Loading…"));
  const pace = el("div");
  const chart = el("div");
  const chartNode = el("section", {class: "part wide", hidden: true}, el("h2", {}, "What is worth it"), chart);
  const points = pointsTable();
  const conditions = el("div");
  const spec = el("div");
  const parts = el("div", {class: "parts", hidden: true}, chartNode,
    el("section", {class: "part wide"}, el("h2", {}, "Points"), points.node),
    el("section", {class: "part"}, el("h2", {}, "Conditions"), conditions),
    el("section", {class: "part"}, el("h2", {}, "Document"), spec));
  const node = el("article", {class: "sweep"},
    el("nav", {class: "crumbs", "aria-label": "Place"}, el("a", {href: "#/sweeps"}, "Sweeps"), ` / ${namespace}`),
    head, notice, el("div", {class: "hero waiting"}, progress, pace), parts);
  const abort = new AbortController();
  const shown = new Map();
  let latest = null;
  let asked = false;

  const fail = (problem) => notice.replaceChildren(el("p", {class: "notice"}, problem.message,
    (problem.errors || []).length > 0 && el("ul", {}, problem.errors.map((error) => el("li", {}, error.detail)))));

  const gone = () => notice.replaceChildren(el("p", {class: "notice"}, "The sweep was deleted with its jobs. ",
    el("a", {href: "#/sweeps"}, "To the list")));

  async function setPace(concurrency) {
    try {
      await patchJson(path, {spec: {concurrency}});
      notice.replaceChildren();
    } catch (problem) {
      fail(problem);
    }
  }

  function actions() {
    const sweep = latest;
    const suspend = !(sweep.spec || {}).suspend;
    const csv = () => saveBlob(new Blob([pointsCsv(latest, points.ordered())], {type: "text/csv"}), `${name}.csv`);
    return [
      !isOver(sweep) && actionButton(suspend ? "Suspend" : "Resume", () => patchJson(path, {spec: {suspend}}), fail),
      pointsOf(sweep).length > 0 && actionButton("CSV", csv, fail),
      actionButton("JSON", () => save(path, `${name}.json`), fail),
      el("a", {class: "button", href: `#/submit?sweep=${encodeURIComponent(`${namespace}/${name}`)}`}, "Run again"),
      actionButton("Delete", confirmed(`Delete the sweep ${name} with its ${count(sizeOfSweep(sweep))} points and their jobs?`,
        // Of one that is over no event follows.
        () => remove(path).then(() => isOver(sweep) && gone())), fail, "danger")];
  }

  /** Makes a part again when what it shows is something else; the focus stays at its place. */
  function update(part, data, render) {
    const text = JSON.stringify(data);
    if (shown.get(part) === text) return;
    shown.set(part, text);
    const places = () => [...part.querySelectorAll("a, button")];
    const focused = places().indexOf(document.activeElement);
    part.replaceChildren();
    append(part, [render()]);
    if (focused >= 0 && places()[focused]) places()[focused].focus();
  }

  function show() {
    const sweep = latest;
    const status = sweep.status || {};
    parts.hidden = false;
    update(head, [sweep.spec, sweep.metadata.labels, sweep.metadata.deletionTimestamp, status.phase, lastCondition(sweep)],
      () => headOf(sweep, name, actions()));
    update(progress, [status.counts, status.best, status.phase], () => progressOf(sweep));
    const {concurrency = 1} = sweep.spec || {};
    update(pace, [concurrency, isOver(sweep)], () => !isOver(sweep) && paceOf(concurrency, setPace));
    const drawn = pointsOf(sweep).map((row) => [row.name, row.iterationSeconds, row.front]);
    update(chart, drawn, () => chartPart(sweep) || []);
    chartNode.hidden = chart.childElementCount === 0;
    points.show(sweep);
    update(conditions, status.conditions || [], () => conditionsPart.render(status.conditions || []));
    update(spec, sweep.spec, () => specPart.render(sweep.spec || {}));
  }

  follow(`${path}/events`, abort.signal, (event, data) => {
    if (event === "end") {
      if (data.reason === "deleted") gone();
      return;
    }
    latest = data;
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      show();
    });
  }, (state) => {
    if (!(state instanceof Error)) return state === "live" && !notice.textContent.includes("deleted") &&
      notice.replaceChildren();
    if (state.status !== 404) return fail(state);
    parts.hidden = true;
    head.replaceChildren();
    progress.replaceChildren(el("div", {class: "empty"}, el("h1", {}, "No such sweep"), el("p", {}, state.message),
      el("p", {}, el("a", {class: "button", href: "#/sweeps"}, "All sweeps"))));
  });
  return {title: `${name} – sweep`, node, close: () => abort.abort()};
}
