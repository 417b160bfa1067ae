// Telling: the explanation of what is chosen, and the table of matches. Text only, never markup.

function made(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value !== false && value != null) node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

function swatch(at, dotted) {
  const node = made("span", { class: dotted ? "swatch dot" : "swatch", "aria-hidden": "true" });
  node.style.background = `var(--c${at % 10})`;
  return node;
}

const valuesOf = (columns, at) =>
  Object.entries(columns).map(([name, values]) => [name, values[at]]).filter(([, value]) => value != null);

const written = (values) => values.map(([name, value]) => `${name}=${value}`).join(", ");

function listed(pairs) {
  const list = made("dl");
  for (const [name, value] of pairs) list.append(made("dt", {}, name), made("dd", {}, String(value)));
  return list;
}

// --- the explanation ---

const explanation = document.getElementById("explanation");

function tell() {
  if (state.match >= 0) explanation.replaceChildren(...matchTold(state.match));
  else if (state.event >= 0) explanation.replaceChildren(...eventTold(state.event));
  else explanation.replaceChildren(made("p", { class: "soft" }, hint()));
}

function hint() {
  if (!data.total.events) return "There are no events.";
  if (!data.total.matches) return "No rule found anything. Choose an event to see its values.";
  return "Choose a match, in the timeline or in the table, and see what it is made of.";
}

function matchTold(at) {
  const parts = [
    made("h3", {}, swatch(matches.series[at]), ` ${matches.type[at]}`),
    made("p", {}, `found by rule ${matches.rule[at]}, ${data.key || "track"} ${data.tracks[matches.track[at]]}`),
    made("p", {}, moment(matches.ts[at])),
  ];
  const length = matches.ts[at] - matches.begin[at];
  if (length) parts.push(made("p", { class: "soft" }, `${about(length)} from its first event to its end`));
  const values = valuesOf(matches.values, at);
  if (values.length) parts.push(made("h4", {}, "it says"), listed(values));
  parts.push(made("h4", {}, `made of ${number(matches.parts[at].length)} events`), constituents(at));
  parts.push(...(matches.why[at] ? reasons(matches.why[at]) : fewReasons(at)));
  parts.push(made("p", { class: "soft" }, `id ${matches.id[at]}`));
  return parts;
}

// What `cepheid why` tells of the match.
function reasons({ parameters, checks, consumed }) {
  const parts = [];
  if (parameters.length) parts.push(made("h4", {}, "with"), made("ul", {}, ...parameters.map((text) => made("li", {}, text))));
  const told = checks.map(([holds, text, found]) =>
    made("li", {}, `${holds ? "✓" : "✗"} ${text}`, found ? made("span", { class: "soft" }, `: ${found}`) : ""),
  );
  if (told.length) parts.push(made("h4", {}, "it holds that"), made("ul", { class: "checks" }, ...told));
  if (consumed.length) parts.push(made("h4", {}, "used up"), made("ul", {}, ...consumed.map((text) => made("li", {}, text))));
  return parts;
}

function fewReasons(at) {
  const parts = [], bound = parametersOf(at);
  if (bound.length) parts.push(made("h4", {}, "parameters"), listed(bound));
  const command = `cepheid why … --id ${matches.id[at].slice(0, 8)}`;
  parts.push(made("h4", {}, "what was checked"), made("p", {}, "is told by ", made("code", {}, command)));
  return parts;
}

// Where an event stands in the automaton and how it was chosen, in the order of the labels.
function placesOf(at) {
  const found = new Map();
  for (const [label, state, chosen] of matches.why[at]?.places ?? []) {
    if (!found.has(label)) found.set(label, []);
    found.get(label).push([state ? `state ${state}` : "", chosen].filter(Boolean).join(", "));
  }
  return found;
}

const MOST = 200;

function constituents(at) {
  const list = made("ol"), parts = matches.parts[at];
  const places = placesOf(at);
  let before = null;
  for (const [label, type, ts, place, whole] of parts.slice(0, MOST)) {
    const name = label && label !== type ? `${label}: ${type}` : type;
    const gap = before === null ? "" : `, ${about(Math.abs(ts - before))} ${ts < before ? "before that" : "later"}`;
    const item = made("li", {}, made("b", {}, name), ` ${moment(ts)}`, made("span", { class: "soft" }, gap));
    if (place >= 0) item.append(made("br"), written(valuesOf(events.values, place)));
    const told = places.get(label)?.shift();
    if (told) item.append(made("br"), made("span", { class: "soft" }, told));
    if (whole >= 0) {
      item.append(" ", made("button", { type: "button", onclick: () => chooseMatch(whole) }, "its own events"));
    }
    list.append(item);
    before = ts;
  }
  if (parts.length > MOST) list.append(made("li", {}, `and ${number(parts.length - MOST)} more`));
  return list;
}

function parametersOf(at) {
  const found = [];
  for (const [name, label, attribute] of data.parameters[matches.rule[at]] ?? []) {
    const part = matches.parts[at].filter((one) => one[0] === label).pop();
    const value = part && part[3] >= 0 ? events.values[attribute]?.[part[3]] : null;
    if (value != null) found.push([`$${name}`, `${value} (${label}.${attribute})`]);
  }
  return found;
}

function eventTold(at) {
  const parts = [
    made("h3", {}, swatch(hueOfType(events.series[at]), true), ` ${events.type[at]}`),
    made("p", {}, moment(events.ts[at])),
  ];
  if (events.start[at] < events.ts[at]) parts.push(made("p", { class: "soft" }, `since ${moment(events.start[at])}`));
  parts.push(listed(valuesOf(events.values, at)));
  const mine = owners.get(at) ?? [];
  parts.push(made("h4", {}, mine.length ? `part of ${number(mine.length)} drawn matches` : "part of no match that is drawn"));
  const list = made("ol");
  for (const match of mine.slice(0, 20)) {
    const text = `${matches.type[match]} by ${matches.rule[match]}, ${moment(matches.ts[match])}`;
    list.append(made("li", {}, made("button", { type: "button", onclick: () => chooseMatch(match) }, text)));
  }
  parts.push(list);
  return parts;
}

// --- the table ---

const PAGE = 50;
let rows = PAGE;

function fillTable() {
  const shown = [];
  for (let at = 0; at < matches.ts.length; at++) if (matchShown(at) && matchInView(at)) shown.push(at);
  const names = ["time", "rule", data.key || "track", "gives", "values", "events"];
  document.querySelector("#table thead").replaceChildren(
    made("tr", {}, ...names.map((name) => made("th", { scope: "col", class: name === "events" ? "number" : false }, name))),
  );
  document.querySelector("#table tbody").replaceChildren(...shown.slice(0, rows).map(tableRow));
  const drawn = `${number(shown.length)} drawn ${shown.length === 1 ? "match" : "matches"} in view`;
  document.getElementById("listed").textContent = shown.length ? `${drawn}; choose one to see what it is made of.` : "No match is in view.";
  document.getElementById("more").hidden = shown.length <= rows;
  document.querySelector(".wide").hidden = !shown.length;
}

function tableRow(at) {
  const pick = made("button", { type: "button", "aria-pressed": String(at === state.match), onclick: () => chooseMatch(at) }, moment(matches.ts[at]));
  return made(
    "tr",
    { class: at === state.match ? "chosen" : false, "data-match": at },
    made("td", {}, pick),
    made("td", {}, matches.rule[at]),
    made("td", {}, data.tracks[matches.track[at]]),
    made("td", {}, matches.type[at]),
    made("td", {}, written(valuesOf(matches.values, at))),
    made("td", { class: "number" }, number(matches.parts[at].length)),
  );
}
