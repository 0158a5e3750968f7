// Recent decisions, and the changes that people made.

import { h, keyed, put, say, sayName, shown } from "/page/dom.js";
import { count, moment, sum } from "/page/format.js";

const CHANGES = 10;

function sayTime(node, seconds) {
  say(node, moment(seconds));
  put(node, "datetime", new Date(1000 * seconds).toISOString());
}

/** Return the text of a note or a change: JSON, cut where it is long. */
function asText(value, most) {
  return value === null || value === undefined ? "" : shown(JSON.stringify(value), most);
}

function decisionRow() {
  const time = h("time");
  const arm = h("span", { class: "name clip" });
  const [group, groupBelow] = [h("span", { class: "name clip" }), h("span", { class: "name clip" })];
  const [status, statusBelow] = [h("span"), h("span")];
  const value = h("span");
  const [note, noteBelow] = [h("code", { class: "clip" }), h("code", { class: "clip" })];
  const node = h(
    "tr",
    {},
    h("td", { class: "when" }, time),
    h("td", {}, arm, h("span", { class: "under" }, groupBelow, noteBelow)),
    h("td", { class: "wide" }, group),
    h("td", { class: "wide" }, status),
    h("td", { class: "number" }, value, h("span", { class: "under" }, statusBelow)),
    h("td", { class: "wide" }, note),
  );
  const update = (decision) => {
    sayTime(time, decision.at);
    sayName(arm, decision.arm);
    for (const cell of [group, groupBelow]) sayName(cell, decision.group);
    for (const cell of [status, statusBelow]) {
      say(cell, decision.status);
      put(cell, "class", `badge ${decision.status}`);
    }
    say(value, decision.value === null ? "" : sum(decision.value));
    for (const cell of [note, noteBelow]) {
      say(cell, asText(decision.note, 160));
      put(cell, "title", asText(decision.note, 2000));
      put(cell, "hidden", decision.note === null || decision.note === undefined);
    }
  };
  return { node, update };
}

/** Return the panel of recent decisions. */
export function decisionsPanel() {
  const body = h("tbody");
  const column = (name, kind = "") => h("th", { scope: "col", class: kind }, name);
  const head = h("tr", {}, column("Time", "when"), column("Arm"), column("Group", "wide"), column("Status", "wide status-column"), column("Reward", "number value-column"), column("Note", "wide"));
  const table = h("table", { class: "recent" }, h("caption", { class: "hidden" }, "Recent decisions, newest first"), h("thead", {}, head), body);
  const empty = h("p", { class: "soft" }, "No decisions yet.");
  const node = h("section", { class: "panel", id: "decisions", "aria-labelledby": "decisions-title" }, h("h2", { id: "decisions-title" }, "Recent decisions"), empty, table);
  const update = (decisions) => {
    put(empty, "hidden", decisions.length > 0);
    put(table, "hidden", decisions.length === 0);
    keyed(body, decisions, (one) => one.id, decisionRow);
  };
  update([]);
  return { node, update };
}

function changeItem() {
  const [time, what, who, body] = [h("time"), h("strong"), h("span", { class: "name soft" }), h("code")];
  const node = h("li", {}, h("div", { class: "change" }, time, what, who), body);
  const update = (change) => {
    sayTime(time, change.at);
    say(what, shown(change.change, 60));
    say(who, change.who ? `by ${shown(change.who, 60)}` : "");
    const empty = change.body === null || change.body === undefined || Object.keys(change.body).length === 0;
    put(body, "hidden", empty);
    say(body, empty ? "" : asText(change.body, 240));
  };
  return { node, update };
}

/** Return the panel of recorded changes, newest first. */
export function changesPanel() {
  const list = h("ol", { class: "changes" });
  let [all, last] = [false, []];
  const more = h("button", { type: "button", class: "link", onclick: () => ((all = true), update(last)) });
  const node = h("section", { class: "panel", id: "changes", "aria-labelledby": "changes-title" }, h("h2", { id: "changes-title" }, "Recorded changes"), list, h("p", { class: "more" }, more));
  const update = (changes) => {
    last = changes;
    const newest = [...changes].sort((a, b) => b.seq - a.seq);
    keyed(list, all ? newest : newest.slice(0, CHANGES), (one) => one.seq, changeItem);
    put(more, "hidden", all || changes.length <= CHANGES);
    say(more, `Show all ${count(changes.length)} changes`);
  };
  update([]);
  return { node, update };
}
