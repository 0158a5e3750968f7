// Axes: their ranges and ticks, and the position of a declared width.

/** Return a round step (1, 2 or 5 times a power of ten) that divides a span into at most `most` parts. */
function niceStep(span, most) {
  const raw = span / most;
  const power = 10 ** Math.floor(Math.log10(raw));
  const factor = [1, 2, 5, 10].find((one) => one * power >= raw * (1 - 1e-9)) ?? 10;
  return factor * power;
}

/** Return {ticks, step} inside [low, high]. */
export function niceTicks(low, high, most) {
  const step = niceStep(high - low, most);
  const ticks = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; i += 1) ticks.push(i * step || 0);
  return { ticks, step };
}

/** Return an axis {low, high, ticks, step, place(x) in 0..1} over a span with a margin. */
export function axis(low, high, most, margin = 0.04) {
  let [from, to] = [low, high];
  if (!(to - from > 1e-12 * Math.max(Math.abs(from), Math.abs(to)))) {
    const size = Math.abs(from) || 1;
    [from, to] = [from - size / 2, to + size / 2];
  }
  const extra = margin * (to - from);
  [from, to] = [from - extra, to + extra];
  return { low: from, high: to, ...niceTicks(from, to, most), place: (x) => (x - from) / (to - from) };
}

/** Return the old axis while the span fits and fills most of it, else a new one, so that axes seldom change. */
export function steadyAxis(old, low, high, most) {
  if (old && low >= old.low && high <= old.high && high - low > 0.6 * (old.high - old.low)) return old;
  return axis(low, high, most);
}

/**
 * Return the range [low, high] of the axis of an arms chart: all means, and the intervals up to a limit, so that the
 * wide interval of an arm with one reward does not compress all others.
 */
export function armSpan(arms) {
  const known = arms.filter((arm) => arm.mean !== null);
  if (!known.length) return null;
  let low = Infinity;
  let high = -Infinity;
  const cover = (...values) => {
    for (const value of values) {
      if (value === null || !Number.isFinite(value)) continue;
      low = Math.min(low, value);
      high = Math.max(high, value);
    }
  };
  const widest = (arm) => (arm.low === null || arm.high === null ? Infinity : arm.high - arm.low);
  const ordered = known.map((arm) => [widest(arm), arm]).sort((a, b) => a[0] - b[0]);
  for (const arm of known) cover(arm.mean);
  cover(ordered[0][1].low, ordered[0][1].high);
  const [inner, outer] = [low, high];
  const margin = 2 * (outer - inner);
  for (const [, arm] of ordered.slice(0, Math.ceil(0.9 * ordered.length))) cover(arm.low, arm.high);
  return margin > 0 ? [Math.max(low, inner - margin), Math.min(high, outer + margin)] : [low, high];
}

/**
 * Return the band of the declared width: centred at the middle of the means, then moved as little as possible to
 * minimise the sum of the distances between band and intervals. Null without a width or rewards.
 */
export function bandOf(width, arms) {
  const known = arms.filter((arm) => arm.mean !== null);
  if (width === null || !Number.isFinite(width) || !known.length) return null;
  const means = known.map((arm) => arm.mean);
  const smallest = means.reduce((a, b) => Math.min(a, b));
  const largest = means.reduce((a, b) => Math.max(a, b));
  const ends = known.flatMap((arm) => [(arm.low ?? arm.mean) - width / 2, (arm.high ?? arm.mean) + width / 2]);
  ends.sort((a, b) => a - b);
  const middle = Math.min(Math.max((smallest + largest) / 2, ends[known.length - 1]), ends[known.length]);
  return [middle - width / 2, middle + width / 2];
}

const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800];

/** Return {ticks, step} of an axis of time, in seconds; ticks of hours and days follow local time. */
export function timeTicks(from, to, most) {
  const span = to - from;
  const step = STEPS.find((one) => span / one <= most) ?? 604800 * Math.ceil(span / 604800 / most);
  const offset = -60 * new Date(1000 * from).getTimezoneOffset();
  const ticks = [];
  for (let i = Math.ceil((from + offset) / step); i * step - offset <= to; i += 1) ticks.push(i * step - offset);
  return { ticks, step };
}
