// Points of a sweep as throughput against cost, or against memory head-room where there are no prices.

import {svg} from "./element.js";
import {bytes, count, figureText, seconds, ticks} from "./numbers.js";
import {isPredicted, meritsOf, pointLabels, pointsOf, throughputOf} from "./sweep_fields.js";
import {shortName} from "./text.js";

const LABELLED_MAX = 12; // Points with their values beside them.
const MARGIN = {left: 76, right: 18, top: 16, bottom: 44};

function axis(values) {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const room = (high - low || Math.abs(high) || 1) * 0.1;
  return [low - room, high + room];
}

/** The points that can be drawn: those with both figures. */
export function drawnPoints(points) {
  const {priced} = meritsOf(points);
  return points.filter((row) => isPredicted(row) && Number.isFinite(priced ? row.costPerUnit : row.headroomBytes));
}

/** `points`: of drawnPoints, at least one. */
export function sweepChart(points, sweep, width, height) {
  const {priced, tokens, cost, costTitle, throughputTitle, throughput} = meritsOf(pointsOf(sweep), sweep);
  const worth = (row) => priced ? row.costPerUnit : row.headroomBytes;
  const worthText = (value) => priced ? cost(value) : bytes(value);
  const [left, right] = axis(points.map(worth));
  const [bottom, top] = axis(points.map(throughputOf));
  const x = (value) => MARGIN.left + (value - left) / (right - left) * (width - MARGIN.left - MARGIN.right);
  const y = (value) => height - MARGIN.bottom - (value - bottom) / (top - bottom) * (height - MARGIN.top - MARGIN.bottom);
  const place = (row) => [x(worth(row)), y(throughputOf(row))];
  const children = ticks(bottom, top, 4).map((at) => [
    svg("line", {class: "grid", x1: MARGIN.left, x2: width - MARGIN.right, y1: y(at), y2: y(at)}),
    svg("text", {x: MARGIN.left - 8, y: y(at) + 4, "text-anchor": "end"}, tokens ? count(at) : figureText(at))]).flat();
  for (const at of ticks(left, right, Math.max(3, Math.floor(width / 160)))) {
    children.push(svg("text", {x: x(at), y: height - 24, "text-anchor": "middle"}, worthText(at)));
  }
  children.push(svg("text", {x: (MARGIN.left + width - MARGIN.right) / 2, y: height - 6, "text-anchor": "middle"},
    priced ? `${costTitle}: less is better` : "Memory head-room: more is better"),
  svg("text", {x: 6, y: 11}, throughputTitle));
  const front = points.filter((row) => row.front).sort((a, b) => worth(a) - worth(b));
  if (front.length > 1) {
    children.push(svg("polyline", {class: "front-line", points: front.map(place)}));
  }
  // Those of the front are drawn last, and differ in shape.
  for (const row of [...points.filter((one) => !one.front), ...front]) {
    const [cx, cy] = place(row);
    const title = svg("title", {}, `${row.name}: ${throughput(row)} ${throughputTitle.toLowerCase()}, ` +
      `${worthText(worth(row))}, iteration ${seconds(row.iterationSeconds)}`);
    children.push(row.front
      ? svg("path", {class: "point front", d: `M${cx} ${cy - 7}L${cx + 7} ${cy}L${cx} ${cy + 7}L${cx - 7} ${cy}Z`}, title)
      : svg("circle", {class: "point beaten", cx, cy, r: 4}, title));
  }
  if (points.length <= LABELLED_MAX && width >= 600) {
    const labels = pointLabels(sweep);
    for (const row of points) {
      const [cx, cy] = place(row);
      const isRight = cx > width * 0.7;
      children.push(svg("text", {x: cx + (isRight ? -11 : 11), y: cy + 4, "text-anchor": isRight ? "end" : "start"},
        shortName(labels.get(row.job) || row.name, 48)));
    }
  }
  const best = points.reduce((one, row) => throughputOf(row) > throughputOf(one) ? row : one);
  return svg("svg", {width, height, viewBox: `0 0 ${width} ${height}`, role: "img",
    "aria-label": `${throughputTitle} against ${priced ? costTitle.toLowerCase() : "memory head-room"} of ${
      count(points.length)} points. ${count(front.length)} of them no other one beats in both: ${
      front.slice(0, 5).map((row) => row.name).join("; ")}${front.length > 5 ? " and others" : ""}. ` +
      `The fastest is ${best.name} with ${throughput(best)} ${throughputTitle.toLowerCase()}.`}, children);
}
