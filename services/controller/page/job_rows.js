// Rows of the list of jobs: a job, and a sweep that stands for the jobs of its points.

import {append, el, route} from "./element.js";
import {ago, bytes, count, DASH, percent, seconds, span} from "./numbers.js";
import {bandMark} from "./marks.js";
import {keyOf} from "./object_store.js";
import {lastCondition, PHASES, phaseOf, phaseTag, predictionOf, rateText, sizeOf, targetOf, throughputOf,
  timeOf} from "./job_fields.js";

export const COLUMNS = [
  {id: "name", title: "Job", value: (job) => keyOf(job)},
  {id: "phase", title: "State", value: (job) => PHASES.indexOf(phaseOf(job))},
  {id: "gpu", title: "Cluster", value: (job) => targetOf(job).gpu},
  {id: "time", title: "Iteration", number: true, value: (job) => (timeOf(job) || {}).value},
  {id: "throughput", title: "Throughput", number: true, value: (job) => (throughputOf(job) || {}).perSecond},
  {id: "mfu", title: "MFU", number: true, value: (job) => predictionOf(job).modelFlopsUtilization},
  {id: "memory", title: "Memory", number: true,
    value: (job) => (predictionOf(job).memory || {}).peakReservedBytes},
  {id: "created", title: "Created", number: true, value: (job) => job.metadata.creationTimestamp},
];

function memoryCell(job) {
  const memory = predictionOf(job).memory;
  if (!memory) return DASH;
  const share = memory.peakReservedBytes / memory.capacityBytes;
  return [bytes(memory.peakReservedBytes), el("span", {class: "meter", "aria-hidden": "true"},
    el("span", {class: memory.fits ? "fill" : "fill over",
      style: {width: `${Math.min(100, share * 100)}%`}}))];
}

function stateCell(job) {
  const progress = job.status && job.status.progress;
  const condition = lastCondition(job);
  const children = [phaseTag(job)];
  if (phaseOf(job) === "Running" && progress) {
    const left = progress.remainingSeconds;
    children.push(el("progress", {max: "100", value: progress.percent, "aria-label": "Progress"}),
      el("div", {class: "note"}, `iteration ${progress.iteration} of ${progress.of}`,
        left > 0 ? `, ${span(left)} left` : ""));
  } else if (["Failed", "Interrupted"].includes(phaseOf(job))) {
    children.push(el("div", {class: "note", title: condition.message}, condition.reason));
  }
  return children;
}

/** `label`: what a point of a sweep is called in the place of its name; undefined elsewhere. */
export function rowOf(job, chosen, choose, label) {
  const target = targetOf(job);
  const time = timeOf(job);
  const rate = throughputOf(job);
  const {namespace, name} = job.metadata;
  const box = el("input", {type: "checkbox", "aria-label": `Compare ${namespace}/${name}`,
    onchange: (event) => choose(keyOf(job), event.target)});
  box.checked = chosen.has(keyOf(job));
  return el("tr", {class: label === undefined ? "" : "point"},
    el("td", {class: "choice"}, box),
    el("th", {scope: "row"}, el("a", {href: route("jobs", namespace, name)}, label || name),
      el("div", {class: "note"}, label ? name : namespace)),
    el("td", {}, stateCell(job)),
    el("td", {}, target.gpu || target.name || DASH,
      el("div", {class: "note"}, [sizeOf(target), target.gpu && target.name].filter(Boolean).join(", "))),
    el("td", {class: "number"}, time ? [seconds(time.value), bandMark(time)] : DASH,
      time && time.what === "program" ? el("div", {class: "note"}, "whole program") : ""),
    el("td", {class: "number"}, rate ? [rateText(rate.perSecond), el("div", {class: "note"}, `${rate.unit}/s`)] : DASH),
    el("td", {class: "number"}, percent(predictionOf(job).modelFlopsUtilization)),
    el("td", {class: "number"}, memoryCell(job)),
    el("td", {class: "number"}, el("time", {datetime: job.metadata.creationTimestamp,
      title: job.metadata.creationTimestamp}, ago(job.metadata.creationTimestamp))));
}

const extreme = (jobs, value, larger) => jobs.map(value).filter((one) => one !== undefined && one !== null)
  .reduce((best, one) => best === undefined || (larger ? one > best : one < best) ? one : best, undefined);

/** What a sweep's row is ordered by: the value of that of its jobs that comes first. */
export const valueOfSweep = (column, jobs, down) => extreme(jobs, column.value, down);

function stateOfSweep(jobs) {
  const numbers = PHASES.map((phase) => [phase, jobs.filter((job) => phaseOf(job) === phase).length]);
  return numbers.filter(([, number]) => number > 0).map(([phase, number]) =>
    el("div", {class: "note"}, `${count(number)} ${phase.toLowerCase()}`));
}

/** The row of a sweep, which stays while its jobs change: {node, update(jobs, open)}. `toggle` unfolds its points. */
export function sweepRow(namespace, name, toggle) {
  const button = el("button", {type: "button", class: "quiet fold", onclick: toggle});
  const points = el("div", {class: "note"});
  const cells = [...COLUMNS.slice(1).map((column) => el("td", {class: column.number && "number"}))];
  const node = el("tr", {class: "sweep-row"}, el("td", {class: "choice"}, button),
    el("th", {scope: "row"}, el("a", {href: route("sweeps", namespace, name)}, name), points), cells);
  let last = "";
  return {node, update(jobs, open) {
    const versions = `${open} ${jobs.map((job) => job.metadata.resourceVersion).join(" ")}`;
    if (versions === last) return;
    last = versions;
    button.textContent = open ? "▾" : "▸";
    button.setAttribute("aria-expanded", String(open));
    button.setAttribute("aria-label", `Points of ${name}`);
    points.textContent = `sweep with ${count(jobs.length)} job${jobs.length === 1 ? "" : "s"} in ${namespace}`;
    const fastest = extreme(jobs, (job) => (timeOf(job) || {}).value, false);
    const rate = jobs.map(throughputOf).filter(Boolean).reduce((best, one) => !best || one.perSecond > best.perSecond ? one : best,
      undefined);
    const gpus = [...new Set(jobs.map((job) => targetOf(job).gpu).filter(Boolean))];
    const created = extreme(jobs, (job) => job.metadata.creationTimestamp, true);
    const contents = [stateOfSweep(jobs),
      [gpus.slice(0, 2).join(", ") || DASH, gpus.length > 2 && el("div", {class: "note"}, `and ${gpus.length - 2} more`)],
      fastest === undefined ? DASH : [seconds(fastest), el("div", {class: "note"}, "fastest")],
      rate ? [rateText(rate.perSecond), el("div", {class: "note"}, `${rate.unit}/s at most`)] : DASH,
      percent(extreme(jobs, (job) => predictionOf(job).modelFlopsUtilization, true)),
      bytes(extreme(jobs, (job) => (predictionOf(job).memory || {}).peakReservedBytes, true)),
      el("time", {datetime: created, title: created}, ago(created))];
    cells.forEach((cell, i) => {
      cell.replaceChildren();
      append(cell, [contents[i]]);
    });
  }};
}

/** "Running now: a, iteration 3 of 8, 20 s left", as nodes. */
export function runningNow(jobs) {
  const SHOWN = 3;
  const running = jobs.filter((job) => phaseOf(job) === "Running");
  const waiting = jobs.filter((job) => phaseOf(job) === "Pending").length;
  const waits = waiting > 0 && ` ${count(waiting)} ${waiting === 1 ? "waits" : "wait"}.`;
  if (running.length === 0) return ["Nothing is running.", waits];
  return ["Running now: ", running.slice(0, SHOWN).map((job, i) => {
    const {iteration, of, remainingSeconds: left} = (job.status && job.status.progress) || {};
    return [i > 0 && "; ", el("a", {href: route("jobs", job.metadata.namespace, job.metadata.name)}, job.metadata.name),
      of > 0 && `, iteration ${count(iteration)} of ${count(of)}`, left > 0 && `, ${span(left)} left`];
  }), running.length > SHOWN && `; and ${count(running.length - SHOWN)} more`, ".", waits];
}
