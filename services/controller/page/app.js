// The page: which view the address names, whether the server lets us in, and the keyboard.

import {announce, el} from "./element.js";
import {giveToken, takeLogin} from "./api.js";
import {bindKeys, showHelp} from "./keyboard.js";
import {bindTheme} from "./theme.js";
import {clusterListView} from "./cluster_list.js";
import {compareView} from "./compare_page.js";
import {jobListView} from "./job_list.js";
import {jobView} from "./job_page.js";
import {jobStore, sweepStore} from "./object_store.js";
import {submitView} from "./submit_page.js";
import {sweepListView} from "./sweep_list.js";
import {sweepView} from "./sweep_page.js";

const ROUTES = {
  "": jobListView,
  jobs: jobView,
  sweeps: sweepView,
  "sweeps list": sweepListView,
  submit: submitView,
  compare: compareView,
  clusters: clusterListView,
};

const main = document.getElementById("main");
let view = null;

function lockedView(message) {
  const field = el("input", {type: "password", id: "token", autocomplete: "off", required: true});
  return {title: "Locked", close() {}, node: el("div", {class: "empty"},
    el("h1", {}, "This server asks for its token"),
    el("p", {}, "Open the link that ", el("code", {}, "eidolon link"), " prints, or give the token. It stays in this tab."),
    el("form", {class: "line", onsubmit: async (event) => {
      event.preventDefault();
      try {
        await giveToken(field.value.trim());
        show();
      } catch (problem) {
        place(lockedView(problem.message));
      }
    }}, el("label", {for: "token"}, "Token"), field, el("button", {type: "submit", class: "primary"}, "Open")),
    el("p", {class: "note"}, message))};
}

function place(next) {
  if (view) view.close();
  view = next;
  document.title = `${view.title} – Eidolon`;
  main.replaceChildren(view.node);
}

async function show() {
  try {
    await takeLogin();
  } catch (problem) {
    return place(lockedView(problem.message));
  }
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  const [name, ...rest] = path.split("/");
  let names;
  try {
    names = rest.map(decodeURIComponent);
  } catch {
    names = [];
  }
  const list = {jobs: "", sweeps: "sweeps list"}[name];
  const make = ROUTES[list !== undefined && names.length < 2 ? list : name] || ROUTES[""];
  const moved = view !== null;
  place(make(names, new URLSearchParams(query || "")));
  for (const link of document.querySelectorAll("nav [data-route]")) {
    const current = link.dataset.route === (name || "jobs");
    if (current) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  if (!moved) return;
  main.focus({preventScroll: true});
  scrollTo(0, 0);
  announce(view.title);
}

function showConnection() {
  const node = document.getElementById("connection");
  const broken = [jobStore, sweepStore].some(({isOpen, state}) =>
    isOpen && state instanceof Error && state.status !== 401);
  node.textContent = broken ? "No connection, trying again" : "";
  node.classList.toggle("broken", broken);
}

addEventListener("hashchange", show);
addEventListener("locked", (event) => {
  if (view && view.title === "Locked") return;
  place(lockedView(event.detail));
  main.querySelector("input").focus();
});
for (const store of [jobStore, sweepStore]) store.addEventListener("change", showConnection);
bindTheme(document.getElementById("theme"));
bindKeys();
document.getElementById("keys").addEventListener("click", showHelp);
show();
