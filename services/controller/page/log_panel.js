// The end of what the program printed, followed while it runs.

import {el} from "./element.js";
import {getAnswer, jobPath, mayPass, pause} from "./api.js";
import {isOver} from "./job_fields.js";
import {logLine} from "./text.js";

const LINES = 500;
const PENDING_MAX = 1 << 21; // Of a line that has no end yet.

export function logPart(namespace, name, signal) {
  const text = el("pre", {class: "log", tabindex: "0", role: "log", "aria-label": "Output of the program"});
  const tally = el("span", {class: "note"});
  const box = el("input", {type: "checkbox", id: "follow-log"});
  box.checked = true;
  const node = el("section", {class: "part wide"}, el("h2", {}, "Log"),
    el("div", {class: "bar"}, tally, el("label", {for: "follow-log", class: "line"}, box, "Follow"),
      el("button", {type: "button", onclick: save}, "Download")), text);
  let started = false;
  let total = 0;
  let pending = "";

  async function save() {
    const blob = await (await getAnswer(`${jobPath(namespace, name)}/logs`)).blob();
    const link = el("a", {download: `${name}.log`});
    link.href = URL.createObjectURL(blob);
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  }

  function add(chunk) {
    pending += chunk;
    const lines = pending.split("\n");
    pending = lines.pop();
    if (pending.length > PENDING_MAX) pending = pending.slice(0, PENDING_MAX);
    total += lines.length;
    for (const line of lines.slice(-LINES)) text.append(document.createTextNode(`${logLine(line)}\n`));
    while (text.childNodes.length > LINES) text.firstChild.remove();
    tally.textContent = total > LINES ? `the last ${LINES} of ${total.toLocaleString("en")} lines`
      : `${total} line${total === 1 ? "" : "s"}`;
    if (box.checked) text.scrollTop = text.scrollHeight;
  }

  // From the beginning.
  async function readOnce(follow) {
    text.replaceChildren();
    total = 0;
    pending = "";
    const answer = await getAnswer(`${jobPath(namespace, name)}/logs?prefix=true&follow=${follow}`, {signal});
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const {value, done} = await reader.read();
      if (done) break;
      add(value);
    }
    if (pending) add("\n");
    if (total === 0) tally.textContent = "The program printed nothing.";
  }

  async function read(follow) {
    for (let wait = 500; !signal.aborted; wait = Math.min(wait * 2, 10000)) {
      try {
        return await readOnce(follow);
      } catch (problem) {
        if (signal.aborted) return;
        tally.textContent = `The log cannot be read: ${problem.message}`;
        if (!mayPass(problem)) return;
      }
      await pause(wait, signal);
    }
  }

  return {node, update(job) {
    if (started || (job.status || {}).phase === "Pending") return;
    started = true;
    read(!isOver(job));
  }};
}
