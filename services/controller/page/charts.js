// The drawings of a job's page: throughput and time of iterations with their band, memory by rank.

import {svg} from "./element.js";
import {bytes, count, ticks} from "./numbers.js";

const POINTS_MAX = 500; // Of a drawing that shows each value by a point.
const MARGIN = {left: 64, right: 12, top: 14, bottom: 26};

/** Linear, from the data's range to the drawing's. */
const scale = (low, high, from, to) => (value) =>
  from + (high > low ? (value - low) / (high - low) : 0.5) * (to - from);

function rangeOf(values) {
  return values.reduce(([least, most], value) => [Math.min(least, value), Math.max(most, value)],
    [Infinity, -Infinity]);
}

/** Pairs of position and value to draw in so many columns: of each column the least and the most, so that no peak is
 * lost; all values, where there is room for them. */
export function thinned(values, columns) {
  if (values.length <= 2 * columns) return values.map((value, i) => [i, value]);
  const kept = [];
  for (let column = 0; column < columns; ++column) {
    const end = Math.floor((column + 1) * values.length / columns);
    let least = Math.floor(column * values.length / columns);
    let most = least;
    for (let i = least + 1; i < end; ++i) {
      if (values[i] < values[least]) least = i;
      if (values[i] > values[most]) most = i;
    }
    for (const i of least < most ? [least, most] : [most, least]) kept.push([i, values[i]]);
  }
  return kept;
}

function horizontal(y, at, width, text) {
  return [svg("line", {class: "grid", x1: MARGIN.left, x2: width - MARGIN.right, y1: y(at), y2: y(at)}),
    svg("text", {x: MARGIN.left - 8, y: y(at) + 4, "text-anchor": "end"}, text)];
}

/** A value of each measured iteration against the band of the prediction. `values`: from iteration `first` on; `band`:
 * {value, low, high} or null; `format` of a value; `more`: how many are expected. */
export function curveChart({values, first, band, format, description, odd, more}, width, height) {
  const inBand = band ? [band.low, band.high, band.value].filter((value) => value > 0) : [];
  const [lowest, highest] = rangeOf(values.concat(inBand));
  const [least, most] = rangeOf(values);
  const room = (highest - lowest || highest || 1) * 0.12;
  const [low, high] = [Math.max(0, lowest - room), highest + room];
  const y = scale(low, high, height - MARGIN.bottom, MARGIN.top);
  const total = Math.max(values.length, more);
  const x = scale(0.5, total + 0.5, MARGIN.left, width - MARGIN.right);
  const place = (i) => x(i + 1);
  const children = ticks(low, high, 4).map((at) => horizontal(y, at, width, format(at)));
  if (band) {
    const [top, bottom] = [y(band.high || high), y(band.low)];
    children.push(
      svg("rect", {class: "band", x: MARGIN.left, width: width - MARGIN.left - MARGIN.right,
        y: top, height: Math.max(1, bottom - top)}),
      svg("line", {class: "mean dashed", x1: MARGIN.left, x2: width - MARGIN.right,
        y1: y(band.value), y2: y(band.value)}));
  }
  if (values.length > 1) {
    children.push(svg("polyline", {class: "line",
      points: thinned(values, Math.ceil(width)).map(([i, value]) => [place(i), y(value)])}));
  }
  const radius = values.length > 120 ? 1.5 : values.length > 40 ? 2.5 : 4;
  values.forEach((value, i) => {
    const number = first + i;
    if (values.length > POINTS_MAX && !odd.has(number)) return;
    children.push(svg("circle", {class: odd.has(number) ? "point odd" : "point",
      cx: place(i), cy: y(value), r: odd.has(number) ? radius + 1 : radius},
    svg("title", {}, `iteration ${number}: ${format(value, 6)}`)));
  });
  const step = Math.max(1, Math.ceil(total / 10));
  for (let i = 0; i < total; i += step) {
    children.push(svg("text", {x: place(i), y: height - 8, "text-anchor": "middle"}, first + i));
  }
  return svg("svg", {width, height, viewBox: `0 0 ${width} ${height}`, role: "img",
    "aria-label": `${count(values.length)} measured iterations, from ${format(least)} to ` +
      `${format(most)}${description ? `; ${description}` : ""}`}, children);
}

/** A column for each rank's peak, under the line of the device's capacity. */
export function memoryChart({ranks, capacity}, width, height) {
  const y = scale(0, Math.max(capacity, ...ranks.map((rank) => rank.peakReservedBytes)) * 1.06,
    height - MARGIN.bottom, MARGIN.top);
  const pitch = (width - MARGIN.left - MARGIN.right) / ranks.length;
  const bar = Math.max(1, Math.min(40, pitch * 0.7));
  const children = [0, capacity / 2, capacity].map((at) => horizontal(y, at, width, bytes(at)));
  children.push(svg("line", {class: "limit", x1: MARGIN.left, x2: width - MARGIN.right,
    y1: y(capacity), y2: y(capacity)}));
  const step = Math.max(1, Math.ceil(ranks.length / Math.max(1, Math.floor((width - 80) / 30))));
  ranks.forEach((rank, i) => {
    const middle = MARGIN.left + pitch * (i + 0.5);
    const name = rank.device === undefined ? `rank ${rank.rank}` : `rank ${rank.rank}, GPU ${rank.device}`;
    children.push(svg("rect", {class: rank.peakReservedBytes > capacity ? "column over" : "column",
      x: middle - bar / 2, width: bar, y: y(rank.peakReservedBytes),
      height: Math.max(1, y(0) - y(rank.peakReservedBytes)), rx: Math.min(3, bar / 3)},
    svg("title", {}, `${name}: ${bytes(rank.peakReservedBytes)}`)));
    if (i % step === 0) {
      children.push(svg("text", {x: middle, y: height - 8, "text-anchor": "middle"}, rank.rank));
    }
  });
  const largest = Math.max(...ranks.map((rank) => rank.peakReservedBytes));
  return svg("svg", {width, height, viewBox: `0 0 ${width} ${height}`, role: "img",
    "aria-label": `Peak memory of ${ranks.length} ranks, at most ${bytes(largest)} of ${bytes(capacity)}`},
  children);
}
