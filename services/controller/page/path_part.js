// The critical path of a job: the chain of work and waits that sets the iteration's length.

import {append, details, el, table} from "./element.js";
import {count, percent, seconds} from "./numbers.js";
import {stackedBar} from "./marks.js";
import {predictionOf} from "./job_fields.js";
import {shortName} from "./text.js";

const SHOWN = 12;
// Kinds of docs/critical_path.md, the GPU's first.
const KINDS = [["kernels", "Kernels", "computation on GPUs"], ["copies", "Copies", "between host and GPU, and within one"],
  ["communication", "Communication", "collectives and sends, once every rank was ready"],
  ["launches", "Launches", "from a call of the host to the GPU's start"],
  ["delays", "Delays", "work that shared its GPU with NCCL was late"], ["host", "Host", "Python, PyTorch and the CUDA runtime"],
  ["sleeps", "Sleeps", "for which the program slept"], ["unknown", "Unknown", "about which the timeline does not tell"]];

const COLUMNS = [{title: "Operation"}, {title: "Kind"}, {title: "Times", number: true}, {title: "On the path", number: true},
  {title: "Share", number: true}];

const timeOf = (entry) => seconds(entry.picoseconds * 1e-12, 3);

function operationRow(operation) {
  return [el("code", {title: operation.name}, shortName(operation.name)), operation.kind, count(operation.times),
    timeOf(operation), percent(operation.share, 2)];
}

function rankNote(path) {
  const ranks = (path.ranks || []).slice(0, 6).map((rank) => `rank ${rank.rank} ${percent(rank.share)}`);
  const more = (path.ranks || []).length > 6 || path.otherRanksPicoseconds > 0;
  return `It runs over ${ranks.join(", ")}${more ? " and others" : ""}, and changes the rank ${count(path.rankChanges)} times.`;
}

const shareRow = (name) => (entry) => [name(entry), timeOf(entry), percent(entry.share)];
const shareTable = (what, share, entries, name) => table(what, [{title: what}, {title: "Time", number: true},
  {title: share, number: true}], entries.map(shareRow(name)));

/** The links and the ranks, all of those that are listed. */
const tables = ({links = [], namedLinks = [], ranks = []}) => [
  links.length > 0 && details("Communication by link", () => [
    shareTable("Link", "Share of communication", links, (entry) => entry.link),
    namedLinks.length > 0 && shareTable("Busiest", "Share of communication", namedLinks, (entry) => entry.name)]),
  ranks.length > 1 && details("By rank", () => [shareTable("Rank", "Share", ranks, (entry) => String(entry.rank))])];

function linkNote(path) {
  const links = (path.links || []).map((link) => `${link.link} ${percent(link.share)}`);
  const named = (path.namedLinks || []).slice(0, 3).map((link) => `${link.name} ${percent(link.share)}`);
  return links.length > 0 && el("p", {class: "note"}, `Communication by link: ${links.join(", ")}.`,
    named.length > 0 && ` Most of it on ${named.join("; ")}.`);
}

export const criticalPathPart = {
  select: (job) => predictionOf(job).criticalPath,
  render: (path) => {
    const shares = new Map((path.kinds || []).map((kind) => [kind.kind, kind]));
    const operations = path.operations || [];
    const node = document.createDocumentFragment();
    append(node, [
      el("p", {class: "note"}, path.iteration ? `Iteration ${path.iteration}` : "The whole program",
        `: ${timeOf(path)} in ${count(path.segments)} parts. Only what lies on this path makes it shorter. `,
        rankNote(path)),
      stackedBar("The critical path by kind", KINDS.filter(([key]) => shares.has(key)).map(([key, title, note]) =>
        ({key, title, note, share: shares.get(key).share, text: timeOf(shares.get(key))}))),
      linkNote(path),
      operations.length > 0 && table("What lies on the critical path",
        COLUMNS, operations.slice(0, SHOWN).map(operationRow)),
      operations.length > SHOWN && details("All operations", () => table("All operations", COLUMNS, operations.map(operationRow))),
      tables(path),
      path.operationsLeftOut > 0 &&
        el("p", {class: "warning"}, `${count(path.operationsLeftOut)} operations were not recorded and are left out.`)]);
    return node;
  },
};
