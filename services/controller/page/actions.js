// What a view does when somebody presses one of its buttons.

import {el} from "./element.js";
import {getAnswer} from "./api.js";

/** A button that waits for its work; `fail` learns what went wrong. */
export const actionButton = (title, work, fail, style = "") => el("button", {type: "button", class: style,
  onclick: async (event) => {
    event.target.disabled = true;
    try {
      await work();
    } catch (problem) {
      fail(problem);
    }
    event.target.disabled = false;
  }}, title);

/** The work, once somebody has said yes. */
export const confirmed = (question, work) => () => confirm(question) ? work() : undefined;

/** Has the browser save a file. */
export function saveBlob(blob, name) {
  const link = el("a", {download: name});
  link.href = URL.createObjectURL(blob);
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}

/** What the server answers to GET, as a file. */
export const save = async (path, name) => saveBlob(await (await getAnswer(path)).blob(), name);
