// Formats of numbers and times.

const MINUS = "\u2212";
const SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹";
const COUNT = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const COMPACT = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 4 });
const DECLARED = new Intl.NumberFormat("en", { maximumSignificantDigits: 4 });
const NONE = "–";

const signed = (text) => text.replace("-", MINUS);

function scientific(x, digits) {
  const [factor, exponent] = x.toExponential(digits - 1).split("e");
  const power = String(Math.abs(Number(exponent)));
  const raised = [...power].map((digit) => SUPERSCRIPTS[Number(digit)]).join("");
  return signed(`${factor}×10${Number(exponent) < 0 ? "⁻" : ""}${raised}`);
}

/** Return a count: 12,345, or 1.234B from a billion. */
export function count(n) {
  if (n === null || n === undefined) return NONE;
  return signed((Math.abs(n) < 1e9 ? COUNT : COMPACT).format(n));
}

/** Return a real number with a given number of significant digits: 0.1234, 1,234, 1.234×10⁻⁶. */
export function real(x, digits = 4) {
  if (x === null || x === undefined || Number.isNaN(x)) return NONE;
  if (x === 0) return "0";
  if (!Number.isFinite(x)) return x > 0 ? "∞" : `${MINUS}∞`;
  const size = Math.abs(x);
  if (size < 1e-4 || size >= 1e7) return scientific(x, digits);
  const fraction = Math.max(0, digits - 1 - Math.floor(Math.log10(size)));
  const style = { minimumFractionDigits: fraction, maximumFractionDigits: fraction };
  return signed(x.toLocaleString("en", style));
}

/** Return a declared number without trailing zeros: 0.1, not 0.100. */
export function declared(x) {
  return x === null ? NONE : x !== 0 && (Math.abs(x) < 1e-4 || Math.abs(x) >= 1e7) ? real(x, 3) : signed(DECLARED.format(x));
}

/** Return a sum of rewards: whole numbers as counts. */
export function sum(x) {
  return Number.isInteger(x) ? count(x) : real(x);
}

/** Return an interval with decimals that suit its width: 0.100 to 0.250, or (1.00 to 2.50)×10⁻⁶. */
export function interval(low, high) {
  if (low === null || high === null) return NONE;
  const size = Math.max(Math.abs(low), Math.abs(high));
  if (size >= 1e-3 && size < 1e7 && high > low) {
    const fraction = Math.min(Math.max(2 - Math.floor(Math.log10(high - low)), 0), 8);
    const style = { minimumFractionDigits: fraction, maximumFractionDigits: fraction };
    return [low, high].map((x) => signed(x.toLocaleString("en", style))).join(" to ");
  }
  const [from, to] = [real(low, 3), real(high, 3)];
  const power = from.indexOf("×");
  const shared = power > 0 && to.endsWith(from.slice(power));
  return shared ? `(${from.slice(0, power)} to ${to.slice(0, to.indexOf("×"))})${from.slice(power)}` : `${from} to ${to}`;
}

/** Return a share as percent. */
export function percent(share) {
  if (share === null || share === undefined) return NONE;
  if (share > 0 && share < 0.001) return "< 0.1 %";
  const digits = share < 0.1 || (share > 0.9 && share < 1) ? 1 : 0;
  return `${(100 * share).toFixed(share === 0 ? 0 : digits)} %`;
}

/** Return the labels of an axis whose ticks are `step` apart, short and in the same format. */
export function tickLabels(ticks, step) {
  const largest = Math.max(...ticks.map(Math.abs));
  if (largest < 1e-3 || largest >= 1e7) {
    const digits = Math.max(1, Math.floor(Math.log10(largest) + 1e-9) - Math.floor(Math.log10(step) + 1e-9) + 1);
    return ticks.map((x) => (x === 0 ? "0" : scientific(x, digits)));
  }
  if (largest >= 1e5) return ticks.map((x) => (x === 0 ? "0" : signed(COMPACT.format(x))));
  const fraction = Math.min(12, Math.max(0, -Math.floor(Math.log10(step) + 1e-9)));
  const style = { minimumFractionDigits: fraction, maximumFractionDigits: fraction };
  return ticks.map((x) => signed(x.toLocaleString("en", style)));
}

const two = (n) => String(n).padStart(2, "0");
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** Return a time of day with seconds. */
export function clock(seconds) {
  const at = new Date(1000 * seconds);
  return `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}

/** Return a day: 18 Nov. */
export function day(seconds) {
  const at = new Date(1000 * seconds);
  return `${at.getDate()} ${MONTHS[at.getMonth()]}`;
}

/** Return a time: only the time of day for today, otherwise with the date. */
export function moment(seconds) {
  const at = new Date(1000 * seconds);
  const today = new Date();
  if (at.toDateString() === today.toDateString()) return clock(seconds);
  const year = at.getFullYear() === today.getFullYear() ? "" : ` ${at.getFullYear()}`;
  return `${day(seconds)}${year}, ${clock(seconds)}`;
}

/** Return a length of time: 24 h. */
export function duration(seconds) {
  const units = [["d", 86400], ["h", 3600], ["min", 60]];
  for (const [unit, length] of units) {
    if (seconds >= length && seconds % length === 0 && !(unit === "d" && seconds === length)) {
      return `${count(seconds / length)} ${unit}`;
    }
  }
  return `${real(seconds, 3)} s`;
}

/** Return "1 arm" or "2 arms". */
export function plural(n, word) {
  return `${count(n)} ${word}${n === 1 ? "" : "s"}`;
}
