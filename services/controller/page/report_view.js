// A job's report without a server: the views of the page with the data of a file.

import {append, el} from "./element.js";
import {headNotes, stageOf} from "./job_head.js";
import {phaseTag} from "./job_fields.js";
import {jobSections, lastSections} from "./job_sections.js";

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

/** The node that `make` gives. Documents may be of another version: what cannot be shown says so, and the rest is. */
function guarded(what, make) {
  try {
    return make();
  } catch (problem) {
    return el("p", {class: "warning"}, `${what} cannot be shown: ${problem.message}`);
  }
}

/** `data`: {job, whatIfs, version}. */
export function reportView({job: document, whatIfs, version}) {
  const given = isObject(document) ? document : {};
  const job = {...given, metadata: isObject(given.metadata) ? given.metadata : {}, whatIfs};
  const name = job.metadata.name || "A job without a name";
  const head = el("div", {class: "job-head"});
  append(head, [el("div", {class: "bar"}, el("h1", {}, name), guarded("The state", () => phaseTag(job))),
    guarded("The target", () => headNotes(job))]);
  const stage = el("div");
  const showStage = () => {
    stage.replaceChildren();
    append(stage, [guarded("The prediction", () => stageOf(job))]);
  };
  showStage();
  addEventListener("price", showStage);
  const parts = el("div", {class: "parts"}, [...jobSections(), ...lastSections()].map((part) => {
    const trouble = guarded("A part", () => part.update(job));
    return trouble instanceof Node ? trouble : part.node;
  }));
  return {title: name, node: el("article", {class: "job"}, head, stage, parts,
    el("p", {class: "note"}, `Predicted by Eidolon ${version}, job created ${job.metadata.creationTimestamp || "–"}.`))};
}
