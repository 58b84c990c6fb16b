// The list of jobs: filter, order, live state. Rows are kept between changes, and only as many
// are made as somebody has scrolled to.

import {el, route} from "./element.js";
import {ago, bytes, count, DASH, percent, seconds, span} from "./numbers.js";
import {bandMark} from "./marks.js";
import {keyOf, jobStore} from "./object_store.js";
import {lastCondition, PHASES, phaseOf, phaseTag, predictionOf, rateText, sizeOf, targetOf, throughputOf,
  timeOf} from "./job_fields.js";

const PAGE = 60;
const COLUMNS = [
  {id: "name", title: "Job", value: (job) => keyOf(job)},
  {id: "phase", title: "State", value: (job) => PHASES.indexOf(phaseOf(job))},
  {id: "gpu", title: "Cluster", value: (job) => targetOf(job).gpu},
  {id: "time", title: "Iteration", number: true, value: (job) => (timeOf(job) || {}).value},
  {id: "throughput", title: "Throughput", number: true, value: (job) => (throughputOf(job) || {}).perSecond},
  {id: "mfu", title: "MFU", number: true, value: (job) => predictionOf(job).modelFlopsUtilization},
  {id: "memory", title: "Memory", number: true,
    value: (job) => (predictionOf(job).memory || {}).peakReservedBytes},
  {id: "created", title: "Created", number: true, value: (job) => job.metadata.creationTimestamp},
];

const textOf = (job) => [job.metadata.namespace, job.metadata.name, targetOf(job).gpu,
  targetOf(job).name, ...((job.spec || {}).command || []), lastCondition(job).reason,
  ...Object.entries(job.metadata.labels || {}).map(([name, value]) => `${name}=${value}`),
].join(" ").toLowerCase();

function memoryCell(job) {
  const memory = predictionOf(job).memory;
  if (!memory) return DASH;
  const share = memory.peakReservedBytes / memory.capacityBytes;
  return [bytes(memory.peakReservedBytes), el("span", {class: "meter", "aria-hidden": "true"},
    el("span", {class: memory.fits ? "fill" : "fill over",
      style: {width: `${Math.min(100, share * 100)}%`}}))];
}

function stateCell(job) {
  const progress = job.status && job.status.progress;
  const condition = lastCondition(job);
  const children = [phaseTag(job)];
  if (phaseOf(job) === "Running" && progress) {
    const left = progress.remainingSeconds;
    children.push(el("progress", {max: "100", value: progress.percent, "aria-label": "Progress"}),
      el("div", {class: "note"}, `iteration ${progress.iteration} of ${progress.of}`,
        left > 0 ? `, ${span(left)} left` : ""));
  } else if (["Failed", "Interrupted"].includes(phaseOf(job))) {
    children.push(el("div", {class: "note", title: condition.message}, condition.reason));
  }
  return children;
}

function rowOf(job, chosen, choose) {
  const target = targetOf(job);
  const time = timeOf(job);
  const rate = throughputOf(job);
  const {namespace, name} = job.metadata;
  const box = el("input", {type: "checkbox", "aria-label": `Compare ${namespace}/${name}`,
    onchange: (event) => choose(keyOf(job), event.target)});
  box.checked = chosen.has(keyOf(job));
  return el("tr", {},
    el("td", {class: "choice"}, box),
    el("th", {scope: "row"}, el("a", {href: route("jobs", namespace, name)}, name),
      el("div", {class: "note"}, namespace)),
    el("td", {}, stateCell(job)),
    el("td", {}, target.gpu || target.name || DASH,
      el("div", {class: "note"}, [sizeOf(target), target.gpu && target.name].filter(Boolean).join(", "))),
    el("td", {class: "number"}, time ? [seconds(time.value), bandMark(time)] : DASH,
      time && time.what === "program" ? el("div", {class: "note"}, "whole program") : ""),
    el("td", {class: "number"}, rate ? [rateText(rate.perSecond), el("div", {class: "note"}, `${rate.unit}/s`)] : DASH),
    el("td", {class: "number"}, percent(predictionOf(job).modelFlopsUtilization)),
    el("td", {class: "number"}, memoryCell(job)),
    el("td", {class: "number"}, el("time", {datetime: job.metadata.creationTimestamp,
      title: job.metadata.creationTimestamp}, ago(job.metadata.creationTimestamp))));
}

function emptyState() {
  return el("div", {class: "empty"},
    el("h2", {}, "No jobs yet"),
    el("p", {}, "Describe a cluster and a training command; Eidolon predicts how the cluster would run it."),
    el("p", {}, el("a", {class: "button primary", href: "#/submit"}, "New job")),
    el("p", {class: "note"}, "or from a terminal: ", el("code", {}, "eidolon submit --follow -f job.yaml")));
}

export function jobListView() {
  const options = {text: "", phase: "", by: "created", down: true, most: PAGE};
  const chosen = new Set();
  const rows = new Map(); // Key to {version, node}.
  const phases = el("div", {class: "chips", role: "group", "aria-label": "State"});
  const search = el("input", {type: "search", "aria-label": "Filter jobs", autocomplete: "off",
    placeholder: "Filter by name, GPU, label, command…", spellcheck: "false"});
  const compare = el("a", {class: "button", hidden: true}, "Compare");
  const tally = el("p", {class: "note", role: "status"});
  const body = el("tbody");
  const heads = COLUMNS.map((column) => el("th", {scope: "col", class: column.number && "number"},
    el("button", {type: "button", onclick: () => orderBy(column.id)}, column.title)));
  const tableNode = el("table", {class: "jobs"}, el("caption", {class: "unseen"}, "Jobs"),
    el("thead", {}, el("tr", {}, el("td", {class: "choice"}), heads)), body);
  const end = el("div", {class: "end"});
  const content = el("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": "Jobs"}, tableNode);
  const place = el("div");
  const node = el("section", {},
    el("div", {class: "bar"}, el("h1", {}, "Jobs"), search, phases, compare,
      el("a", {class: "button primary", href: "#/submit"}, "New job")), place, tally, end);

  function orderBy(id) {
    options.down = options.by === id ? !options.down : id !== "name" && id !== "gpu";
    options.by = id;
    show();
  }

  function choose(key, box) {
    if (box.checked) chosen.add(key);
    else chosen.delete(key);
    while (chosen.size > 2) chosen.delete(chosen.values().next().value);
    rows.clear();
    show();
  }

  function showPhases(jobs) {
    const numbers = new Map(PHASES.map((phase) => [phase, 0]));
    for (const job of jobs) numbers.set(phaseOf(job), (numbers.get(phaseOf(job)) || 0) + 1);
    const focused = phases.contains(document.activeElement) && document.activeElement.dataset.phase;
    phases.replaceChildren(...["", ...PHASES].map((phase) => el("button", {
      type: "button", class: "chip", "data-phase": phase || "All",
      "aria-pressed": String(options.phase === phase),
      onclick: () => {
        options.phase = phase;
        options.most = PAGE;
        show();
      },
    }, phase || "All", " ", el("b", {}, count(phase ? numbers.get(phase) : jobs.length)))));
    if (focused) phases.querySelector(`[data-phase="${focused}"]`).focus();
  }

  function ordered(jobs) {
    const column = COLUMNS.find((one) => one.id === options.by);
    const keyed = jobs.map((job) => [column.value(job), job]);
    const sign = options.down ? -1 : 1;
    keyed.sort(([a], [b]) => {
      // What is not known comes last in either direction.
      if (a === undefined || b === undefined) return (a === undefined) - (b === undefined);
      return a < b ? -sign : a > b ? sign : 0;
    });
    return keyed.map(([, job]) => job);
  }

  function nodeOf(job) {
    const key = keyOf(job);
    const kept = rows.get(key);
    if (kept && kept.version === job.metadata.resourceVersion) return kept.node;
    const made = rowOf(job, chosen, choose);
    rows.set(key, {version: job.metadata.resourceVersion, node: made});
    return made;
  }

  function show() {
    const jobs = [...jobStore.objects.values()];
    const failed = jobStore.state instanceof Error && jobs.length === 0;
    const empty = jobs.length === 0 && jobStore.state === "live";
    showPhases(jobs);
    const words = options.text.toLowerCase().split(/\s+/).filter(Boolean);
    const found = ordered(jobs.filter((job) => (!options.phase || phaseOf(job) === options.phase) &&
      (words.length === 0 || words.every((word) => textOf(job).includes(word)))));
    const wanted = found.slice(0, options.most).map(nodeOf);
    // A row that has not moved keeps its focus.
    wanted.forEach((row, i) => {
      if (body.children[i] !== row) body.insertBefore(row, body.children[i] || null);
    });
    while (body.children.length > wanted.length) body.lastChild.remove();
    heads.forEach((head, i) => {
      const current = COLUMNS[i].id === options.by;
      if (current) head.setAttribute("aria-sort", options.down ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
    compare.hidden = chosen.size !== 2;
    const [a, b] = chosen;
    if (b) compare.setAttribute("href", `#/compare?a=${encodeURIComponent(a)}&b=${encodeURIComponent(b)}`);
    tally.textContent = jobs.length === 0 ? "" : found.length === 0 ? "No job fits the filter."
      : `${count(wanted.length)} of ${count(found.length)} shown`;
    const shownNow = failed ? noAnswer(jobStore.state) : empty ? emptyState() : content;
    if (place.firstChild !== shownNow) place.replaceChildren(shownNow);
    node.setAttribute("aria-busy", String(jobStore.state === "connecting"));
  }

  // On Kubernetes one may be allowed to see one namespace alone.
  function noAnswer(problem) {
    const field = el("input", {name: "namespace", required: true, value: jobStore.namespace, "aria-label": "Namespace"});
    return el("div", {class: "empty"}, el("h2", {}, problem.status === 403 ? "Not allowed here" : "No answer"),
      el("p", {}, problem.message),
      problem.status === 403 && el("form", {class: "line", onsubmit: (event) => {
        event.preventDefault();
        jobStore.namespace = field.value.trim();
      }}, field, el("button", {type: "submit"}, "Show this namespace")));
  }

  search.addEventListener("input", () => {
    options.text = search.value;
    options.most = PAGE;
    show();
  });
  const more = new IntersectionObserver((entries) => {
    if (!entries.some((entry) => entry.isIntersecting) || options.most >= jobStore.objects.size) return;
    options.most += PAGE;
    show();
  }, {rootMargin: "600px"});
  more.observe(end);
  let asked = false;
  const onChange = () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      show();
    });
  };
  jobStore.addEventListener("change", onChange);
  const close = jobStore.open();
  const clock = setInterval(() => {
    for (const time of body.querySelectorAll("time")) time.textContent = ago(time.dateTime);
  }, 30000);
  show();
  return {
    title: "Jobs", node, focus: () => search.focus(),
    close() {
      close();
      clearInterval(clock);
      more.disconnect();
      jobStore.removeEventListener("change", onChange);
    },
  };
}

