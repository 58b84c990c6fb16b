// Small drawings beside figures: bands, stacked bars.

import {el, svg} from "./element.js";
import {percent} from "./numbers.js";
import {bandText} from "./job_fields.js";

/** The band of a time around it, ±30 % wide: how sure the figure is. */
export function bandMark({value, low, high}) {
  if (!(value > 0) || !(high >= low)) return "";
  const width = 72;
  const at = (one) => Math.max(1, Math.min(width - 1, (0.5 + (one / value - 1) / 0.6) * width));
  return svg("svg", {class: "band-mark", width, height: 8, viewBox: `0 0 ${width} 8`, role: "img",
    "aria-label": bandText({low, high})},
  svg("title", {}, bandText({low, high})),
  svg("line", {class: "axis", x1: 0, x2: width, y1: 4, y2: 4}),
  svg("rect", {class: "band", x: at(low), width: Math.max(1, at(high) - at(low)), y: 2, height: 4, rx: 2}),
  svg("line", {class: "mean", x1: at(value), x2: at(value), y1: 0, y2: 8}));
}

/** The band on an axis with its ends, for the head of a page. `text` of a value; `description` says the same. */
export function bandScale({value, low, high}, text, description) {
  if (!(value > 0) || !(high > low)) return "";
  const reach = Math.max(high - value, value - low) * 1.35;
  const [from, to] = [Math.max(0, value - reach), value + reach];
  const at = (one) => 8 + (one - from) / (to - from) * 384;
  const label = (one, anchor) => svg("text", {x: at(one), y: 38, "text-anchor": anchor}, text(one));
  return svg("svg", {class: "band-scale", viewBox: "0 0 400 44", role: "img",
    "aria-label": `${text(value)}, ${description}`},
  svg("line", {class: "axis", x1: 4, x2: 396, y1: 14, y2: 14}),
  svg("rect", {class: "band", x: at(low), width: at(high) - at(low), y: 6, height: 16, rx: 8}),
  svg("line", {class: "mean", x1: at(value), x2: at(value), y1: 1, y2: 27}),
  label(low, "middle"), label(high, "middle"));
}

/** Shares that add up to a whole: [{key, title, share, note, text}]. The list below says the same. */
export function stackedBar(name, shares) {
  const shown = shares.filter(({share}) => share > 0);
  return el("div", {class: "stack-figure"},
    el("div", {class: "stack", role: "img",
      "aria-label": `${name}: ${shown.map(({title, share}) => `${title} ${percent(share)}`).join(", ")}`},
    shown.map(({key, title, share}) => el("span", {class: `part-${key}`, title: `${title} ${percent(share)}`,
      style: {"flex-grow": String(share)}}))),
    el("ul", {class: "legend"}, shares.map(({key, title, share, note, text}) =>
      el("li", {}, el("span", {class: `swatch part-${key}`, "aria-hidden": "true"}),
        el("span", {class: "what"}, title, note && el("span", {class: "note"}, note)),
        el("span", {class: "number"}, percent(share)),
        text === undefined ? "" : el("span", {class: "number note"}, text)))));
}

/** A figure with its unit, and what it is. `answer`: which of people's questions it answers. */
export function figure(title, value, unit, note, answer) {
  return el("div", {class: "figure", "data-answer": answer}, el("dt", {}, title),
    el("dd", {}, el("span", {class: "value"}, value), unit && [" ", el("span", {class: "unit"}, unit)],
      note && el("div", {class: "note"}, note)));
}

/** A drawing that is made again when its width changes. */
export function responsive(draw, height) {
  const node = el("div", {class: "chart", style: {height: `${height}px`}});
  let last = 0;
  const observer = new ResizeObserver(([entry]) => {
    const width = Math.round(entry.contentRect.width);
    if (width < 40 || width === last) return;
    last = width;
    node.replaceChildren(draw(width, height));
  });
  observer.observe(node);
  return node;
}
