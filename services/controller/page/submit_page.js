// A form for the usual fields and the document that it makes, a job or a sweep, which can be edited.
// What is wrong with a field is said by the API, as JSON pointers into the document.

import {el, route} from "./element.js";
import {getJson, jobPath, postYaml, sweepPath} from "./api.js";
import {toYaml} from "./yaml.js";

// Each: id, title, pointer, hint. The pointer says where messages belong.
const FIELDS = [
  {id: "name", title: "Name", at: "/metadata/name", hint: "lower-case letters, digits and '-'", need: true},
  {id: "namespace", title: "Namespace", at: "/metadata/namespace", value: "default"},
  {id: "preset", title: "Server preset", at: "/spec/cluster/server/preset", list: true, value: "dgx-h100", hint: "a machine with its usual network"},
  {id: "gpu", title: "GPU", at: "/spec/cluster/server/gpu", hint: "instead of the preset's, such as H100-SXM5-80GB"},
  {id: "servers", title: "Servers", at: "/spec/cluster/servers", number: true, value: "1"},
  {id: "gpus", title: "GPUs per server", at: "/spec/cluster/server/gpusPerServer", number: true},
  {id: "directory", title: "Folder of the program", at: "/spec/code/directory", hint: "absolute path; it is the working directory", wide: true},
  {id: "command", title: "Command", at: "/spec/command", hint: "run once per server", value: "torchrun train.py", need: true, wide: true},
  {id: "warmup", title: "Warm-up iterations", at: "/spec/iterations/warmup", number: true, value: "3"},
  {id: "measure", title: "Measured iterations", at: "/spec/iterations/measure", number: true, value: "5"},
  {id: "tokens", title: "Tokens per iteration", at: "/spec/iterations/tokens", number: true, hint: "of the whole job; gives tokens/s"},
  {id: "parameters", title: "Parameters of the model", at: "/spec/iterations/parameters", number: true, hint: "gives the utilization"},
];

/** Words of a command as a shell splits them: quotes and backslashes, nothing else. */
export function wordsOf(command) {
  const words = [];
  const pattern = /\s*((?:"(?:[^"\\]|\\.)*"|'[^']*'|\\.|[^\s"'\\])+)/gy;
  for (let match; (match = pattern.exec(command)) !== null;) {
    words.push(match[1].replace(/"((?:[^"\\]|\\.)*)"|'([^']*)'|\\(.)/g, (whole, double, single, one) =>
      double !== undefined ? double.replace(/\\(["\\])/g, "$1") : single !== undefined ? single : one));
  }
  return words;
}

// Whether a document says of itself that it is a sweep. The API reads it; this chooses its address.
const SWEEP = /(?:^|[{,\s])["']?kind["']?\s*:\s*["']?SimulationSweep\b/m;
// What a new sweep begins with.
const MATRIX = {"cluster.server.gpu": ["H100-SXM5-80GB", "B200-SXM-180GB"]};

/** The sweep of a job's document. */
const sweepOf = ({apiVersion, metadata, spec}) =>
  ({apiVersion, kind: "SimulationSweep", metadata, spec: {job: spec, matrix: MATRIX, concurrency: 1}});

function documentOf(values) {
  const number = (text) => text === "" ? undefined : /^\d+$/.test(text) ? Number(text) : text;
  const text = (value) => value === "" ? undefined : value;
  return {
    apiVersion: "eidolon.dev/v1alpha1", kind: "SimulationJob",
    metadata: {name: text(values.name)},
    spec: {
      cluster: {servers: number(values.servers),
        server: {preset: text(values.preset), gpu: text(values.gpu), gpusPerServer: number(values.gpus)}},
      command: wordsOf(values.command),
      code: values.directory ? {directory: values.directory} : undefined,
      iterations: {warmup: number(values.warmup), measure: number(values.measure), tokens: number(values.tokens),
        parameters: number(values.parameters)},
    },
  };
}

const withoutGaps = (value) => JSON.parse(JSON.stringify(value));

export function submitView([namespace, name], query) {
  const sweepAgain = (query.get("sweep") || "").split("/");
  const kind = el("select", {id: "field-kind", onchange: () => rewrite()},
    el("option", {value: "job"}, "One job"), el("option", {value: "sweep"}, "A sweep: the job on every combination of values"));
  kind.value = query.get("kind") === "sweep" || sweepAgain.length === 2 ? "sweep" : "job";

  const fields = FIELDS.map((field) => {
    const id = `field-${field.id}`;
    const input = el("input", {id, name: field.id, value: field.value || "", autocomplete: "off", spellcheck: "false",
      inputmode: field.number && "numeric", list: field.list && "presets", "aria-describedby": `${id}-note`,
      oninput: () => rewrite()});
    const message = el("div", {class: "message", id: `${id}-note`}, field.hint);
    return {...field, input, message, node: el("div", {class: field.wide ? "field wide" : "field"},
      el("label", {for: id}, field.title, field.need && el("span", {"aria-hidden": "true"}, " *")), input, message)};
  });
  const presets = el("datalist", {id: "presets"});
  const text = el("textarea", {id: "document", rows: "16", spellcheck: "false", wrap: "off",
    oninput: () => {
      edited = true;
      again.hidden = false;
    }});
  const again = el("button", {type: "button", hidden: true, onclick: () => {
    edited = false;
    again.hidden = true;
    rewrite();
  }}, "Back to the form's document");
  const problems = el("div", {role: "alert", tabindex: "-1"});
  const send = el("button", {type: "submit", class: "primary"}, "Submit");
  const form = el("form", {class: "submit", novalidate: true, onsubmit: (event) => {
    event.preventDefault();
    submit();
  }},
  el("fieldset", {}, el("legend", {}, "Job"),
    el("div", {class: "field wide"}, el("label", {for: "field-kind"}, "Predict"), kind), fields.map((field) => field.node), presets),
  el("div", {class: "document-side"}, el("div", {class: "bar"}, el("label", {for: "document"}, "Document (YAML or JSON)"), again),
    text, problems, el("div", {class: "bar"}, send)));
  const node = el("section", {}, el("div", {class: "bar"}, el("h1", {}, "New job or sweep")), form);
  let edited = false;

  const valueOf = (id) => fields.find((field) => field.id === id).input.value.trim();

  function rewrite() {
    if (edited) return;
    const values = Object.fromEntries(fields.map((field) => [field.id, field.input.value.trim()]));
    const document = withoutGaps(documentOf(values));
    text.value = `${toYaml(kind.value === "sweep" ? sweepOf(document) : document)}\n`;
  }

  function showMessages(errors) {
    const left = [];
    // In a sweep the job's spec lies below the sweep's.
    const isOf = (field, {pointer}) => `${pointer.replace(/^\/spec\/job\//, "/spec/")}/`.startsWith(`${field.at}/`);
    for (const field of fields) {
      const own = errors.filter((error) => isOf(field, error));
      field.message.textContent = own.length > 0 ? "" : field.hint || "";
      field.message.replaceChildren(...(own.length > 0 ? own : [{detail: field.hint}]).map((error) => el("div", {}, error.detail)));
      field.node.classList.toggle("wrong", own.length > 0);
      if (own.length > 0) field.input.setAttribute("aria-invalid", "true");
      else field.input.removeAttribute("aria-invalid");
    }
    for (const error of errors) {
      if (!fields.some((field) => isOf(field, error))) left.push(error);
    }
    return left;
  }

  async function submit() {
    send.disabled = true;
    problems.replaceChildren();
    showMessages([]);
    try {
      const isSweep = SWEEP.test(text.value);
      const all = (isSweep ? sweepPath : jobPath)(valueOf("namespace") || "default");
      const created = await postYaml(all, text.value);
      location.hash = route(isSweep ? "sweeps" : "jobs", created.metadata.namespace, created.metadata.name);
    } catch (problem) {
      const left = showMessages(problem.errors || []);
      const few = problem.errors && problem.errors.length > 0 ? `${problem.errors.length} problem${
        problem.errors.length === 1 ? "" : "s"} in the document.` : problem.message;
      problems.replaceChildren(el("div", {class: "notice"}, el("p", {}, few),
        left.length > 0 && el("ul", {}, left.map((error) => el("li", {}, el("code", {}, error.pointer || "/"), " ", error.detail)))));
      const wrong = fields.find((field) => field.node.classList.contains("wrong"));
      (wrong ? wrong.input : problems).focus();
    }
    send.disabled = false;
  }

  rewrite();
  // The names of presets stand in the description of the API.
  getJson("/openapi.json").then((api) => {
    const server = api.components.schemas.ClusterSpec.properties.server.properties;
    presets.replaceChildren(...server.preset.enum.map((preset) => el("option", {value: preset})));
  }).catch(() => {});
  // Another one like it.
  function fillFrom(path, from, prefix) {
    getJson(path).then((object) => {
      edited = true;
      again.hidden = false;
      fields.find((field) => field.id === "namespace").input.value = from;
      text.value = `${toYaml({apiVersion: object.apiVersion, kind: object.kind,
        metadata: {generateName: `${prefix}-`}, spec: object.spec})}\n`;
    }).catch((problem) => problems.replaceChildren(el("p", {class: "notice"}, problem.message)));
  }
  if (name) fillFrom(jobPath(namespace, name), namespace, name.slice(0, 50));
  // The names of its jobs are longer.
  if (sweepAgain.length === 2) fillFrom(sweepPath(...sweepAgain), sweepAgain[0], sweepAgain[1].slice(0, 30));
  return {title: "New job", node, close() {}};
}
