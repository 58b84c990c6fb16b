// One job: what is predicted, how sure that is, where the time goes, and what the program said.
// The parts below the head are made anew when what they show has changed.

import {append, el, route} from "./element.js";
import {follow, jobPath, patchJson, remove} from "./api.js";
import {actionButton, confirmed, save} from "./actions.js";
import {ago, bytes, count, parts, percent, seconds, span} from "./numbers.js";
import {bandScale, figure} from "./marks.js";
import {bandText, extraWorkTexts, failureOf, isOver, lastCondition, phaseOf, phaseTag, predictionOf, rateBandText,
  rateText, sizeOf, targetOf, throughputOf, timeOf} from "./job_fields.js";
import {breakdownPart, conditionsPart, coveragePart, doubtsPart, iterationsPart, memoryPart, specPart, throughputPart}
  from "./job_parts.js";
import {kernelsPart} from "./kernel_table.js";
import {criticalPathPart} from "./path_part.js";
import {logPart} from "./log_panel.js";
import {topology} from "./topology.js";

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
  return `launches tell ${count(tokensDerived)} tokens an iteration, not ${count(tokensPerIteration)}`;
}

/** Which GPUs the program left alone, once that is certain. */
function idleText(job) {
  const {gpus, usedGpus} = (predictionOf(job).target || {});
  if (!isOver(job) || usedGpus === undefined || usedGpus >= gpus) return "";
  return usedGpus === 0 ? `All ${count(gpus)} GPUs are unused: the program has booked memory on none.`
    : `${count(gpus - usedGpus)} of ${count(gpus)} GPUs are unused: the program has booked memory on ${count(usedGpus)} only.`;
}

/** Which sweep the job is a point of. */
function sweepLine(job, namespace) {
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

const leadFigure = (what, value, unit, band, notes) => el("div", {class: "lead-figure"},
  el("div", {class: "what"}, what),
  el("div", {class: "large"}, value, el("span", {class: "unit"}, unit)), band,
  notes.filter(Boolean).map((note) => el("div", {class: "note"}, note)));

/** Why a job failed, before anything that was predicted until then. */
function failure(job) {
  const failed = failureOf(job);
  return failed && el("section", {class: "failure", role: "alert"}, el("h2", {}, `Failed: ${failed.reason}`),
    el("p", {class: "message"}, failed.message),
    failed.lines && [el("h3", {}, "The end of its error output"),
      el("pre", {class: "log", tabindex: "0", "aria-label": "The end of its error output"}, failed.lines)]);
}

function hero(job) {
  const prediction = predictionOf(job);
  const time = timeOf(job);
  const progress = (job.status || {}).progress;
  if (!time) {
    const waits = lastCondition(job);
    return el("div", {class: "hero waiting"}, el("p", {class: "lead"},
      isOver(job) ? "Nothing was predicted." : phaseOf(job) === "Running"
        ? "Running; the first measured iteration shows here." : "Waiting to start."),
    progress && progress.of > 0 && !isOver(job) &&
      el("progress", {max: "100", value: progress.percent, "aria-label": "Progress"}),
    el("p", {class: "note"}, progress ? `${count(progress.launches)} launches seen, ` +
      `iteration ${progress.iteration} of ${progress.of}` : waits.message));
  }
  const memory = prediction.memory;
  const cost = (job.status || {}).simulation || {};
  const [peak, peakUnit] = parts(bytes(memory && memory.peakReservedBytes));
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
      prediction.modelFlopsUtilization &&
        figure("Model FLOPs utilization", ...parts(percent(prediction.modelFlopsUtilization)),
          prediction.modelFlopsSource === "derived" && "derived from launches"),
      prediction.matrixFlops && figure("Matrix work of a GPU",
        (prediction.matrixFlops.perGpuAndSecond * 1e-12).toFixed(1), "TFLOP/s", prediction.matrixFlops.peakPerSecond &&
          `${percent(prediction.matrixFlops.utilization)} of ${count(prediction.matrixFlops.peakPerSecond * 1e-12)} (bf16)`),
      memory && figure("Peak memory", peak, peakUnit,
        `${percent(memory.peakReservedBytes / memory.capacityBytes, 0)} of ${bytes(memory.capacityBytes)}` +
        (memory.fits ? "" : ", does not fit")),
      prediction.breakdown && figure("GPU busy", ...parts(percent(
        prediction.breakdown.compute + prediction.breakdown.exposedCommunication)), "compute and communication"),
      cost.wallSeconds > 0 && figure("Cost of the simulation", ...parts(span(cost.wallSeconds)),
        [cost.slowdown && `${cost.slowdown.toFixed(1)} × the predicted time`,
          cost.machine && `on ${count(cost.machine.processors)} processors, ${percent(cost.machine.busyShare, 0)} busy`]
          .filter(Boolean).join(", "))));
}

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

function actionsOf(job, namespace, name, fail, gone) {
  const path = jobPath(namespace, name);
  const spec = job.spec || {};
  const act = (title, work, style) => actionButton(title, work, fail, style);
  const timeline = (spec.outputs || {}).timeline;
  const hasTimeline = isOver(job) && timeline && timeline.iterations !== 0;
  const hasRecording = isOver(job) && (spec.outputs || {}).recording;
  return [
    hasTimeline && act("Timeline", () => save(`${path}/timeline`, `${name}.pftrace`)),
    hasRecording && act("Recording", () => save(`${path}/recording`, `${name}.eidrec`)),
    act("JSON", () => save(path, `${name}.json`)),
    el("a", {class: "button", href: `#/compare?a=${encodeURIComponent(`${namespace}/${name}`)}`}, "Compare"),
    el("a", {class: "button", href: route("submit", namespace, name)}, "Run again"),
    phaseOf(job) === "Pending" && act(spec.suspend ? "Resume" : "Suspend",
      () => patchJson(path, {spec: {suspend: !spec.suspend}})),
    isOver(job)
      // Of one that is over no event follows.
      ? act("Delete", confirmed(`Delete the job ${name} with its log?`, () => remove(path).then(gone)), "danger")
      : act("Cancel", confirmed(`Cancel and delete the job ${name}?`, () => remove(path)), "danger"),
  ];
}

export function jobView([namespace, name]) {
  const head = el("div", {class: "job-head"});
  const stage = el("div");
  const notice = el("div", {role: "alert"});
  const abort = new AbortController();
  const log = logPart(namespace, name, abort.signal);
  const prediction = predictionOf;
  const sections = [
    section("Throughput", throughputPart.select, throughputPart.render, true),
    section("Iterations", iterationsPart.select, iterationsPart.render, true),
    section("Where the time goes", breakdownPart.select, breakdownPart.render),
    section("How sure", coveragePart.select, coveragePart.render),
    section("Memory", memoryPart.select, memoryPart.render),
    section("Cluster", (job) => targetOf(job).cluster &&
      {cluster: targetOf(job).cluster, servers: targetOf(job).servers},
    ({cluster, servers}) => topology(cluster, servers)),
    section("Kernels and collectives", (job) => prediction(job).kernels && {
      kernels: prediction(job).kernels, count: prediction(job).kernelCount,
      what: prediction(job).iterationSeconds ? "iteration" : "program"}, kernelsPart, true),
    section("Critical path", criticalPathPart.select, criticalPathPart.render, true),
    section("To check", doubtsPart.select, doubtsPart.render, true),
    section("Conditions", conditionsPart.select, conditionsPart.render),
    section("Document", specPart.select, specPart.render),
  ];
  const node = el("article", {class: "job"},
    el("nav", {class: "crumbs", "aria-label": "Place"}, el("a", {href: "#/"}, "Jobs"), ` / ${namespace}`),
    head, notice, stage, el("div", {class: "parts"}, sections.slice(0, 9).map((part) => part.node),
      log.node, sections.slice(9).map((part) => part.node)));
  let last = "";

  const gone = () => notice.replaceChildren(el("p", {class: "notice"}, "The job was deleted. ",
    el("a", {href: "#/"}, "To the list")));
  const fail = (problem) => notice.replaceChildren(el("p", {class: "notice"}, problem.message));

  function show(job) {
    const condition = lastCondition(job);
    const status = job.status || {};
    const shape = JSON.stringify([job.spec, job.metadata.deletionTimestamp, status.phase, condition,
      headLine(job), idleText(job), status.warnings]);
    if (shape !== last) {
      last = shape;
      head.replaceChildren();
      append(head, [
        el("div", {class: "bar"}, el("h1", {}, name), phaseTag(job),
          el("div", {class: "actions"}, actionsOf(job, namespace, name, fail, gone))),
        el("p", {class: "target"}, headLine(job) || "not placed yet"),
        phaseOf(job) !== "Failed" &&
          el("p", {class: "note"}, condition.message && `${condition.reason}: ${condition.message}`),
        idleText(job) && el("p", {class: "warning"}, idleText(job)),
        (status.warnings || []).map((warning) => el("p", {class: "warning"}, warning)),
        sweepLine(job, namespace),
        el("p", {class: "note"}, "created ", ago(job.metadata.creationTimestamp),
          Object.entries(job.metadata.labels || {}).map(([key, value]) =>
            [" ", el("span", {class: "label"}, `${key}=${value}`)]))]);
    }
    stage.replaceChildren();
    append(stage, [failure(job), hero(job)]);
    for (const part of sections) part.update(job);
    log.update(job);
  }

  stage.append(el("p", {class: "note"}, "Loading…"));
  follow(`${jobPath(namespace, name)}/events`, abort.signal, (event, data) => {
    if (event === "status") return show(data);
    if (data.reason === "deleted") gone();
  }, (state) => {
    if (!(state instanceof Error)) return state === "live" && !notice.textContent.includes("deleted") &&
      notice.replaceChildren();
    if (state.status === 404) stage.replaceChildren(el("div", {class: "empty"}, el("h1", {}, "No such job"),
      el("p", {}, state.message), el("p", {}, el("a", {class: "button", href: "#/"}, "All jobs"))));
    else fail(state);
  });
  return {title: `${name} – job`, node, close: () => abort.abort()};
}
