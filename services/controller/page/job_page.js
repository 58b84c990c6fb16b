// One job, followed while it runs: its head, its figures, its parts, and what the program printed.

import {append, el, route} from "./element.js";
import {follow, jobPath, patchJson, remove} from "./api.js";
import {actionButton, confirmed, save} from "./actions.js";
import {headNotes, headShape, stageOf, sweepLine} from "./job_head.js";
import {isOver, phaseOf, phaseTag} from "./job_fields.js";
import {jobSections, lastSections} from "./job_sections.js";
import {logPart} from "./log_panel.js";
import {openTimeline} from "./timeline.js";
import {askWhatWouldHelp, questionsOf} from "./what_would_help.js";

function actionsOf(job, namespace, name, fail, gone) {
  const path = jobPath(namespace, name);
  const spec = job.spec || {};
  const act = (title, work, style) => actionButton(title, work, fail, style);
  const timeline = (spec.outputs || {}).timeline;
  const hasTimeline = isOver(job) && timeline && timeline.iterations !== 0;
  const hasRecording = isOver(job) && (spec.outputs || {}).recording;
  return [
    hasTimeline && act("Open timeline", () => openTimeline(`${path}/timeline`, name), "primary"),
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

/** Below what would help: asks for more, by predictions of the job with one thing changed. */
const helpButton = (job, fail) => isOver(job) && Object.keys(questionsOf(job)).length > 0 &&
  actionButton("What would help", async () => {
    const {metadata} = await askWhatWouldHelp(job);
    location.hash = route("sweeps", metadata.namespace, metadata.name);
  }, fail);

export function jobView([namespace, name]) {
  const head = el("div", {class: "job-head"});
  const stage = el("div");
  const notice = el("div", {role: "alert"});
  const abort = new AbortController();
  const log = logPart(namespace, name, abort.signal);
  const [sections, last] = [jobSections(), lastSections()];
  const node = el("article", {class: "job"},
    el("nav", {class: "crumbs", "aria-label": "Place"}, el("a", {href: "#/"}, "Jobs"), ` / ${namespace}`),
    head, notice, stage, el("div", {class: "parts"}, sections.map((part) => part.node),
      log.node, last.map((part) => part.node)));
  let lastHead = "";

  const gone = () => notice.replaceChildren(el("p", {class: "notice"}, "The job was deleted. ",
    el("a", {href: "#/"}, "To the list")));
  const fail = (problem) => notice.replaceChildren(el("p", {class: "notice"}, problem.message));

  let latest = null;

  function show(job) {
    latest = job;
    const shape = headShape(job);
    if (shape !== lastHead) {
      lastHead = shape;
      head.replaceChildren();
      append(head, [
        el("div", {class: "bar"}, el("h1", {}, name), phaseTag(job),
          el("div", {class: "actions"}, actionsOf(job, namespace, name, fail, gone))),
        headNotes(job, sweepLine(job, namespace))]);
    }
    stage.replaceChildren();
    append(stage, [stageOf(job, helpButton(job, fail))]);
    for (const part of [...sections, ...last]) part.update(job);
    log.update(job);
  }

  addEventListener("price", () => latest && show(latest), {signal: abort.signal});
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
