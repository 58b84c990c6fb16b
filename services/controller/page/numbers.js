// Quantities as people read them. Missing ones are a dash.

export const DASH = "–";

const digits = (value, count) => value.toLocaleString("en", {
  maximumSignificantDigits: count, minimumSignificantDigits: count, useGrouping: false});

const is = (value) => typeof value === "number" && Number.isFinite(value);

/** "2.431 s", "12.30 ms", "840.0 µs". */
export function seconds(value, count = 4) {
  if (!is(value)) return DASH;
  if (value === 0) return "0 s";
  const size = Math.abs(value);
  if (size >= 1000) return `${digits(value, Math.max(count, 4))} s`;
  if (size >= 1) return `${digits(value, count)} s`;
  if (size >= 1e-3) return `${digits(value * 1e3, count)} ms`;
  if (size >= 1e-6) return `${digits(value * 1e6, count)} µs`;
  return `${digits(value * 1e9, count)} ns`;
}

/** The number and its unit apart, for large figures. */
export function parts(text) {
  const at = text.lastIndexOf(" ");
  return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)];
}

/** "41 s", "3 min 20 s", "2 h 5 min", "4 days". */
export function span(value) {
  if (!is(value)) return DASH;
  const whole = Math.max(0, Math.round(value));
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  if (whole < 48 * 3600) return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
  return `${Math.floor(whole / 86400)} days`;
}

/** How long ago a time of RFC 3339 was. */
export function ago(time) {
  const at = Date.parse(time);
  if (!Number.isFinite(at)) return DASH;
  const passed = (Date.now() - at) / 1000;
  if (passed < 5) return "now";
  return passed < 3600 ? `${span(passed).split(" ").slice(0, 2).join(" ")} ago`
    : passed < 48 * 3600 ? `${Math.floor(passed / 3600)} h ago` : `${span(passed)} ago`;
}

/** Four significant digits without a unit: a cost, or iterations a second. */
export const figureText = (value) => is(value) ? value.toLocaleString("en", {maximumSignificantDigits: 4}) : DASH;

/** "$2.50", "€0.00412"; without a currency the number alone. */
export function money(value, currency) {
  if (!is(value)) return DASH;
  if (!currency) return figureText(value);
  const digits = Math.abs(value) >= 0.1 || value === 0 ? {minimumFractionDigits: 2, maximumFractionDigits: 2}
    : {maximumSignificantDigits: 3};
  try {
    return value.toLocaleString("en", {style: "currency", currency, ...digits});
  } catch {
    return `${value.toLocaleString("en", digits)} ${currency}`;
  }
}

export const count = (value) => is(value) ? Math.round(value).toLocaleString("en") : DASH;

export const percent = (share, places = 1) => is(share) ? `${(share * 100).toFixed(places)} %` : DASH;

/** "+62.0 %", "−2.0 %": a share of something, which may be less than nothing. */
export const signedPercent = (share) =>
  is(share) ? `${share < 0 ? "−" : "+"}${percent(Math.abs(share))}` : DASH;

export function bytes(value) {
  if (!is(value)) return DASH;
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  let size = value;
  for (; Math.abs(size) >= 1024 && unit + 1 < units.length; ++unit) size /= 1024;
  return `${unit === 0 ? size : size.toFixed(1)} ${units[unit]}`;
}

/** "+3.1 %", "−2.0 %": how much larger `value` is than `base`. */
export function change(base, value) {
  if (!is(base) || !is(value) || base === 0) return DASH;
  const share = value / base - 1;
  if (Math.abs(share) < 5e-4) return "same";
  return `${share < 0 ? "−" : "+"}${Math.abs(share * 100).toFixed(1)} %`;
}

/** Round values between low and high, some `wanted` of them, for an axis. */
export function ticks(low, high, wanted = 4) {
  if (!(high > low)) return [low];
  const rough = (high - low) / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((size) => size >= rough);
  const list = [];
  for (let at = Math.ceil(low / step) * step; at <= high + step * 1e-9; at += step) list.push(at);
  return list;
}
