// The points of a sweep as a table, and as a file.

import {el, route} from "./element.js";
import {bytes, DASH, seconds} from "./numbers.js";
import {PHASES, phaseTag} from "./job_fields.js";
import {sortableTable} from "./sortable_table.js";
import {isPredicted, matrixOf, meritsOf, pointsOf, throughputOf, titlesOf, valueText} from "./sweep_fields.js";

function nameCell(row, namespace, number) {
  return [row.job ? el("a", {href: route("jobs", namespace, row.job)}, row.job) : `point ${number}`,
    row.front && el("div", {}, el("span", {class: "tag front"}, el("span", {"aria-hidden": "true"}, "◆ "), "Pareto front")),
    row.replayed && el("div", {class: "note"}, "replayed")];
}

function stateCell(row) {
  const phase = row.phase || "Pending";
  const why = row.reason && row.reason !== phase && !isPredicted(row) ? row.reason : "";
  return [phaseTag({metadata: {}, status: {phase}}), why && el("div", {class: "note"}, why),
    !isPredicted(row) && row.message && el("details", {}, el("summary", {}, "Why"), el("p", {class: "why"}, row.message))];
}

function columnsOf(sweep) {
  const points = pointsOf(sweep);
  const merits = meritsOf(points, sweep);
  const {namespace} = sweep.metadata;
  const paths = Object.keys(matrixOf(sweep)).sort();
  const titles = titlesOf(paths);
  const phases = [...PHASES, "Refused"];
  return [
    {id: "point", title: "Point", value: (row) => row.number, cell: (row) => nameCell(row, namespace, row.number)},
    ...paths.map((path) => ({id: `field ${path}`, title: titles.get(path), hint: path,
      value: (row) => {
        const value = (row.point || {})[path];
        return typeof value === "number" ? value : value === undefined ? undefined : valueText(value);
      },
      cell: (row) => (row.point || {})[path] === undefined ? DASH : el("code", {}, valueText(row.point[path]))})),
    {id: "phase", title: "State", value: (row) => phases.indexOf(row.phase), cell: stateCell},
    {id: "throughput", title: merits.throughputTitle, number: true,
      value: (row) => isPredicted(row) ? throughputOf(row) : undefined, cell: (row) => merits.throughput(row)},
    {id: "iteration", title: "Iteration", number: true, value: (row) => row.iterationSeconds,
      cell: (row) => seconds(row.iterationSeconds)},
    {id: "headroom", title: "Head-room", hint: "Memory that the fullest GPU has left", number: true,
      value: (row) => row.headroomBytes,
      cell: (row) => [bytes(row.headroomBytes), row.headroomBytes < 0 && el("div", {class: "note"}, "does not fit")]},
    ...(merits.priced ? [
      {id: "cost", title: merits.costTitle, number: true, value: (row) => row.costPerUnit,
        cell: (row) => merits.cost(row.costPerUnit)},
      {id: "hour", title: "Cost per hour", number: true, value: (row) => row.costPerHour,
        cell: (row) => merits.cost(row.costPerHour)}] : []),
  ];
}

/** A table that is made anew when its columns change: {node, show(sweep), ordered()}. */
export function pointsTable() {
  const node = el("div");
  const options = {by: "throughput", down: true, keyOf: (row) => row.number, className: "points"};
  let shape = "";
  let rows = null;
  return {node, ordered: () => rows.ordered(), show(sweep) {
    const points = pointsOf(sweep);
    const {tokens, priced} = meritsOf(points);
    const next = JSON.stringify([Object.keys(matrixOf(sweep)), tokens, priced]);
    if (next !== shape) {
      shape = next;
      rows = sortableTable("Points of the sweep", columnsOf(sweep), options);
      node.replaceChildren(rows.node);
    }
    rows.show(points.map((row, i) => ({...row, number: i + 1})));
  }};
}

const NUMBERS = ["iterationSeconds", "iterationsPerSecond", "tokensPerSecond", "headroomBytes", "gpus", "costPerHour",
  "costPerUnit", "wallSeconds"];

/** The columns of the table.csv that `eidolon sweep` writes. */
export function pointsCsv(sweep, points) {
  // A spreadsheet takes a text that begins as a formula for one, quoted or not: an apostrophe keeps it a text.
  const guarded = (value) => typeof value === "string" && /^[=+\-@\t\r]/.test(value) ? `'${value}` : valueText(value);
  const quoted = (value) => `"${guarded(value).replaceAll("\"", "\"\"")}"`;
  const paths = Object.keys(matrixOf(sweep)).sort();
  const head = [...paths.map(quoted), "phase", "reason", "replayed", "front", ...NUMBERS];
  const lines = points.map((row) => [
    ...paths.map((path) => quoted((row.point || {})[path] ?? "")),
    quoted(row.phase || ""), quoted(row.reason || ""), row.replayed ? 1 : 0, row.front ? 1 : 0,
    ...NUMBERS.map((name) => row[name] === undefined ? "" : row[name])]);
  return [head, ...lines].map((line) => `${line.join(",")}\n`).join("");
}
