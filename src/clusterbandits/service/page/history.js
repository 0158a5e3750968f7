// Charts over time: the share of decisions per group, cumulative reward, estimated regret.

import { h, keyed, put, say, sayName, shown } from "/page/dom.js";
import { OTHER } from "/page/colours.js";
import { count, moment, percent, real, sum } from "/page/format.js";
import { areaPath, dataTable, linePath, period, plot, thinned } from "/page/plot.js";
import { niceTicks } from "/page/scale.js";

const BINS = 60;
const POINTS = 300;
const TABLE_ROWS = 12;

/** Return cumulative counts at given times, on straight lines between the recorded points. */
function interpolated(at, counts, times) {
  let i = 0;
  return times.map((time) => {
    while (i < at.length - 2 && at[i + 1] < time) i += 1;
    const length = at[i + 1] - at[i];
    const part = length > 0 ? Math.min(Math.max((time - at[i]) / length, 0), 1) : 1;
    return counts[i] + part * (counts[i + 1] - counts[i]);
  });
}

/** Return groups as layers from bottom to top; all groups without their own colour form one layer. */
function layersOf(history, colours) {
  const groups = Object.entries(history.groups);
  const own = groups.filter(([name]) => colours.of(name) !== OTHER);
  const rest = groups.filter(([name]) => colours.of(name) === OTHER);
  const layers = own.map(([name, counts]) => ({ name, colour: colours.of(name), counts }));
  if (rest.length === 1) layers.push({ name: rest[0][0], colour: OTHER, counts: rest[0][1] });
  if (rest.length > 1) {
    const counts = history.at.map((_, i) => rest.reduce((total, [, one]) => total + one[i], 0));
    layers.push({ name: null, others: rest.length, colour: OTHER, counts });
  }
  return layers;
}

/** Return the shares of the layers in equal spans of time: {times, shares[layer][bin]}, null without decisions. */
function sharesOverTime(at, layers) {
  const [from, to] = [at[0], at.at(-1)];
  const bins = Math.min(BINS, Math.max(at.length - 1, 1));
  const times = Array.from({ length: bins + 1 }, (_, i) => from + (i / bins) * (to - from));
  const steps = layers.map(({ counts }) => {
    const levels = interpolated(at, counts, times);
    return levels.slice(1).map((level, i) => Math.max(level - levels[i], 0));
  });
  const totals = times.slice(1).map((_, bin) => steps.reduce((total, one) => total + one[bin], 0));
  const shares = steps.map((one) => one.map((step, bin) => (totals[bin] > 1e-9 ? step / totals[bin] : null)));
  return { times, shares };
}

/** Return the areas of one layer, one per period without a gap. */
function areasOf(times, below, share, across) {
  const areas = [];
  let points = [];
  const end = () => {
    if (points.length) areas.push(areaPath(points));
    points = [];
  };
  share.forEach((one, bin) => {
    if (one === null) return end();
    points.push([across(times[bin]), below[bin], below[bin] + one], [across(times[bin + 1]), below[bin], below[bin] + one]);
    return undefined;
  });
  end();
  return areas.join("");
}

const layerName = (layer) => (layer.name === null ? `${count(layer.others)} other groups` : shown(layer.name, 60));

function legendItem() {
  const [name, share] = [h("span", { class: "name" }), h("span", { class: "soft number" })];
  const node = h("li", {}, h("span", { class: "swatch", "aria-hidden": "true" }), name, share);
  const update = (layer) => {
    put(node, "class", layer.colour);
    if (layer.name === null) say(name, layerName(layer));
    else sayName(name, layer.name);
    say(share, percent(layer.latest));
  };
  return { node, update };
}

function trafficPlot(colours) {
  const hint = "Percentages in the legend are for the latest period.";
  const chart = plot("Share of decisions per group", hint);
  const legend = h("ul", { class: "legend groups-legend" });
  const table = dataTable("Share of decisions per group over time");
  chart.node.append(legend, table.node);
  const update = (history) => {
    const layers = layersOf(history, colours);
    const { times, shares } = sharesOverTime(history.at, layers);
    layers.forEach((layer, i) => {
      layer.share = shares[i];
      layer.latest = shares[i].findLast((one) => one !== null) ?? null;
    });
    const [from, to] = [times[0], times.at(-1)];
    const binOf = (seconds) => Math.min(Math.max(Math.floor(((seconds - from) / (to - from)) * (times.length - 1)), 0), times.length - 2);
    const listed = (bin) => layers.filter((one) => one.share[bin] > 0).map((one) => `${layerName(one)} ${percent(one.share[bin])}`);
    const { ticks, step } = niceTicks(0, 1, 4);
    chart.draw({
      from,
      to,
      axis: { low: 0, high: 1, ticks, step, place: (x) => x },
      labels: ticks.map((tick) => `${Math.round(100 * tick)} %`),
      describe: `Share of decisions per group ${period(from, to)}. Latest: ${layers.map((one) => `${layerName(one)} ${percent(one.latest)}`).join(", ")}.`,
      readout: (seconds) => {
        const bin = binOf(seconds);
        const text = listed(bin).join(", ") || "no decisions";
        return `${moment(times[bin])}: ${text}`;
      },
      shapes: (across) => {
        const below = new Array(times.length - 1).fill(0);
        return layers.map((layer) => {
          const d = areasOf(times, below, layer.share, across);
          layer.share.forEach((one, bin) => (below[bin] += one ?? 0));
          return { class: `layer ${layer.colour}`, d };
        });
      },
    });
    keyed(legend, layers, (layer) => JSON.stringify(layer.name), legendItem);
    table.update(() => ({
      columns: ["Until", ...layers.map(layerName)],
      rows: thinned(times.length - 1, TABLE_ROWS).map((bin) => [moment(times[bin + 1]), ...layers.map((one) => percent(one.share[bin]))]),
    }));
  };
  return { node: chart.node, update };
}

function curvePlot(title, hint, field, format) {
  const chart = plot(title, hint);
  const update = (history) => {
    const { at } = history;
    const values = history[field];
    const known = values.filter((one) => one !== null);
    const [from, to] = [at[0], at.at(-1)];
    const picked = thinned(at.length, POINTS);
    const nearest = (seconds) => {
      const after = at.findIndex((one) => one >= seconds);
      return after <= 0 ? Math.max(after, 0) : seconds - at[after - 1] < at[after] - seconds ? after - 1 : after;
    };
    chart.draw({
      from,
      to,
      low: known.reduce((a, b) => Math.min(a, b), 0),
      high: known.reduce((a, b) => Math.max(a, b), 0),
      describe: `${title} ${period(from, to)}. Latest: ${known.length ? format(known.at(-1)) : "unknown"}.`,
      readout: (seconds) => {
        const i = nearest(seconds);
        return `${moment(at[i])}: ${format(values[i])} after ${count(history.decisions[i])} decisions`;
      },
      shapes: (across, up) => [
        { class: "curve", d: linePath(picked.map((i) => [across(at[i]), values[i] === null ? null : up(values[i])])) },
      ],
    });
  };
  return { node: chart.node, update };
}

/** Return the panel. */
export function historyPanel(colours) {
  const parts = [
    trafficPlot(colours),
    curvePlot("Cumulative reward", "Sum of all rewards learned so far.", "total", sum),
    curvePlot("Estimated regret", "Reward lost compared with always choosing the arm that is best so far.", "regret", real),
  ];
  const table = dataTable("Rewards and estimated regret over time");
  const charts = h("div", { class: "plots" }, ...parts.map((part) => part.node));
  const empty = h("p", { class: "soft" }, "The charts appear after decisions at two different times.");
  const node = h("section", { class: "panel", id: "history", "aria-labelledby": "history-title" }, h("h2", { id: "history-title" }, "Over time"), empty, charts, table.node);
  const update = (history) => {
    const enough = history !== null && history.at.length > 1 && history.at.at(-1) > history.at[0];
    put(empty, "hidden", enough);
    put(charts, "hidden", !enough);
    put(table.node, "hidden", !enough);
    if (!enough) return;
    for (const part of parts) part.update(history);
    table.update(() => ({
      columns: ["At", "Decisions", "Rewards", "Cumulative reward", "Estimated regret"],
      rows: thinned(history.at.length, TABLE_ROWS).map((i) => [
        moment(history.at[i]),
        count(history.decisions[i]),
        count(history.pulls[i]),
        sum(history.total[i]),
        real(history.regret[i]),
      ]),
    }));
  };
  update(null);
  return { node, update };
}
