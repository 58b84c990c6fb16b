// The parts of a job's page that show fields of its prediction. Each has `select`, the data of a
// job or null, and `render`, the nodes for such data.

import {append, details, el, table} from "./element.js";
import {ago, bytes, count, percent, seconds} from "./numbers.js";
import {curveChart, memoryChart} from "./charts.js";
import {responsive, stackedBar} from "./marks.js";
import {bandText, extraWorkTexts, PARTS, predictionOf, rateBandText, rateText, SOURCES, throughputOf, timeOf}
  from "./job_fields.js";
import {toYaml} from "./yaml.js";

const LISTED_MAX = 10000; // Iterations in a document.
const ROWS_MAX = 1000; // Of the table of iterations.

const fragment = (...children) => {
  const node = document.createDocumentFragment();
  append(node, children);
  return node;
};

function unevenText(uneven, median) {
  if (!uneven) return "";
  const PARTS_MORE = {compute: "compute", exposedCommunication: "exposed communication", idle: "idle",
    host: "host", copiesToHost: "copies to the host", copiesToDevice: "copies to the device"};
  return el("div", {}, el("p", {}, `${count(uneven.count)} of them are far from the median; the others take `,
    `${seconds(uneven.otherIterationsSeconds)} on average.`),
  el("ul", {}, uneven.iterations.slice(0, 8).map((one) => {
    const difference = one.seconds - median;
    const largest = Object.entries(one.more).filter(([, value]) => value * difference > 0)
      .sort(([, a], [, b]) => Math.abs(b) - Math.abs(a)).slice(0, 2)
      .map(([key, value]) => `${PARTS_MORE[key]} ${seconds(Math.abs(value), 3)}`);
    return el("li", {}, `iteration ${one.iteration}: ${seconds(one.seconds)}, `,
      `${seconds(Math.abs(difference), 3)} ${difference > 0 ? "more" : "less"}`,
      largest.length > 0 && ` (${largest.join(", ")})`);
  })));
}

// The data of both curves over iterations; null before one is measured.
function measuredOf(job) {
  const prediction = predictionOf(job);
  const times = prediction.iterationPicoseconds;
  if (!times || times.length === 0) return null;
  const rule = (job.spec || {}).iterations || {};
  const warmup = rule.warmup === undefined ? 3 : rule.warmup;
  const running = (job.status || {}).phase === "Running";
  return {times: times.map((one) => one * 1e-12), warmup, first: warmup + 1,
    odd: ((prediction.unevenIterations || {}).iterations || []).map((one) => one.iteration),
    more: running ? Math.min(rule.measure === undefined ? 5 : rule.measure, LISTED_MAX) : 0};
}

export const throughputPart = {
  select: (job) => {
    const measured = measuredOf(job);
    const throughput = throughputOf(job);
    return measured && throughput && {...measured, throughput, extra: extraWorkTexts(job)};
  },
  render: ({throughput, times, odd, extra, ...rest}) => {
    const {perSecond, low, high, unit} = throughput;
    const perIteration = throughput.perIteration || perSecond * times[0];
    const data = {...rest, odd: new Set(odd), values: times.map((time) => time > 0 ? perIteration / time : 0),
      band: {value: perSecond, low: low || perSecond, high},
      format: (value) => `${rateText(value)}`, description: rateBandText(throughput)};
    return fragment(responsive((width, height) => curveChart(data, width, height), 220),
      el("p", {class: "note"}, `${unit[0].toUpperCase()}${unit.slice(1)} a second of the whole job in each measured `,
        "iteration; the dashed line is the steady state, and the shaded band holds it with 90 % probability."),
      extra.map((text) => el("p", {class: "note"}, text)));
  },
};

export const iterationsPart = {
  select: (job) => {
    const measured = measuredOf(job);
    return measured && {...measured, time: timeOf(job), uneven: predictionOf(job).unevenIterations};
  },
  render: ({odd, time, uneven, ...data}) => fragment(
    responsive((width, height) => curveChart({...data, values: data.times, odd: new Set(odd), band: time,
      format: seconds, description: time && bandText(time)}, width, height), 220),
    el("p", {class: "note"}, data.warmup > 0 && `${data.warmup} warm-up iterations are not counted. `,
      "The shaded band holds the iteration time with 90 % probability, by the errors of the estimates; ",
      "points are what the simulation gave. The axis does not begin at zero."),
    unevenText(uneven, time && time.p50),
    details("As a table", () => [table("Measured iterations",
      [{title: "Iteration"}, {title: "Time", number: true}],
      data.times.slice(0, ROWS_MAX).map((value, i) => [data.first + i, seconds(value, 6)])),
    data.times.length > ROWS_MAX && el("p", {class: "note"},
      `The first ${count(ROWS_MAX)} of ${count(data.times.length)}; the document (JSON) has all.`)])),
};

export const breakdownPart = {
  select: (job) => predictionOf(job).breakdown &&
    {shares: predictionOf(job).breakdown, whole: (timeOf(job) || {}).value},
  render: ({shares, whole}) => stackedBar("Where the time goes", PARTS.map(([key, title, note]) =>
    ({key, title, note, share: shares[key], text: whole ? seconds(shares[key] * whole, 3) : undefined}))),
};

function sureness(coverage) {
  const known = (coverage.measured || 0) + (coverage.interpolated || 0);
  if (coverage.assumed > 0.05) {
    return `${percent(coverage.assumed)} of the GPUs' busy time is only assumed: check those kernels before you rely on the figure.`;
  }
  if (known > 0.5) return `${percent(known)} of the GPUs' busy time rests on measurements of these kernels.`;
  return `Most of the GPUs' busy time comes from formulas; the band holds their known errors.`;
}

export const coveragePart = {
  select: (job) => predictionOf(job).coverage &&
    {coverage: predictionOf(job).coverage, host: predictionOf(job).hostTime},
  render: ({coverage, host}) => fragment(
    stackedBar("Sources of the GPUs' busy time", SOURCES.map(([key, title, note]) =>
      ({key, title, note, share: coverage[key]}))),
    el("p", {}, sureness(coverage)),
    host && el("p", {class: "note"}, `Host time: ${host.model}`, host.cpu && ` for ${host.cpu}`,
      `, error ${percent(host.error, 0)}.`)),
};

const PROGRAM = ["allocations", "Program", "parameters, activations, optimizer: allocator segments"];
// Of the program, as far as it is told.
const ALLOCATIONS = [["parameters", "Parameters", "what the optimizer updates"],
  ["gradients", "Gradients", "of these parameters"], ["optimizerState", "Optimizer state", "moments and the like"],
  ["activations", "Activations", "at most: kept until backward passes give them back"],
  ["other", "Other", "gathered parameters, temporary tensors, unattributed activations, what the allocator keeps"]];
const CATEGORIES = [["workspace", "Workspace", "of math libraries"], ["nccl", "NCCL", "buffers of communicators"],
  ["context", "CUDA context", ""]];

export const memoryPart = {
  select: (job) => predictionOf(job).memory,
  render: (memory) => {
    const free = Math.max(0, memory.capacityBytes - memory.peakReservedBytes);
    const all = Math.max(memory.capacityBytes, memory.peakReservedBytes);
    const told = memory.allocations;
    const categories = {...memory.byCategory, ...told};
    const program = told ? ALLOCATIONS.filter(([key]) => key in told) : [PROGRAM];
    // Gradients come to lie where activations were: together they may be more than there is room for.
    let room = memory.byCategory.allocations;
    const drawn = ([key, title, note]) => {
      const value = categories[key] || 0;
      const share = program.some(([part]) => part === key) ? Math.min(value, room) : value;
      room -= share;
      return {key, title, note, share: share / all, text: bytes(value)};
    };
    return fragment(
      memory.fits ? "" : el("p", {class: "warning"}, "Does not fit",
        memory.refusedBytes > 0 && `: a request of ${bytes(memory.refusedBytes)} was refused`, "."),
      stackedBar(`Memory of rank ${memory.worstRank}`, [
        ...program.map(drawn), ...CATEGORIES.map(drawn),
        {key: "free", title: "Free", share: free / all, text: bytes(free)}]),
      el("p", {class: "note"}, `At the peak of rank ${memory.worstRank}, the fullest.`, told && "parameters" in told &&
        " Parameters, gradients and optimizer state are what the optimizer's kernels update, read and keep.",
      told && "activations" in told && " Activations are the most that is kept at once until backward passes give it back; " +
        "gradients may come to lie in their place."),
      memory.ranks && memory.ranks.length > 1 ? fragment(
        el("h3", {}, "By rank"),
        responsive((width, height) =>
          memoryChart({ranks: memory.ranks, capacity: memory.capacityBytes}, width, height), 150),
        details("As a table", () => table("Peak memory by rank", [{title: "Rank"}, {title: "Peak", number: true}],
          memory.ranks.map((rank) => [rank.rank, bytes(rank.peakReservedBytes)])))) : "");
  },
};

export const doubtsPart = {
  select: (job) => {
    const prediction = predictionOf(job);
    const data = {assumed: prediction.assumedKernels || [], calls: prediction.unsupportedCalls || [],
      reads: prediction.unknownReadSources || [], unused: prediction.unusedDeclarations || [],
      clamped: prediction.clampedRecords || 0,
      guessed: (prediction.folding || {}).guessedCollectives || 0};
    const some = data.assumed.length + data.calls.length + data.reads.length + data.unused.length;
    return some + data.clamped + data.guessed > 0 ? data : null;
  },
  render: (data) => fragment(
    data.assumed.length > 0 && [el("h3", {}, "Assumed kernels"), table("Assumed kernels",
      [{title: "Kernel"}, {title: "Busy time", number: true}],
      data.assumed.map((kernel) => [el("code", {}, kernel.name), seconds(kernel.seconds)]))],
    data.calls.length > 0 && [el("h3", {}, "Refused calls"), table("Refused calls",
      [{title: "Call"}, {title: "Times", number: true}],
      data.calls.slice(0, 50).map((call) => [el("code", {}, call.name), count(call.count)]))],
    data.reads.length > 0 && [el("h3", {}, "Values that no kernel computed"),
      el("p", {class: "note"}, "The host read them; control flow that depends on them may differ from a GPU's. " +
        "A job can declare them under values.declared."),
      table("Values that no kernel computed",
        [{title: "Written by"}, {title: "Read at"}, {title: "Given"}, {title: "Reads", number: true}],
        data.reads.slice(0, 20).map((read) => [el("code", {}, read.writer), read.line || "", read.given,
          count(read.reads)]))],
    data.unused.length > 0 && el("p", {}, "Declared values that nothing has read: ", data.unused.join(", ")),
    data.guessed > 0 && el("p", {class: "warning"},
      `${count(data.guessed)} collectives took values of mirrored ranks from a live one.`),
    data.clamped > 0 && el("p", {class: "warning"}, `${count(data.clamped)} records came too late for their time.`)),
};

export const conditionsPart = {
  select: (job) => (job.status || {}).conditions,
  render: (conditions) => el("ol", {class: "conditions"}, [...conditions]
    .sort((a, b) => (a.lastTransitionTime < b.lastTransitionTime ? -1 : 1))
    .map((condition) => el("li", {class: condition.status === "True" ? "true" : "false"},
      el("b", {}, condition.type), condition.status === "True" ? "" : " (not now)", " ",
      el("span", {class: "note"}, condition.reason, " · ",
        el("time", {datetime: condition.lastTransitionTime, title: condition.lastTransitionTime},
          ago(condition.lastTransitionTime))),
      condition.message && el("div", {}, condition.message)))),
};

export const specPart = {
  select: (job) => job.spec,
  render: (spec) => {
    const text = toYaml(spec);
    return fragment(el("pre", {class: "document", tabindex: "0", "aria-label": "Document"},
      text.split("\n").slice(0, 400).map((line) => [line, "\n"])));
  },
};
