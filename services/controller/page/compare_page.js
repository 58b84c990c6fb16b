// Two jobs side by side: what is predicted, where the time goes, which kernels and which fields of
// their documents differ.

import {append, el, table} from "./element.js";
import {comparisonPath, getJson, jobPath} from "./api.js";
import {gpuHoursOf, gpuTime, priceOf} from "./cost.js";
import {bytes, change, DASH, money, percent, seconds} from "./numbers.js";
import {bandScale, stackedBar} from "./marks.js";
import {bandText, PARTS, phaseTag, predictionOf, rateText, sizeOf, targetOf, throughputOf, timeOf} from "./job_fields.js";
import {jobStore, keyOf} from "./object_store.js";
import {shortName} from "./text.js";
import {waterfall} from "./waterfall.js";

const CAUSES_MAX = 10;
const CAUSE_SHARE_MIN = 5e-4;

const secondsOf = (job) => (timeOf(job) || {}).value;
const memoryOf = (job) => (predictionOf(job).memory || {}).peakReservedBytes;

/** What the two bands say of the difference. */
function verdict(a, b) {
  const [one, other] = [timeOf(a), timeOf(b)];
  if (!one || !other) return "One of them predicts no time yet.";
  if (one.what !== other.what) return "One predicts an iteration, the other a whole program: their times do not compare.";
  const ratio = one.value / other.value;
  if (Math.abs(ratio - 1) < 5e-4) return "Both predict the same time.";
  const faster = ratio >= 1 ? `B is ${ratio.toFixed(2)} times as fast as A` : `A is ${(1 / ratio).toFixed(2)} times as fast as B`;
  const apart = one.high < other.low || other.high < one.low;
  return `${faster}. ` + (apart ? "The bands do not overlap."
    : "The bands overlap. Errors of estimates that both share cancel, so the order may still hold; the size of the difference is uncertain.");
}

function side(mark, job) {
  const time = timeOf(job);
  const target = targetOf(job);
  return el("div", {class: "side"},
    el("h2", {}, el("span", {class: "mark"}, mark), " ", keyOf(job)), phaseTag(job),
    el("p", {class: "target"}, [target.gpu, sizeOf(target)].filter(Boolean).join("  ·  ")),
    time && [el("div", {class: "large"}, seconds(time.value)),
      bandScale(time, seconds, bandText(time)), el("p", {class: "note"}, bandText(time))]);
}

/** In GPU hours or money; nothing where the two are not of the same amount of work. */
const costOf = (a, b) => (job) => {
  const [one, other, own] = [a, b, job].map(gpuHoursOf);
  return one && other && one.of === other.of ? own.hours : undefined;
};

const costText = (hours) => priceOf() ? money(hours * priceOf().perGpuHour, priceOf().currency) : gpuTime(hours).join(" ");

const rateIn = (unit) => (job) => {
  const rate = throughputOf(job);
  return rate && rate.unit === unit ? rate.perSecond : undefined;
};

function figures(a, b) {
  const {unit} = throughputOf(a) || throughputOf(b) || {unit: "tokens"};
  const rows = [
    ["Time", secondsOf, seconds], [`${unit[0].toUpperCase()}${unit.slice(1)}/s`, rateIn(unit), rateText],
    [`Cost of ${(gpuHoursOf(a) || {}).of}`, costOf(a, b), costText],
    ["Model FLOPs utilization", (job) => predictionOf(job).modelFlopsUtilization, percent],
    ["Peak memory", memoryOf, bytes],
    ...PARTS.map(([key, title]) => [title, (job) => (predictionOf(job).breakdown || {})[key] * secondsOf(job), seconds]),
  ];
  return table("Figures", [{title: "Figure"}, {title: "A", number: true}, {title: "B", number: true}, {title: "Change", number: true}],
    rows.filter(([, value]) => [a, b].some((job) => Number.isFinite(value(job))))
      .map(([title, value, format]) => [title, format(value(a)), format(value(b)), change(value(a), value(b))]));
}

/** Kernels whose busy time, per rank, differs most. */
function kernelDifferences(a, b) {
  const times = new Map();
  for (const [i, job] of [a, b].entries()) {
    const ranks = targetOf(job).ranks || 1;
    for (const kernel of predictionOf(job).kernels || []) {
      const key = kernel.name === "collective" ? kernel.family : kernel.name;
      const both = times.get(key) || {name: key, shown: kernel.operator || shortName(key), seconds: [0, 0]};
      both.seconds[i] += kernel.seconds / ranks;
      times.set(key, both);
    }
  }
  return [...times.values()].map(({name, shown, seconds: [one, other]}) => ({name, shown, one, other}))
    .sort((x, y) => Math.abs(y.other - y.one) - Math.abs(x.other - x.one)).slice(0, 12);
}

/** Paths of a document with their values. */
function* leaves(value, path = "") {
  if (value !== null && typeof value === "object") {
    for (const [key, inner] of Object.entries(value)) yield* leaves(inner, path ? `${path}.${key}` : key);
  } else {
    yield [path, String(value)];
  }
}

function documentDifferences(a, b) {
  const [one, other] = [new Map(leaves(a.spec)), new Map(leaves(b.spec))];
  return [...new Set([...one.keys(), ...other.keys()])].filter((path) => one.get(path) !== other.get(path))
    .map((path) => [el("code", {}, path), one.get(path) ?? DASH, other.get(path) ?? DASH]).slice(0, 100);
}

/** What the difference of the two times comes from, in the controller's sentences: those that weigh most first, each as a step
 * from A to B. */
function causesPart(a, b, why) {
  if (!why) return undefined;
  const weighs = (cause) => cause.share === undefined || Math.abs(cause.share) >= CAUSE_SHARE_MIN;
  const told = why.causes.filter(weighs).slice(0, CAUSES_MAX);
  const left = why.causes.filter((cause) => !told.includes(cause));
  const rest = left.length > 0 ? [{sentence: left.length === 1 ? "1 cause that weighs less" : `${left.length} causes that weigh less`,
    seconds: left.reduce((sum, cause) => sum + cause.seconds, 0),
    share: left.reduce((sum, cause) => sum + (cause.share || 0), 0)}] : [];
  const unexplained = told.length > 0 || why.unexplained.seconds !== 0 ? [why.unexplained] : [];
  return el("section", {class: "part wide causes"}, el("h2", {}, "From A to B"),
    waterfall(timeOf(a), timeOf(b), [...told, ...rest, ...unexplained]),
    why.memory && el("p", {}, why.memory.sentence));
}

/** The verdict and the cause that weighs most, in a sentence each. */
function answer(a, b, why) {
  const [first] = why ? why.causes : [];
  return el("p", {class: "verdict", "data-answer": "which-is-faster"}, el("b", {}, verdict(a, b)),
    first && first.seconds !== 0 && ` The largest cause: ${first.sentence}.`);
}

const shares = (job) => PARTS.map(([key, title]) => ({key, title,
  share: (predictionOf(job).breakdown || {})[key] || 0}));

function comparison(a, b, why) {
  const differing = documentDifferences(a, b);
  const kernels = kernelDifferences(a, b);
  return [
    answer(a, b, why),
    el("div", {class: "sides"}, side("A", a), side("B", b)),
    causesPart(a, b, why),
    el("section", {class: "part wide"}, el("h2", {}, "Figures"), figures(a, b)),
    el("div", {class: "sides"}, [["A", a], ["B", b]].map(([mark, job]) => predictionOf(job).breakdown &&
      el("section", {class: "part"}, el("h2", {}, `Where the time of ${mark} goes`), stackedBar(mark, shares(job))))),
    kernels.length > 0 && el("section", {class: "part wide"}, el("h2", {}, "Largest differences"),
      el("p", {class: "note"}, "Busy time of one iteration, per rank."),
      table("Kernels that differ", [{title: "Name"}, {title: "A", number: true}, {title: "B", number: true}, {title: "Change", number: true}],
        kernels.map(({name, shown, one, other}) => [el("code", {title: name}, shown), one ? seconds(one, 3) : DASH,
          other ? seconds(other, 3) : DASH, one && other ? change(one, other) : one ? "only A" : "only B"]))),
    el("section", {class: "part wide"}, el("h2", {}, "Documents"), differing.length === 0
      ? el("p", {}, "The documents are equal.")
      : table("Fields that differ", [{title: "Field"}, {title: "A"}, {title: "B"}], differing))];
}

export function compareView(_, query) {
  const chosen = {a: query.get("a") || "", b: query.get("b") || ""};
  const place = el("div", {class: "comparison"});
  const pick = (which) => el("select", {"aria-label": `Job ${which.toUpperCase()}`, onchange: (event) => {
    chosen[which] = event.target.value;
    history.replaceState(null, "", `#/compare?a=${encodeURIComponent(chosen.a)}&b=${encodeURIComponent(chosen.b)}`);
    show();
  }});
  const [first, second] = [pick("a"), pick("b")];
  const node = el("section", {}, el("div", {class: "bar"}, el("h1", {}, "Compare"),
    el("label", {class: "line"}, "A ", first), el("label", {class: "line"}, "B ", second)), place);
  const get = (key) => getJson(jobPath(...key.split("/")));
  let asked = 0;

  async function show() {
    const round = ++asked;
    if (!chosen.a || !chosen.b) {
      return place.replaceChildren(el("div", {class: "empty"}, el("h2", {}, "Choose two jobs"),
        el("p", {}, "The list marks them too: tick two and press Compare.")));
    }
    try {
      const [a, b, {why}] = await Promise.all(
        [get(chosen.a), get(chosen.b), getJson(comparisonPath(chosen.a, chosen.b))]);
      if (round !== asked) return undefined;
      const made = document.createDocumentFragment();
      append(made, comparison(a, b, why));
      return place.replaceChildren(made);
    } catch (problem) {
      return place.replaceChildren(el("p", {class: "notice", role: "alert"}, problem.message));
    }
  }

  function fillPicks() {
    const keys = [...jobStore.objects.keys()].reverse();
    for (const [node_, which] of [[first, "a"], [second, "b"]]) {
      const all = chosen[which] && !keys.includes(chosen[which]) ? [chosen[which], ...keys] : keys;
      if (node_.options.length === all.length + 1) continue;
      node_.replaceChildren(el("option", {value: ""}, "Choose…"), ...all.map((key) => el("option", {value: key}, key)));
      node_.value = chosen[which];
    }
  }
  jobStore.addEventListener("change", fillPicks);
  const close = jobStore.open();
  fillPicks();
  show();
  return {title: "Compare", node, close() {
    close();
    jobStore.removeEventListener("change", fillPicks);
  }};
}
