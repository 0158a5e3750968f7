// Build and update elements; text is never interpreted as HTML.

const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else put(node, name, value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

/** Return an HTML element. Attributes that start with "on" are listeners; null and false are omitted. */
export function h(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** Return an SVG element. */
export function s(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

/** Set an attribute if it differs; null and false remove it. */
export function put(node, name, value) {
  if (value === null || value === undefined || value === false) {
    if (node.hasAttribute(name)) node.removeAttribute(name);
    return;
  }
  const text = value === true ? "" : String(value);
  if (node.getAttribute(name) !== text) node.setAttribute(name, text);
}

/** Set the text of an element if it differs. */
export function say(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

// Control characters, line breaks and characters that change the direction of writing.
const UNPRINTABLE = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;

/** Return a name or note as printable text: control characters become escapes, long text is cut. */
export function shown(text, most = 200) {
  const escape = (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`;
  const letters = [...String(text)];
  const short = letters.length > most ? `${letters.slice(0, most - 1).join("")}…` : String(text);
  return short.replace(UNPRINTABLE, escape);
}

/** Return a text of at most `most` letters: of a longer text, the beginning and the end. */
function withoutMiddle(text, most) {
  const letters = [...text];
  const end = Math.floor((2 * most) / 5);
  return letters.length <= most ? text : `${letters.slice(0, most - 1 - end).join("")}…${letters.slice(-end).join("")}`;
}

/** Set the text of an element to a name of a user; the whole name is shown under the pointer. */
export function sayName(node, name, most = 44) {
  const full = shown(name);
  if (node.title === full) return;
  node.title = full;
  node.dir = "auto";
  node.textContent = withoutMiddle(full, most);
}

/** Return a search field. `fits(...texts)` tells whether one of them contains the text in the field; `say` shows how many did. */
export function searchField(id, label, oninput) {
  const field = h("input", { type: "search", id, autocomplete: "off", spellcheck: "false", oninput });
  const found = h("span", { class: "soft", role: "status" });
  const node = h("p", { class: "search" }, h("label", { for: id }, label), field, found);
  const wanted = () => field.value.trim().toLowerCase();
  return {
    node,
    fits: (...texts) => texts.some((text) => text.toLowerCase().includes(wanted())),
    say: (text) => say(found, wanted() ? text : ""),
    used: () => wanted() !== "",
  };
}

const lists = new WeakMap();

/**
 * Make the children of an element follow a list. `create(item)` returns {node, update(item)}; nodes are kept by key,
 * so that focus and selection survive an update.
 */
export function keyed(parent, items, keyOf, create) {
  const old = lists.get(parent) ?? new Map();
  const now = new Map();
  for (const item of items) {
    const key = keyOf(item);
    now.set(key, old.get(key) ?? create(item));
  }
  for (const [key, part] of old) if (!now.has(key)) part.node.remove();
  let place = parent.firstChild;
  for (const item of items) {
    const part = now.get(keyOf(item));
    if (part.node === place) place = place.nextSibling;
    else parent.insertBefore(part.node, place);
    part.update(item);
  }
  lists.set(parent, now);
}

/** Ask for confirmation, then run the action; the dialog stays open and says why if the action fails. */
export function confirm({ title, text, yes }, action) {
  const dialog = document.getElementById("confirm");
  const [no, go] = ["confirm-no", "confirm-yes"].map((id) => document.getElementById(id));
  const error = document.getElementById("confirm-error");
  say(document.getElementById("confirm-title"), title);
  say(document.getElementById("confirm-text"), text);
  say(go, yes);
  say(error, "");
  go.disabled = false;
  no.onclick = () => dialog.close();
  go.onclick = async () => {
    go.disabled = true;
    try {
      await action();
      dialog.close();
    } catch (problem) {
      say(error, problem.message);
      go.disabled = false;
    }
  };
  dialog.showModal();
  no.focus();
}
