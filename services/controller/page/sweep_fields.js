// What the page reads of a sweep and of its points. Every field may be missing.

import {count, figureText, money, seconds} from "./numbers.js";
import {phaseOf} from "./job_fields.js";

export const countsOf = (sweep) => (sweep.status && sweep.status.counts) || {};
export const pointsOf = (sweep) => (sweep.status && sweep.status.points) || [];
export const matrixOf = (sweep) => (sweep.spec && sweep.spec.matrix) || {};
/** How many combinations there are, also before the server has counted them. */
export const sizeOfSweep = (sweep) => countsOf(sweep).points ||
  Object.values(matrixOf(sweep)).reduce((size, values) => size * values.length, 1);

/** A value as the API names points with it. */
export const valueText = (value) => typeof value === "string" ? value : JSON.stringify(value);

/** The paths of the matrix with a title each: its last words, as many as tell it from the others. */
export function titlesOf(paths) {
  const tail = (path, words) => path.split(".").slice(-words).join(".");
  return new Map(paths.map((path) => {
    const length = path.split(".").length;
    let words = path.startsWith("env.") ? 2 : 1;
    while (words < length && paths.some((other) => other !== path && tail(other, words) === tail(path, words))) ++words;
    return [path, tail(path, words)];
  }));
}

/** What each job of a sweep is called: "gpu B200-SXM-180GB · hostFactor 0.5". */
export function pointLabels(sweep) {
  const paths = Object.keys(matrixOf(sweep)).sort();
  const titles = titlesOf(paths);
  return new Map(pointsOf(sweep).filter(({job}) => job).map(({job, point}) => [job, paths
    .filter((path) => (point || {})[path] !== undefined)
    .map((path) => `${titles.get(path)} ${valueText(point[path])}`).join(" · ")]));
}

/** "3 of 8 points, 1 running, 2 without a prediction". */
export function progressText(sweep) {
  const counts = countsOf(sweep);
  const over = (counts.complete || 0) + (counts.failed || 0);
  return `${count(over)} of ${count(sizeOfSweep(sweep))} points` +
    (counts.running > 0 ? `, ${count(counts.running)} running` : "") +
    (counts.failed > 0 ? `, ${count(counts.failed)} without a prediction` : "");
}

/** Of its prices; undefined where the document names none. */
export const currencyOf = (sweep) => ((sweep || {}).spec || {}).currency;

export const throughputOf = (row) => row.tokensPerSecond || row.iterationsPerSecond;
export const isPredicted = (row) => row.iterationSeconds > 0;

/** What is compared: throughput, and cost where there are prices, else head-room. */
export function meritsOf(points, sweep) {
  const tokens = points.some((row) => row.tokensPerSecond > 0);
  const priced = points.some((row) => row.costPerUnit !== undefined);
  return {tokens, priced,
    throughputTitle: tokens ? "Tokens/s" : "Iterations/s",
    cost: (value) => money(value, currencyOf(sweep)),
    throughput: (row) => tokens ? count(row.tokensPerSecond) : figureText(row.iterationsPerSecond),
    costTitle: tokens ? "Cost of 1 M tokens" : "Cost of 1,000 iterations"};
}

/** The fastest point in words. */
export function bestText(sweep) {
  const best = (sweep.status || {}).best;
  return best ? `${best.name}: ${seconds(best.iterationSeconds)}` : "";
}

export const isSuspended = (sweep) => Boolean(sweep.spec && sweep.spec.suspend) &&
  ["Pending", "Running"].includes(phaseOf(sweep));
