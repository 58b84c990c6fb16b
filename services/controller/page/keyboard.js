// Keys that go to a view, move in a list and show what keys there are. The reader may turn them off, which the browser keeps.

import {el, table} from "./element.js";
import {openDialog} from "./dialog.js";

const KEY = "eidolon.keys";
const ROUTES = {j: "#/", s: "#/sweeps", c: "#/compare", l: "#/clusters", n: "#/submit"};
const HELP = [["?", "These keys"], ["/", "Filter the list"], ["j, k", "Next and previous row"], ["Enter", "Open the row"],
  ["g j", "Jobs"], ["g s", "Sweeps"], ["g c", "Compare two jobs"], ["g l", "Clusters"], ["g n", "New job"],
  ["t", "Colours: as the system says, light, dark"], ["Escape", "Close a window, leave a field"]];
const PREFIX_MS = 1500; // Between "g" and the key behind it.

function areOn() {
  try {
    return localStorage.getItem(KEY) !== "off";
  } catch {
    return true;
  }
}

function setOn(on) {
  try {
    localStorage.setItem(KEY, on ? "on" : "off");
  } catch {
    // Private windows may keep nothing.
  }
}

export function showHelp() {
  const box = el("input", {type: "checkbox", id: "keys-on", onchange: (event) => setOn(event.target.checked)});
  box.checked = areOn();
  openDialog("Keyboard", () => [table("Keys", [{title: "Key"}, {title: "Effect"}],
    HELP.map(([keys, effect]) => [el("kbd", {}, keys), effect])),
  el("label", {class: "line", for: "keys-on"}, box, "Single keys have these effects")]);
}

/** Moves the focus among the links that head rows. */
function moveRow(step) {
  const links = [...document.querySelectorAll("main tbody th a")];
  if (links.length === 0) return;
  const at = links.indexOf(document.activeElement);
  const next = links[at < 0 ? (step > 0 ? 0 : links.length - 1) : Math.min(links.length - 1, Math.max(0, at + step))];
  next.focus();
  next.scrollIntoView({block: "nearest"});
}

function focusFilter() {
  const search = document.querySelector("main input[type=search]");
  if (search) search.focus();
  return Boolean(search);
}

const ACTIONS = {
  "?": showHelp, "/": focusFilter, j: () => moveRow(1), k: () => moveRow(-1),
  t: () => document.getElementById("theme") && document.getElementById("theme").click(),
};

/** Of the whole page, once. */
export function bindKeys() {
  let prefixUntil = 0;
  addEventListener("keydown", (event) => {
    const typing = /^(?:INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName) && event.target.type !== "checkbox";
    if (event.key === "Escape" && typing) event.target.blur();
    if (typing || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    if (!areOn() && event.key !== "?" && event.key !== "/") return;
    const goes = Date.now() < prefixUntil && ROUTES[event.key];
    prefixUntil = event.key === "g" ? Date.now() + PREFIX_MS : 0;
    if (!goes && !ACTIONS[event.key]) return;
    event.preventDefault();
    if (goes) location.hash = goes;
    else ACTIONS[event.key]();
  });
}
