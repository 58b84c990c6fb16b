// What limits a job's iteration and what would help, below its first figures.

import {el} from "./element.js";
import {percent, seconds, signedPercent} from "./numbers.js";
import {PARTS, predictionOf} from "./job_fields.js";

const SHOWN = 3;

/** The controller's findings, the most expensive first: {sentence, suggestion, change}. */
const findingsOf = (job) => (predictionOf(job).diagnosis || []).filter((finding) => finding && finding.sentence);

/** Without a finding, the part that takes most of the time. */
function largestPart(job) {
  const shares = predictionOf(job).breakdown;
  if (!shares) return "Unknown before an iteration is measured.";
  const [key, title, note] = PARTS.reduce((most, part) => (shares[part[0]] || 0) > (shares[most[0]] || 0) ? part : most);
  return `${title} takes most of the time, ${percent(shares[key])}: ${note}.`;
}

/** Texts of what would make it faster, from findings and from replays. */
function helps(job) {
  const found = findingsOf(job).filter(({suggestion}) => suggestion).map(({suggestion, change}) =>
    suggestion + (change < 0 ? `: up to ${signedPercent(change)}` : ""));
  const {whatIfs = []} = job.whatIfs || {};
  const replayed = whatIfs.filter(({change, fits}) => change < 0 && fits !== false)
    .map(({name, iterationSeconds, change}) => `${name}: ${seconds(iterationSeconds)}, ${signedPercent(change)}`);
  return [...found, ...replayed].slice(0, SHOWN);
}

/** Nothing before a time is predicted. `more`: nodes below what would help. */
export function diagnosisLines(job, ...more) {
  const {iterationSeconds, program} = predictionOf(job);
  if (!iterationSeconds && !program) return "";
  const findings = findingsOf(job);
  const list = helps(job);
  return el("section", {class: "diagnosis"},
    el("div", {"data-answer": "what-limits"}, el("h2", {}, "What limits it"), findings.length > 0
      ? findings.slice(0, 2).map(({sentence}, i) => el("p", {class: i === 0 ? "" : "note"}, sentence))
      : el("p", {}, largestPart(job))),
    el("div", {"data-answer": "what-would-help"}, el("h2", {}, "What would help"), list.length > 0
      ? el("ul", {}, list.map((text) => el("li", {}, text)))
      : el("p", {class: "note"}, "No finding suggests a change. Replays of a recording answer for another GPU, host or network."),
    more));
}
