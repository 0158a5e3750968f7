// The panel of arms: a chart or a table.

import { h, put } from "/page/dom.js";
import { armsChart, ORDERS } from "/page/arms_chart.js";
import { armsTable } from "/page/arms_table.js";

const LEGEND = [
  ["dot", "mean reward of an arm"],
  ["diamond", "best arm so far; the dashed line marks its mean"],
  ["whisker", "95 % confidence interval; an arrow where it leaves the chart"],
  ["band", "declared width of the group, placed where it fits the intervals best"],
];

/** Return the panel. */
export function armsPanel(colours) {
  const chart = armsChart(colours);
  const table = armsTable();
  let [asTable, last] = [false, null];
  const choose = (value) => {
    asTable = value;
    put(asChart, "aria-pressed", String(!asTable));
    put(asRows, "aria-pressed", String(asTable));
    put(chart.node, "hidden", asTable);
    put(legend, "hidden", asTable);
    put(folds, "hidden", asTable);
    put(order, "hidden", asTable);
    put(table.node, "hidden", !asTable);
    if (last) update(last);
  };
  const asChart = h("button", { type: "button", onclick: () => choose(false) }, "Chart");
  const asRows = h("button", { type: "button", onclick: () => choose(true) }, "Table");
  const folds = h(
    "span",
    { class: "folds" },
    h("button", { type: "button", class: "link", onclick: () => chart.setAll(true) }, "Open all groups"),
    h("button", { type: "button", class: "link", onclick: () => chart.setAll(false) }, "Close all"),
  );
  const options = Object.entries(ORDERS).map(([key, one]) => h("option", { value: key }, one.name));
  const select = h("select", { onchange: () => chart.setOrder(select.value) }, ...options);
  const order = h("label", { class: "order" }, "Order ", select);
  const tools = h("div", { class: "tools" }, order, folds, h("div", { class: "switch", role: "group", "aria-label": "Show arms as" }, asChart, asRows));
  const keys = LEGEND.map(([shape, text]) => h("li", {}, h("span", { class: `key ${shape}`, "aria-hidden": "true" }), text));
  const legend = h("ul", { class: "legend" }, ...keys);
  const node = h(
    "section",
    { class: "panel", id: "arms", "aria-labelledby": "arms-title" },
    h("div", { class: "panel-head" }, h("h2", { id: "arms-title" }, "Arms by group"), tools),
    legend,
    chart.node,
    table.node,
  );
  const update = (state) => {
    last = state;
    (asTable ? table : chart).update(state);
  };
  choose(false);
  return { node, update };
}
