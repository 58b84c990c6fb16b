// Text of jobs, logs and messages as it is shown. Programs write it, so it may hold anything:
// characters that control a terminal or turn the direction of writing are shown as numbers, and
// long text is cut, with a note of how much is missing.

const SHOWN_MAX = 4000;
const LINE_MAX = 2000; // Of a log.
// C0 without tab and line feed, DEL, C1; formatting that hides or turns text around it.
// eslint-disable-next-line no-control-regex
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;
const DIRECTION = /[\u061c\u200b-\u200f\u2028\u2029\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff]/g;
// Colours of a terminal (SGR): they mean nothing here, and every progress bar has them.
// eslint-disable-next-line no-control-regex
const COLOUR = /\u001b\[[0-9;:]{0,40}m/g;

const hex = (character, width) => character.charCodeAt(0).toString(16).padStart(width, "0");

/** The text with control characters as "\x1b" and turning ones as "\u202e". */
export function printable(text) {
  return String(text)
    .replace(CONTROL, (character) => "\\x" + hex(character, 2))
    .replace(DIRECTION, (character) => "\\u" + hex(character, 4));
}

/** At most `max` characters of it, whole ones, and how many are missing. */
export function clipped(text, max = SHOWN_MAX) {
  const whole = String(text);
  if (whole.length <= max) return whole;
  const last = whole.charCodeAt(max - 1);
  const end = last >= 0xd800 && last <= 0xdbff ? max - 1 : max;
  return `${whole.slice(0, end)}… (${(whole.length - end).toLocaleString("en")} more characters)`;
}

/** What every text node and attribute of the page goes through. */
export const shown = (text) => printable(clipped(text));

/** A line of a log: without colours, and without what a carriage return has replaced. */
export function logLine(line) {
  const beginning = line.slice(0, 4 * LINE_MAX);
  const plain = beginning.replace(COLOUR, "").replace(/\r$/, "");
  const last = plain.lastIndexOf("\r");
  const text = last >= 0 ? plain.slice(last + 1) : plain;
  const missing = line.length - beginning.length;
  return printable(clipped(text, LINE_MAX)) + (missing > 0 ? ` … (${missing} more characters)` : "");
}

/** The beginning and the end of a long name, which tell most names apart. */
export function shortName(name, max = 72) {
  if (name.length <= max) return name;
  const tail = Math.floor(max / 3);
  return name.slice(0, max - tail - 1) + "…" + name.slice(-tail);
}
