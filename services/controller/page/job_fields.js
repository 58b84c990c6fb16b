// What the page reads of a job's document. Every field may be missing.

import {append, el} from "./element.js";
import {seconds} from "./numbers.js";

export const PHASES = ["Running", "Pending", "Complete", "Failed", "Interrupted"];
export const PARTS = [
  ["compute", "Compute", "kernels and copies run"],
  ["exposedCommunication", "Exposed communication", "only collectives run"],
  ["host", "Host", "the GPU waits for the program"],
  ["idle", "Idle", "the GPU waits for something else"],
];
export const SOURCES = [
  ["measured", "Measured", "this kernel on this GPU"],
  ["interpolated", "Interpolated", "the same kernel, near sizes"],
  ["modelled", "Modelled", "a formula for kernels of its family"],
  ["assumed", "Assumed", "a generic fallback, often too short"],
];

export const predictionOf = (job) => (job.status && job.status.prediction) || {};
export const phaseOf = (job) => (job.status && job.status.phase) || "Pending";
export const isOver = (job) => !["Running", "Pending"].includes(phaseOf(job));

/** The condition that says how things stand: the last one that is true. */
export function lastCondition(job) {
  const conditions = (job.status && job.status.conditions) || [];
  const waits = phaseOf(job) === "Pending" &&
    conditions.find((condition) => condition.type === "Scheduled" && condition.message);
  return waits || conditions.filter((condition) => condition.status === "True").pop() || {};
}

/** Names the hardware; before the start it is what the document says. */
export function targetOf(job) {
  const target = predictionOf(job).target;
  const spec = job.spec || {};
  const cluster = (target && target.cluster) || spec.cluster || {};
  const server = cluster.server || {};
  const servers = (target && target.servers) || spec.servers || cluster.servers;
  const clock = server.gpuClock && server.gpuClock !== 1 ? ` at ${server.gpuClock} of its clock` : "";
  return {
    gpu: (server.gpu || server.preset || "") + clock,
    servers,
    gpusPerServer: server.gpusPerServer,
    ranks: target && target.ranks,
    name: (spec.clusterRef && spec.clusterRef.name) || "",
    cluster: target ? target.cluster : null,
  };
}

/** "2 servers × 8". */
export function sizeOf(target) {
  if (!target.servers) return "";
  const servers = `${target.servers} server${target.servers === 1 ? "" : "s"}`;
  return target.gpusPerServer ? `${servers} × ${target.gpusPerServer} GPUs` : servers;
}

/** What the job predicts: an iteration's time, else the whole program's; null before that. */
export function timeOf(job) {
  const prediction = predictionOf(job);
  const iteration = prediction.iterationSeconds;
  if (iteration) return {what: "iteration", ...iteration};
  const program = prediction.program;
  return program ? {what: "program", mean: program.seconds, ...program} : null;
}

/** "90 % between 181.8 and 208.5 ms". */
export function bandText({low, high}) {
  const [a, b] = [seconds(low), seconds(high)];
  const same = a.split(" ")[1] === b.split(" ")[1];
  return `90 % between ${same ? a.split(" ")[0] : a} and ${b}`;
}

/** A word for the state, with its colour and a sign for those who see none. */
export function phaseTag(job) {
  const phase = phaseOf(job);
  const sign = {Running: "●", Pending: "○", Complete: "✓", Failed: "✕", Refused: "✕", Interrupted: "■"}[phase] || "";
  const suspended = phase === "Pending" && job.spec && job.spec.suspend;
  const deleting = job.metadata.deletionTimestamp && !isOver(job);
  const node = el("span", {class: `tag phase-${phase.toLowerCase()}`});
  append(node, [el("span", {"aria-hidden": "true"}, sign), " ",
    deleting ? "Ending" : suspended ? "Suspended" : phase]);
  return node;
}

/** A readable name for what a kernel's record is called. */
export const kindOf = (kernel) => kernel.family.startsWith("nccl") || kernel.name === "collective"
  ? "collective" : /copy|memset/.test(kernel.family) && kernel.family !== "copy" ? "copy" : "kernel";

export const tagOfSource = (source) => el("span", {class: `tag source-${source}`}, source);
