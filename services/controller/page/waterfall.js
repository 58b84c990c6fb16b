// From the time of one job to that of another: both bands and every cause between them, on one axis.

import {el, svg, table} from "./element.js";
import {seconds, signedPercent} from "./numbers.js";

const WIDTH = 400;
const HEIGHT = 22;

/** The steps from A to B: [{text, from, to, share, low, high}]; jobs have a band and no step. */
function stepsOf(a, b, causes) {
  let at = a.value;
  const between = causes.map(({sentence, seconds: more = 0, share}) => {
    const step = {text: sentence, from: at, to: at + more, share};
    at += more;
    return step;
  });
  const job = (name, time) => ({text: `${name}: ${seconds(time.value)}`, isJob: true, from: time.value, to: time.value, low: time.low,
    high: time.high});
  return [job("A", a), ...between, job("B", b)];
}

/** The positions of values on the axis that holds all of them. */
function axisOf(steps) {
  const values = steps.flatMap(({from, to, low, high}) => [from, to, low, high]).filter((value) => value > 0);
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const room = (most - least || most || 1) * 0.06;
  const [low, high] = [Math.max(0, least - room), most + room];
  return {low, high, x: (value) => (value - low) / (high - low) * WIDTH};
}

function track({isJob, from, to, low, high}, {x}) {
  const children = isJob
    ? [high > low && svg("rect", {class: "band", x: x(low), width: Math.max(1, x(high) - x(low)), y: 4, height: HEIGHT - 8, rx: 4}),
      svg("line", {class: "mean", x1: x(to), x2: x(to), y1: 1, y2: HEIGHT - 1})]
    : [svg("rect", {class: to > from ? "slower" : "faster", x: Math.min(x(from), x(to)),
      width: Math.max(1.5, Math.abs(x(to) - x(from))), y: 4, height: HEIGHT - 8, rx: 2}),
    svg("line", {class: "axis", x1: x(to), x2: x(to), y1: 0, y2: HEIGHT})];
  // The cells beside it say the same.
  return svg("svg", {class: "track", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", "aria-hidden": "true"}, children);
}

const signedSeconds = (value) => `${value < 0 ? "−" : "+"}${seconds(Math.abs(value), 3)}`;

/** `a`, `b`: their times as timeOf answers them; `causes`: {sentence, seconds, share}, in the order of the steps. */
export function waterfall(a, b, causes) {
  const steps = stepsOf(a, b, causes);
  const axis = axisOf(steps);
  return [table("From A to B", [{title: "From A to B"}, {title: `${seconds(axis.low, 3)} to ${seconds(axis.high, 3)}`},
    {title: "Time", number: true}, {title: "Share", number: true}],
  steps.map((step) => [step.isJob ? el("b", {}, step.text) : step.text, track(step, axis),
    step.isJob ? seconds(step.to) : signedSeconds(step.to - step.from), step.isJob ? "" : signedPercent(step.share)]),
  {class: "waterfall"}),
  el("p", {class: "note"}, "A and B stand with their 90 % bands, and each step begins where the one above it ends. ",
    axis.low > 0 && "The axis does not begin at zero. ", "Shares are of what B takes more or less.")];
}
