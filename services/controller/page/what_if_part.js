// What would help: answers of replays of the job's recording, which `eidolon report --what-if` adds.

import {append, el, table} from "./element.js";
import {seconds} from "./numbers.js";

const changeText = (share) => `${share < 0 ? "−" : "+"}${Math.abs(share * 100).toFixed(1)} %`;

function rowOf({name, message, fits, iterationSeconds, change}) {
  if (message !== undefined) return [`${name} – not answered: ${message}`, "", ""];
  return [name + (fits === false ? " (its memory is too small)" : ""), seconds(iterationSeconds), changeText(change)];
}

export const whatIfPart = {
  select: (job) => job.whatIfs && (job.whatIfs.whatIfs || []).length > 0 ? job.whatIfs : null,
  render: ({iterationSeconds, whatIfs}) => {
    const node = document.createDocumentFragment();
    append(node, [
      el("p", {class: "note"}, "Each line is a replay of what the ranks asked of their GPUs, with the whole model; as it is, an ",
        `iteration takes ${seconds(iterationSeconds)}.`),
      table("What would help", [{title: "If"}, {title: "Iteration", number: true}, {title: "Change", number: true}],
        whatIfs.map(rowOf))]);
    return node;
  },
};
