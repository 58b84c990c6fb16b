// The list of jobs: filter, order, live state. Jobs of a sweep are folded below its row. Rows are kept between changes, and
// only as many are made as the reader has scrolled to.

import {append, el} from "./element.js";
import {getJson, sweepPath} from "./api.js";
import {ago, count} from "./numbers.js";
import {COLUMNS, rowOf, runningNow, sweepRow, valueOfSweep} from "./job_rows.js";
import {keyOf, jobStore} from "./object_store.js";
import {lastCondition, PHASES, phaseOf, targetOf} from "./job_fields.js";
import {pointLabels} from "./sweep_fields.js";

const PAGE = 60;

const sweepOf = (job) => (job.metadata.labels || {})["eidolon.dev/sweep"];

const textOf = (job) => [job.metadata.namespace, job.metadata.name, targetOf(job).gpu,
  targetOf(job).name, ...((job.spec || {}).command || []), lastCondition(job).reason,
  ...Object.entries(job.metadata.labels || {}).map(([name, value]) => `${name}=${value}`),
].join(" ").toLowerCase();

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
  const rows = new Map(); // Key of a job to {version, node}, of a sweep to its row.
  const open = new Set(); // Keys of sweeps whose points are shown.
  const labels = new Map(); // Key of a sweep to the labels of its jobs.
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
  const now = el("p", {class: "now", "data-answer": "running-now"});
  const node = el("section", {},
    el("div", {class: "bar"}, el("h1", {}, "Jobs"), search, phases, compare,
      el("a", {class: "button primary", href: "#/submit"}, "New job")), now, place, tally, end);

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

  /** The rows of the list: [{key, jobs}], one job or those of a sweep, in order. */
  function entriesOf(jobs) {
    const sweeps = new Map();
    for (const job of jobs) {
      const sweep = sweepOf(job);
      const key = sweep ? `sweep ${job.metadata.namespace}/${sweep}` : keyOf(job);
      const known = sweeps.get(key);
      if (known) known.jobs.push(job);
      else sweeps.set(key, {key, sweep, jobs: [job]});
    }
    return [...sweeps.values()];
  }

  function ordered(entries) {
    const column = COLUMNS.find((one) => one.id === options.by);
    const keyed = entries.map((entry) => [entry.sweep && column.id === "name" ? entry.key.slice(6)
      : valueOfSweep(column, entry.jobs, options.down), entry]);
    const sign = options.down ? -1 : 1;
    keyed.sort(([a], [b]) => {
      // What is not known comes last in either direction.
      if (a === undefined || b === undefined) return (a === undefined) - (b === undefined);
      return a < b ? -sign : a > b ? sign : 0;
    });
    return keyed.map(([, entry]) => entry);
  }

  function nodeOf(job, label) {
    const key = keyOf(job);
    const version = `${job.metadata.resourceVersion} ${label}`;
    const kept = rows.get(key);
    if (kept && kept.version === version) return kept.node;
    const made = rowOf(job, chosen, choose, label);
    rows.set(key, {version, node: made});
    return made;
  }

  /** Learns what the points of a sweep are called, once it is unfolded and again for jobs that it does not know. */
  async function name({key, sweep, jobs}) {
    const known = labels.get(key);
    if (known && (known.asks || jobs.every((job) => known.names.has(job.metadata.name)))) return;
    const next = {asks: true, names: known ? known.names : new Map()};
    labels.set(key, next);
    try {
      next.names = pointLabels(await getJson(sweepPath(jobs[0].metadata.namespace, sweep)));
    } catch {
      // Of a sweep that is gone its jobs' names are left.
    }
    for (const job of jobs) if (!next.names.has(job.metadata.name)) next.names.set(job.metadata.name, job.metadata.name);
    next.asks = false;
    show();
  }

  /** The nodes of an entry: of a sweep its row, and its points where it is unfolded. */
  function nodesOf(entry, unfolded) {
    const {key, sweep, jobs} = entry;
    if (!sweep) return [nodeOf(jobs[0])];
    const isOpen = unfolded || open.has(key);
    if (!rows.has(key)) {
      rows.set(key, sweepRow(jobs[0].metadata.namespace, sweep, () => {
        if (!open.delete(key)) open.add(key);
        show();
      }));
    }
    rows.get(key).update(jobs, isOpen);
    if (!isOpen) return [rows.get(key).node];
    name(entry);
    const {names} = labels.get(key);
    return [rows.get(key).node, ...ordered(entriesOfJobs(jobs)).map(({jobs: [job]}) =>
      nodeOf(job, names.get(job.metadata.name) || job.metadata.name))];
  }

  const entriesOfJobs = (jobs) => jobs.map((job) => ({key: keyOf(job), jobs: [job]}));

  function show() {
    const jobs = [...jobStore.objects.values()];
    const failed = jobStore.state instanceof Error && jobs.length === 0;
    const empty = jobs.length === 0 && jobStore.state === "live";
    showPhases(jobs);
    const words = options.text.toLowerCase().split(/\s+/).filter(Boolean);
    const found = jobs.filter((job) => (!options.phase || phaseOf(job) === options.phase) &&
      (words.length === 0 || words.every((word) => textOf(job).includes(word))));
    const wanted = [];
    let number = 0;
    for (const entry of ordered(entriesOf(found))) {
      if (wanted.length >= options.most) break;
      wanted.push(...nodesOf(entry, words.length > 0));
      number += entry.jobs.length;
    }
    now.replaceChildren();
    append(now, [jobs.length > 0 && runningNow(jobs)]);
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
      : `${count(number)} of ${count(found.length)} shown`;
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

