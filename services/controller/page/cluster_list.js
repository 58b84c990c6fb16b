// The simulated clusters that jobs can name, as drawings.

import {el} from "./element.js";
import {getAll} from "./api.js";
import {ago} from "./numbers.js";
import {jobStore} from "./object_store.js";
import {topology} from "./topology.js";

function clusterPart(cluster) {
  const spec = (cluster.status && cluster.status.resolved) || cluster.spec || {};
  const {namespace, name, creationTimestamp} = cluster.metadata;
  return el("section", {class: "part"},
    el("h2", {}, name), el("p", {class: "note"}, `${namespace}, created ${ago(creationTimestamp)}`),
    topology(spec), el("p", {class: "note"}, "A job names it with ", el("code", {}, `clusterRef: {name: ${name}}`), "."));
}

export function clusterListView() {
  const place = el("div", {class: "parts"}, el("p", {class: "note"}, "Loading…"));
  const node = el("section", {}, el("div", {class: "bar"}, el("h1", {}, "Clusters")), place);
  // Who may see one namespace alone has chosen it in the list of jobs.
  const {namespace} = jobStore;
  getAll(namespace ? `/api/v1/namespaces/${encodeURIComponent(namespace)}/simulatedclusters`
    : "/api/v1/simulatedclusters").then((clusters) => {
    if (clusters.length > 0) return place.replaceChildren(...clusters.map(clusterPart));
    return place.replaceChildren(el("div", {class: "empty"}, el("h2", {}, "No simulated clusters"),
      el("p", {}, "Jobs may describe their cluster themselves. To share one between jobs, submit a document of kind SimulatedCluster:"),
      el("pre", {}, "kind: SimulatedCluster\nmetadata: {name: pod}\nspec: {servers: 16, server: {preset: dgx-h100}}"),
      el("p", {class: "note"}, "eidolon submit -f cluster.yaml")));
  }).catch((problem) => place.replaceChildren(el("p", {class: "notice", role: "alert"}, problem.message),
    el("p", {}, "Who may see one namespace alone chooses it in the list of ", el("a", {href: "#/"}, "jobs"), ".")));
  return {title: "Clusters", node, close() {}};
}
