// Elements from names, attributes and texts. A text stays a text: nothing in the page parses
// markup, and the policy that it is served with refuses it (trusted-types 'none').

import {shown} from "./text.js";

const SVG = "http://www.w3.org/2000/svg";

// Coordinates of a drawing, [[x, y], ...]. The page computes them and no program writes them, so that they need no limit.
const coordinates = (pairs) => pairs.map((pair) => pair.map((value) => value.toFixed(1)).join(",")).join(" ");

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "style") for (const [k, v] of Object.entries(value)) node.style.setProperty(k, v);
    else if (name === "value") node.value = value;
    else if (name === "points") node.setAttribute(name, coordinates(value));
    else node.setAttribute(name, value === true ? "" : name === "href" ? value : shown(value));
  }
  append(node, children);
  return node;
}

/** Appends nodes and texts; what is empty is left out. */
export function append(node, children) {
  for (const child of children.flat(Infinity)) {
    if (child === undefined || child === null || child === false || child === "") continue;
    node.append(child instanceof Node ? child : document.createTextNode(shown(child)));
  }
}

/** An element of HTML: el("p", {class: "note"}, "text", el("b", {}, "more")). */
export const el = (name, attributes, ...children) =>
  fill(document.createElement(name), attributes, children);

/** An element of SVG. */
export const svg = (name, attributes, ...children) =>
  fill(document.createElementNS(SVG, name), attributes, children);

/** A link inside the page; the parts of the path are escaped. */
export const route = (...parts) => "#/" + parts.map(encodeURIComponent).join("/");

/** Tells those who listen to a screen reader. */
export function announce(text) {
  document.getElementById("announcer").textContent = shown(text);
}

/** What is folded below a title. `make`: the content, which is made when it is first opened. */
export function details(title, make) {
  const node = el("details", {}, el("summary", {}, title));
  node.addEventListener("toggle", () => append(node, [make()]), {once: true});
  return node;
}

/** A table with a header of columns; rows are lists of nodes or texts. On a narrow screen each row is a list of titles and
 * cells. */
export function table(caption, columns, rows, attributes = {}) {
  return el("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": caption},
    el("table", {...attributes, class: `stacked ${attributes.class || ""}`},
      el("caption", {class: "unseen"}, caption),
      el("thead", {}, el("tr", {}, columns.map((column) =>
        el("th", {scope: "col", class: column.number ? "number" : undefined}, column.title)))),
      el("tbody", {}, rows.map((row) => el("tr", {}, row.map((cell, i) =>
        el(i === 0 ? "th" : "td",
          {class: columns[i].number ? "number" : undefined, scope: i === 0 ? "row" : undefined, "data-title": columns[i].title},
          cell)))))));
}
