// The head of a job and its figures: what ran where, why it failed, how fast it is and how sure that is. Pure: `job` is a
// document, and every field may be missing.

import {el, route} from "./element.js";
import {ago, bytes, count, figureText, parts, percent, seconds, span} from "./numbers.js";
import {costFigure} from "./cost.js";
import {diagnosisLines} from "./diagnosis.js";
import {bandScale, figure} from "./marks.js";
import {bandText, extraWorkTexts, failureOf, isOver, lastCondition, phaseOf, predictionOf, rateBandText,
  rateText, sizeOf, targetOf, throughputOf, timeOf} from "./job_fields.js";

function networkOf(cluster) {
  if (!cluster) return "";
  const nics = (cluster.server || {}).nics || {};
  const fabric = cluster.fabric || {};
  const nvlink = (cluster.server || {}).nvlink || {};
  const inside = nvlink.generation ? `NVLink ${nvlink.generation}` : "";
  if (!nics.count || !fabric.preset || fabric.preset === "none") return inside;
  return (inside && `${inside}, `) + `${nics.count} × ${nics.gbps} Gbit/s NICs a server, ${fabric.preset}` +
    (fabric.oversubscription > 1 ? ` ${fabric.oversubscription}:1` : "");
}

/** Where the number of tokens comes from, if not from the job alone; why there is none, and what to do. */
function unitNote({throughput, tokensSource, tokensPerIteration, tokensDerived, tokensNotDerived}) {
  const unit = throughput ? throughput.unit : "tokens";
  if (unit === "samples") {
    return `${count(throughput.perIteration)} an iteration, ` +
      (throughput.source === "derived" ? "derived from launches" : "as declared");
  }
  if (unit === "iterations") {
    return `Tokens/s and samples/s are unknown${tokensNotDerived ? `: ${tokensNotDerived}` : ""}. ` +
      "Declare iterations.tokens or iterations.samples.";
  }
  if (tokensSource === "derived") return `${count(tokensPerIteration)} an iteration, derived from launches`;
  if (!tokensDerived || tokensDerived === tokensPerIteration) return "";
  return `${count(tokensPerIteration)} an iteration, as declared; ${count(tokensDerived)} by the launches`;
}

/** The GPUs that the program did not use, once that is certain. */
function idleText(job) {
  const {gpus, usedGpus} = (predictionOf(job).target || {});
  if (!isOver(job) || usedGpus === undefined || usedGpus >= gpus) return "";
  return usedGpus === 0 ? `All ${count(gpus)} GPUs are unused: the program has reserved memory on none.`
    : `${count(gpus - usedGpus)} of ${count(gpus)} GPUs are unused: the program has reserved memory on ${count(usedGpus)} only.`;
}

/** Which sweep the job is a point of. */
export function sweepLine(job, namespace) {
  const sweep = (job.metadata.labels || {})["eidolon.dev/sweep"];
  return sweep && el("p", {}, "A point of the sweep ", el("a", {href: route("sweeps", namespace, sweep)}, sweep), ".");
}

/** The sentence under the name: what the figures are of. */
function headLine(job) {
  const target = targetOf(job);
  const prediction = predictionOf(job);
  const host = prediction.hostTime;
  const folding = prediction.folding;
  return [
    target.gpu, sizeOf(target), target.ranks && `${count(target.ranks)} ranks`,
    target.name && `cluster ${target.name}`, networkOf(target.cluster),
    host && `host time ${host.model}${host.cpu ? ` for ${host.cpu}` : ""}${host.cpuIsUnknown ? " (not known which)" : ""}`,
    folding && `folded: ${count(folding.live.length)} live, ${count(folding.mirrored)} mirrored`,
  ].filter(Boolean).join("  ·  ");
}

/** The first figure: throughput where iterations were measured, else the time of the program. */
function lead(rate, time, what, timeNote, job) {
  if (!rate) {
    const [value, unit] = parts(seconds(time.value));
    return leadFigure(what, value, unit, bandScale(time, seconds, bandText(time)), [timeNote]);
  }
  const text = rateBandText(rate);
  return leadFigure("Predicted throughput", rateText(rate.perSecond), `${rate.unit}/s`,
    bandScale({value: rate.perSecond, low: rate.low, high: rate.high}, rateText, text),
    [text, unitNote(predictionOf(job)), ...extraWorkTexts(job)]);
}

const leadFigure = (what, value, unit, band, notes) => el("div", {class: "lead-figure", "data-answer": "how-fast"},
  el("div", {class: "what"}, what),
  el("div", {class: "large"}, value, el("span", {class: "unit"}, unit)), band,
  notes.filter(Boolean).map((note) => el("div", {class: "note"}, note)));

/** How wide the band is, and how much of the time it rests on estimates with a known error. */
function surenessFigure(time, {coverage}) {
  if (!(time.high > time.low)) return "";
  return figure("How sure", `± ${percent((time.high - time.low) / 2 / time.value)}`, "", ["90 % band", coverage &&
    `${percent(1 - (coverage.assumed || 0))} of the GPUs' time has an estimate with a known error`].filter(Boolean).join("; "),
  "how-sure");
}

function memoryFigure(memory) {
  const [peak, unit] = parts(bytes(memory.peakReservedBytes));
  const share = `${percent(memory.peakReservedBytes / memory.capacityBytes, 0)} of ${bytes(memory.capacityBytes)}`;
  return figure("Peak memory", peak, unit, [memory.fits ? `Fits: ${share}` : `Does not fit: ${share}`,
    memory.worstRank !== undefined && `rank ${memory.worstRank}`].filter(Boolean).join(", "), "does-it-fit");
}

const clock = (time) => time.toLocaleTimeString("en", {hour: "2-digit", minute: "2-digit", hour12: false});

/** When a job that is over was done. */
function doneText(job) {
  const {completionTime, startTime} = job.status || {};
  return isOver(job) && completionTime && el("span", {"data-answer": "done-when"}, ` Done ${ago(completionTime)}`,
    startTime && ` after ${span((Date.parse(completionTime) - Date.parse(startTime)) / 1000)}`, ".");
}

/** How far a job is that is not over, and when it will be done. */
function progressLine(job) {
  const {progress} = job.status || {};
  if (isOver(job)) return "";
  if (phaseOf(job) !== "Running" || !progress || !(progress.of > 0)) {
    return el("p", {class: "note", "data-answer": "done-when"}, phaseOf(job) === "Pending"
      ? "When it will be done is unknown before it starts." : "When it will be done is unknown before its first iteration.");
  }
  const left = progress.remainingSeconds;
  return el("div", {class: "progress-line", "data-answer": "done-when"},
    el("progress", {max: "100", value: progress.percent, "aria-label": "Progress"}),
    el("p", {class: "note"}, `Iteration ${count(progress.iteration)} of ${count(progress.of)}`, left > 0
      ? `, ${span(left)} left: done at about ${clock(new Date(Date.now() + left * 1000))}.` : "."));
}

/** Why a job failed, before anything that was predicted until then. */
function failure(job) {
  const failed = failureOf(job);
  return failed && el("section", {class: "failure", role: "alert", "data-answer": "did-it-fail"}, el("h2", {}, `Failed: ${failed.reason}`),
    el("p", {class: "message"}, failed.message),
    failed.lines && [el("h3", {}, "The end of its error output"),
      el("pre", {class: "log", tabindex: "0", "aria-label": "The end of its error output"}, failed.lines)]);
}

/** What there is to say before a time is predicted. */
function waiting(job) {
  const {progress} = job.status || {};
  return el("div", {class: "hero waiting"}, el("p", {class: "lead"},
    isOver(job) ? "Nothing was predicted." : phaseOf(job) === "Running"
      ? "Running; the first measured iteration shows here." : "Waiting to start."),
  el("p", {class: "note"}, progress ? `${count(progress.launches)} launches seen.` : lastCondition(job).message));
}

/** What the GPUs draw, as a note. */
const energyText = ({joules, meanWatts, peakWatts}) =>
  `${figureText(joules)} J an iteration, ${count(meanWatts)} W a GPU, peak ${count(peakWatts)} W`;

function hero(job) {
  const prediction = predictionOf(job);
  const time = timeOf(job);
  if (!time) return waiting(job);
  const {memory, matrixFlops, energy} = prediction;
  const cost = (job.status || {}).simulation || {};
  const rate = throughputOf(job);
  const failed = phaseOf(job) === "Failed";
  const what = failed ? "Until it failed" : time.what === "iteration" ? "Predicted iteration" : "Predicted program";
  const timeNote = bandText(time) +
    (prediction.measuredIterations > 0 ? `, from ${count(prediction.measuredIterations)} iterations` : "");
  return el("div", {class: failed ? "hero waiting" : "hero"},
    !failed && lead(rate, time, what, timeNote, job),
    el("dl", {class: "figures"},
      failed && rate && figure("Throughput until it failed", rateText(rate.perSecond), `${rate.unit}/s`),
      (failed || rate) && figure(what, ...parts(seconds(time.value)), timeNote),
      surenessFigure(time, prediction),
      memory && memoryFigure(memory),
      costFigure(job),
      prediction.modelFlopsUtilization &&
        figure("Model FLOPs utilization", ...parts(percent(prediction.modelFlopsUtilization)),
          prediction.modelFlopsSource === "derived" && "derived from launches"),
      matrixFlops && figure("Matrix work of a GPU", (matrixFlops.perGpuAndSecond * 1e-12).toFixed(1), "TFLOP/s",
        [matrixFlops.peakPerSecond && `${percent(matrixFlops.utilization)} of ${count(matrixFlops.peakPerSecond * 1e-12)} (bf16)`,
          energy && energyText(energy)].filter(Boolean).join("; ")),
      !matrixFlops && energy && figure("Energy of an iteration", count(energy.joules), "J", energyText(energy)),
      cost.wallSeconds > 0 && figure("Simulated in", ...parts(span(cost.wallSeconds)),
        [cost.slowdown && `${cost.slowdown.toFixed(1)} × the predicted time`,
          cost.machine && `on ${count(cost.machine.processors)} processors, ${percent(cost.machine.busyShare, 0)} busy`]
          .filter(Boolean).join(", "))));
}

/** The lines under the name: what the figures are of and how things stand. `more`: nodes that come last. */
export const headNotes = (job, ...more) => {
  const condition = lastCondition(job);
  return [
    el("p", {class: "target"}, headLine(job) || "not placed yet"),
    el("p", {class: "note"}, phaseOf(job) !== "Failed" && condition.message &&
      el("span", {"data-answer": "did-it-fail"}, `${condition.reason}: ${condition.message}. `),
    "Created ", ago(job.metadata.creationTimestamp), ".", doneText(job),
    Object.entries(job.metadata.labels || {}).map(([key, value]) =>
      [" ", el("span", {class: "label"}, `${key}=${value}`)])), more];
};

/** What speaks against the prediction. */
const warnings = (job) => [idleText(job), ...((job.status || {}).warnings || [])].filter(Boolean)
  .map((warning) => el("p", {class: "warning"}, warning));

/** All that is above the parts: progress, why it failed, the first figures, what limits it. `more`: below what would help. */
export const stageOf = (job, ...more) => [progressLine(job), failure(job), hero(job), diagnosisLines(job, ...more), warnings(job)];

/** Changes with whatever the head shows, and with what may be done with the job. */
export const headShape = (job) => JSON.stringify([job.spec, job.metadata.deletionTimestamp, phaseOf(job), lastCondition(job),
  headLine(job)]);
