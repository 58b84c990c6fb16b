// A table whose heads order its rows. Rows are kept between changes, so that they keep their focus.

import {el} from "./element.js";

const isKnown = (value) => value !== undefined && value !== null;

/** Columns: {id, title, hint, number, value(item), cell(item)}; the first one heads its row.
 * `options`: {by, down, keyOf, className}. The answer: {node, show(items), ordered()}. */
export function sortableTable(caption, columns, options) {
  const kept = new Map(); // Key to {text, node}.
  const body = el("tbody");
  let items = [];
  const heads = columns.map((column) => el("th", {scope: "col", class: column.number && "number", title: column.hint},
    el("button", {type: "button", onclick: () => {
      options.down = options.by === column.id ? !options.down : Boolean(column.number);
      options.by = column.id;
      render();
    }}, column.title)));
  const node = el("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": caption},
    el("table", {class: `stacked sortable ${options.className}`}, el("caption", {class: "unseen"}, caption),
      el("thead", {}, el("tr", {}, heads)), body));

  function ordered() {
    const column = columns.find((one) => one.id === options.by) || columns[0];
    const sign = options.down ? -1 : 1;
    return items.map((item) => [column.value(item), item]).sort(([a], [b]) => {
      // What is not known comes last in either direction.
      if (!isKnown(a) || !isKnown(b)) return isKnown(b) - isKnown(a);
      if (typeof a !== typeof b) return String(a) < String(b) ? -sign : sign;
      return a < b ? -sign : a > b ? sign : 0;
    }).map(([, item]) => item);
  }

  function rowOf(item) {
    const key = options.keyOf(item);
    const text = JSON.stringify(item);
    const known = kept.get(key);
    if (known && known.text === text) return known.node;
    const row = el("tr", {}, columns.map((column, i) => el(i === 0 ? "th" : "td",
      {class: column.number && "number", scope: i === 0 && "row", "data-title": column.title}, column.cell(item))));
    kept.set(key, {text, node: row});
    return row;
  }

  function render() {
    const wanted = ordered().map(rowOf);
    wanted.forEach((row, i) => {
      if (body.children[i] !== row) body.insertBefore(row, body.children[i] || null);
    });
    while (body.children.length > wanted.length) body.lastChild.remove();
    heads.forEach((head, i) => {
      if (columns[i].id === options.by) head.setAttribute("aria-sort", options.down ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
  }

  return {node, ordered, show(next) {
    items = next;
    const keys = new Set(items.map(options.keyOf));
    for (const key of kept.keys()) if (!keys.has(key)) kept.delete(key);
    render();
  }};
}
