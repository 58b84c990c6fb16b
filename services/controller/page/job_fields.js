// What the page reads of a job's document. Every field may be missing.

import {append, el} from "./element.js";
import {count, figureText, seconds} from "./numbers.js";

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
  const limit = server.powerLimit ? ` limited to ${server.powerLimit} W` : "";
  return {
    gpu: (server.gpu || server.preset || "") + clock + limit,
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

/** What the job predicts, with its band: the time of an iteration that repeats, else of the whole program; null before
 * that. Documents of earlier versions have a mean alone. */
export function timeOf(job) {
  const {steadyIteration: steady, iterationSeconds: all, program} = predictionOf(job);
  if (all) {
    const {seconds, low, high} = steady || {seconds: all.mean, low: all.low, high: all.high};
    return {what: "iteration", value: seconds, low, high, mean: all.mean, p50: all.p50};
  }
  return program ? {what: "program", value: program.seconds, low: program.low, high: program.high} : null;
}

/** What the whole job does in a second: {unit, perSecond, low, high, perIteration}; null before an iteration is
 * measured. */
export function throughputOf(job) {
  const {throughput, tokensPerSecond} = predictionOf(job);
  return throughput || (tokensPerSecond ? {unit: "tokens", perSecond: tokensPerSecond} : null);
}

/** "53,916", "0.4115". */
export const rateText = (rate) => !Number.isFinite(rate) ? "–" : rate >= 1000 ? count(rate) : figureText(rate);

/** "90 % between 51,785 and 56,230 tokens/s". */
export const rateBandText = ({unit, low, high}) => !low ? ""
  : high ? `90 % between ${rateText(low)} and ${rateText(high)} ${unit}/s` : `90 % above ${rateText(low)} ${unit}/s`;

/** "+ evaluation every 50 steps: 8.900 ms a step on average, 445.0 ms each time", for each kind of extra work. */
export function extraWorkTexts(job) {
  const {extraWork, measuredIterations} = predictionOf(job);
  return (extraWork || []).map(({what, every, times, seconds: each, secondsPerIteration}) => {
    const when = every ? `every ${every === 1 ? "step" : `${count(every)} steps`}`
      : `in ${count(times)} of ${count(measuredIterations)} steps`;
    return `+ ${what} ${when}: ${seconds(secondsPerIteration)} a step on average, ${seconds(each)} each time`;
  });
}

const OUTPUT = "; last lines of its error output:\n";

/** Of a job that failed: {reason, message, lines}, the last of what its program said of errors; else null. */
export function failureOf(job) {
  if (phaseOf(job) !== "Failed") return null;
  const {reason = "", message = ""} = lastCondition(job);
  const at = message.indexOf(OUTPUT);
  return at < 0 ? {reason, message, lines: ""}
    : {reason, message: message.slice(0, at), lines: message.slice(at + OUTPUT.length)};
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
