// The parts of a job below its head, in order. Each is made again when what it shows has changed.

import {el} from "./element.js";
import {predictionOf, targetOf} from "./job_fields.js";
import {breakdownPart, conditionsPart, coveragePart, doubtsPart, iterationsPart, memoryPart, specPart, throughputPart}
  from "./job_parts.js";
import {kernelsPart} from "./kernel_table.js";
import {criticalPathPart} from "./path_part.js";
import {topology} from "./topology.js";
import {whatIfPart} from "./what_if_part.js";

/** A part of the page with a title, made again when `select` of the job gives something else. */
function section(title, select, render, wide = false) {
  const body = el("div");
  const node = el("section", {class: wide ? "part wide" : "part", hidden: true}, el("h2", {}, title), body);
  let last;
  return {node, update(job) {
    const data = select(job);
    const text = JSON.stringify(data);
    if (text === last) return;
    last = text;
    node.hidden = data === null || data === undefined;
    if (!node.hidden) body.replaceChildren(render(data, job));
  }};
}

/** [{node, update(job)}]; nodes are hidden while they have nothing to show. */
export function jobSections() {
  return [
    section("Throughput", throughputPart.select, throughputPart.render, true),
    section("Iterations", iterationsPart.select, iterationsPart.render, true),
    section("Where the time goes", breakdownPart.select, breakdownPart.render),
    section("How sure", coveragePart.select, coveragePart.render),
    section("Memory", memoryPart.select, memoryPart.render),
    section("Cluster", (job) => targetOf(job).cluster &&
      {cluster: targetOf(job).cluster, servers: targetOf(job).servers},
    ({cluster, servers}) => topology(cluster, servers)),
    section("What would help", whatIfPart.select, whatIfPart.render),
    section("Kernels and collectives", (job) => predictionOf(job).kernels && {
      kernels: predictionOf(job).kernels, count: predictionOf(job).kernelCount,
      what: predictionOf(job).iterationSeconds ? "iteration" : "program"}, kernelsPart, true),
    section("Critical path", criticalPathPart.select, criticalPathPart.render, true),
    section("To check", doubtsPart.select, doubtsPart.render, true),
  ];
}

/** Those that come behind the log, where there is one. */
export const lastSections = () => [
  section("Conditions", conditionsPart.select, conditionsPart.render),
  section("Document", specPart.select, specPart.render),
];
