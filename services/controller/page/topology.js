// A cluster as a drawing: servers with their GPUs, NVLink and NICs, and the fabric above them. What
// repeats is drawn a few times; the caption says how often it is there.

import {el, svg} from "./element.js";
import {count} from "./numbers.js";

const SERVERS_DRAWN = 3;
const LEAVES_DRAWN = 8;
const GPU = 22;
const GAP = 6;

const plural = (number, what) => `${count(number)} ${what}${number === 1 ? "" : what.endsWith("ch") ? "es" : "s"}`;

function factsOf(cluster, servers) {
  const {gpu = "GPU", gpusPerServer = 1, nvlink = {}, nics = {}, cpu = {}, serversPerDomain} = cluster.server || {};
  const fabric = cluster.fabric || {};
  const alone = servers <= (serversPerDomain || 1);
  return {gpu, gpus: gpusPerServer, nvlink, nics: nics.count || 0, gbps: nics.gbps, cpu: cpu.model,
    domain: serversPerDomain || 1, fabric: alone ? "none" : fabric.preset || "none", details: fabric, servers};
}

/** How the GPUs of a server meet. */
function insideText({nvlink, domain}) {
  if (!nvlink.generation) return "PCIe";
  const name = `NVLink ${nvlink.generation}${nvlink.switch ? " with NVSwitch" : ""}`;
  return domain > 1 ? `${name}, domains of ${domain} servers` : name;
}

function server(facts, x, y, width, index, ports) {
  const columns = Math.min(facts.gpus, 4);
  const shown = Math.min(facts.gpus, 8);
  const left = x + (width - columns * (GPU + GAP) + GAP) / 2;
  const nodes = [svg("rect", {class: "server", x, y, width, height: 128, rx: 8}),
    svg("text", {class: "name", x: x + width / 2, y: y + 120, "text-anchor": "middle"}, `server ${index}`)];
  const nics = Math.min(facts.nics, LEAVES_DRAWN);
  for (let i = 0; i < nics; ++i) {
    const at = x + width * (i + 0.5) / nics;
    nodes.push(svg("rect", {class: "nic", x: at - 5, y: y - 5, width: 10, height: 10, rx: 2}));
    ports.push({nic: i, server: index, x: at, y: y - 5});
  }
  for (let i = 0; i < shown; ++i) {
    nodes.push(svg("rect", {class: "gpu", x: left + (i % 4) * (GPU + GAP), y: y + 18 + Math.floor(i / 4) * (GPU + GAP),
      width: GPU, height: GPU, rx: 4}));
  }
  const rows = Math.ceil(shown / 4);
  const below = y + 18 + rows * (GPU + GAP);
  nodes.push(svg("rect", {class: facts.nvlink.generation ? "nvlink" : "pcie", x: left, y: below,
    width: columns * (GPU + GAP) - GAP, height: 9, rx: 3}));
  if (facts.gpus > shown) {
    nodes.push(svg("text", {x: x + width / 2, y: below + 24, "text-anchor": "middle"}, `${facts.gpus} GPUs`));
  }
  return nodes;
}

/** Leaves with what is plugged into them, and a row of spines. */
function clos(facts, ports, width) {
  const rails = facts.fabric === "rail-optimised";
  const drawn = Math.min(facts.servers, SERVERS_DRAWN);
  const leaves = rails ? Math.max(1, Math.min(facts.nics, facts.gpus, LEAVES_DRAWN)) : Math.min(2, drawn);
  const nodes = [];
  const leafAt = (i) => width * (i + 0.5) / leaves;
  const spines = Math.min(4, Math.max(2, Math.ceil(leaves / 2)));
  const spineAt = (i) => width * (i + 0.5) / spines;
  for (let i = 0; i < leaves; ++i) {
    for (let j = 0; j < spines; ++j) {
      nodes.push(svg("line", {class: "cable", x1: leafAt(i), y1: 84, x2: spineAt(j), y2: 34}));
    }
  }
  for (const port of ports) {
    const leaf = rails ? port.nic % leaves : Math.floor(port.server * leaves / drawn);
    nodes.push(svg("line", {class: `cable rail-${leaf % 8}`, x1: port.x, y1: port.y, x2: leafAt(leaf), y2: 102}));
  }
  const size = Math.min(90, width / leaves - 8);
  for (let i = 0; i < leaves; ++i) {
    nodes.push(svg("rect", {class: `switch rail-${rails ? i % 8 : 8}`, x: leafAt(i) - size / 2, y: 84, width: size, height: 18, rx: 4}));
    if (size > 44) nodes.push(svg("text", {x: leafAt(i), y: 97, "text-anchor": "middle"}, rails ? `rail ${i}` : `leaf ${i}`));
  }
  for (let i = 0; i < spines; ++i) {
    nodes.push(svg("rect", {class: "switch", x: spineAt(i) - 34, y: 16, width: 68, height: 18, rx: 4}),
      svg("text", {x: spineAt(i), y: 29, "text-anchor": "middle"}, "spine"));
  }
  return nodes;
}

/** Fabrics of another shape, as one box with what is known of them. */
function otherFabric(facts, ports, width) {
  const {details} = facts;
  const text = {
    dragonfly: `dragonfly: groups of ${details.routersPerGroup || 8} routers`,
    torus: `torus ${(details.dimensions || []).join(" × ")}`,
    graph: `${(details.switches || []).length} switches, ${(details.cables || []).length} cables`,
  }[facts.fabric] || facts.fabric;
  return [ports.map((port) => svg("line", {class: "cable", x1: port.x, y1: port.y, x2: port.x, y2: 92})),
    svg("rect", {class: "switch", x: 8, y: 52, width: width - 16, height: 40, rx: 10}),
    svg("text", {class: "name", x: width / 2, y: 77, "text-anchor": "middle"}, text)];
}

function caption(facts) {
  const network = facts.nics === 0 || facts.fabric === "none" ? ""
    : `; ${plural(facts.nics, "NIC")} of ${facts.gbps} Gbit/s each into ${facts.fabric}` +
      (facts.details.oversubscription > 1 ? `, oversubscribed ${facts.details.oversubscription}:1` : "");
  return `${plural(facts.servers, "server")}, each with ${plural(facts.gpus, "GPU")} (${facts.gpu}), ` +
    `${insideText(facts)}${facts.cpu ? `, ${facts.cpu}` : ""}${network}.` +
    (facts.servers > SERVERS_DRAWN ? ` ${SERVERS_DRAWN} of ${count(facts.servers)} servers are drawn.` : "");
}

/** `cluster`: a resolved spec; `servers`: of it that are used. */
export function topology(cluster, servers = cluster.servers || 1) {
  const facts = factsOf(cluster, servers);
  const drawn = Math.min(servers, SERVERS_DRAWN);
  const each = 150;
  const width = Math.max(320, drawn * (each + 24) + (servers > drawn ? 60 : 0));
  const hasFabric = facts.fabric !== "none" && facts.nics > 0;
  const top = hasFabric ? 170 : 16;
  const ports = [];
  const boxes = [];
  const left = (width - drawn * (each + 24) + 24 - (servers > drawn ? 60 : 0)) / 2;
  for (let i = 0; i < drawn; ++i) boxes.push(server(facts, left + i * (each + 24), top, each, i, ports));
  if (servers > drawn) {
    boxes.push(svg("text", {class: "name", x: left + drawn * (each + 24) + 16, y: top + 70, "text-anchor": "middle"},
      `+${count(servers - drawn)}`));
  }
  const known = ["rail-optimised", "leaf-spine", "fat-tree"].includes(facts.fabric);
  const fabric = !hasFabric ? [] : known ? clos(facts, ports, width) : otherFabric(facts, ports, width);
  const height = top + 136;
  const text = caption(facts);
  return el("figure", {class: "topology"},
    svg("svg", {viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": text,
      style: {"max-width": `${width * 1.3}px`}}, fabric, boxes),
    el("figcaption", {class: "note"}, text));
}
