// The list of experiments.

import { json } from "/page/api.js";
import { h, keyed, put, say, searchField } from "/page/dom.js";
import { count, plural, real } from "/page/format.js";
import { follow } from "/page/live.js";
import { command, curl } from "/page/notices.js";

const EXAMPLE = { name: "ads", groups: { red: ["a", "b"], blue: ["c", "d"] }, policy: "auto" };

export function stateBadge() {
  const node = h("span", { class: "badge" });
  const update = (state) => {
    say(node, state);
    put(node, "class", `badge ${state}`);
  };
  return { node, update };
}

function experimentRow() {
  const link = h("a", { class: "name cover" });
  const [badge, belowBadge] = [stateBadge(), stateBadge()];
  const [below, alarm] = [h("span", { class: "under" }), h("span", { class: "mark alarm" })];
  const number = (kind = "") => h("td", { class: `number ${kind}` });
  const cells = { policy: h("td", { class: "wide" }), arms: h("td", { class: "wide" }), decisions: number(), mean: number(), alarms: number("wide") };
  below.append(belowBadge.node, h("span"));
  const node = h("tr", {}, h("th", { scope: "row" }, link, alarm, below), h("td", { class: "wide" }, badge.node), ...Object.values(cells));
  const update = (one) => {
    say(link, one.name);
    put(link, "href", `#/experiments/${encodeURIComponent(one.name)}`);
    for (const part of [badge, belowBadge]) part.update(one.state);
    say(below.lastChild, ` ${one.policy}`);
    say(alarm, one.alarms ? plural(one.alarms, "alarm") : "");
    put(alarm, "class", "mark alarm narrow");
    say(cells.policy, one.policy);
    say(cells.arms, `${count(one.arms)} in ${plural(one.groups, "group")}`);
    say(cells.decisions, count(one.decisions));
    say(cells.mean, real(one.mean));
    say(cells.alarms, count(one.alarms));
    put(cells.alarms, "class", `number wide${one.alarms ? " alarming" : ""}`);
  };
  return { node, update };
}

// A list of more experiments than this can be searched.
const FEW = 10;
const ORDER = { running: 0, paused: 1, archived: 2 };

/** Show the list in `main`; return the function that ends it. */
export function overview(main, { me, onStatus, onRefused }) {
  const column = (name, kind = "") => h("th", { scope: "col", class: kind }, name);
  const head = h(
    "tr",
    {},
    column("Experiment"),
    column("State", "wide"),
    column("Policy", "wide"),
    column("Arms", "wide"),
    column("Decisions", "number"),
    column("Mean reward", "number"),
    column("Alarms", "number wide"),
  );
  const body = h("tbody");
  const table = h("table", { class: "experiments" }, h("caption", { class: "hidden" }, "Experiments"), h("thead", {}, head), body);
  const empty = h(
    "div",
    { class: "panel", id: "empty" },
    h("h2", {}, "No experiments yet"),
    h("p", {}, "Create one with two groups of two arms:"),
    command(curl("POST", "/v1/experiments", EXAMPLE, me.insecure)),
    h("p", { class: "soft" }, "It appears here within a second."),
  );
  const box = h("input", { type: "checkbox", id: "archived", onchange: () => loadArchived() });
  const choice = h("p", { class: "choice" }, box, h("label", { for: "archived" }, "Show archived experiments"));
  const search = searchField("search", "Find an experiment", () => show());
  const problem = h("p", { class: "error", role: "alert" });
  const title = h("h1", { tabindex: "-1" }, "Experiments");
  const loading = h("p", { class: "soft" }, "Loading …");
  let [current, archived, ended] = [null, [], false];

  const show = () => {
    if (current === null || ended) return;
    const all = new Map([...archived, ...current].map((one) => [one.name, one]));
    const found = [...all.values()].filter((one) => search.fits(one.name, one.policy));
    const rows = found.sort((a, b) => ORDER[a.state] - ORDER[b.state] || a.name.localeCompare(b.name, "en", { numeric: true }));
    loading.remove();
    put(table, "hidden", rows.length === 0);
    put(empty, "hidden", all.size > 0);
    put(search.node, "hidden", all.size <= FEW && !search.used());
    search.say(`${plural(rows.length, "experiment")} found`);
    keyed(body, rows, (one) => one.name, experimentRow);
  };
  const loadArchived = async () => {
    archived = [];
    say(problem, "");
    if (box.checked) {
      try {
        const answer = await json("/v1/experiments?archived=true");
        if (box.checked) archived = answer.experiments.filter((one) => one.state === "archived");
      } catch (error) {
        say(problem, error.message);
      }
    }
    show();
  };
  const onState = (state) => {
    current = state.experiments;
    show();
  };
  put(table, "hidden", true);
  put(empty, "hidden", true);
  put(search.node, "hidden", true);
  main.replaceChildren(title, loading, problem, search.node, table, empty, choice);
  document.title = "Experiments · clusterbandits";
  const stop = follow("/v1/experiments", "/v1/live", { onState, onStatus, onRefused });
  return () => {
    ended = true;
    stop();
  };
}
