// What is shown: the stretch of time in view, what is filtered away, and what is chosen.

const span = Math.max(1, data.end - data.begin);
const LEAST = 10; // microseconds; nothing is closer than that
const state = {
  from: 0,
  to: span,
  rules: new Set(data.rules.keys()),
  types: new Set(data.types.keys()),
  track: -1,
  match: -1,
  event: -1,
};
const { events, matches } = data;
const hueOfType = (at) => data.rules.length + at;

// The matches that each event is part of.
const owners = new Map();
matches.parts.forEach((parts, match) => {
  for (const [, , , place] of parts) {
    if (place < 0) continue;
    if (!owners.has(place)) owners.set(place, []);
    owners.get(place).push(match);
  }
});

// The events of a match, also those of the matches that it is made of.
function leavesOf(match, found = new Set(), seen = new Set()) {
  if (seen.has(match)) return found;
  seen.add(match);
  for (const [, , , place, whole] of matches.parts[match]) {
    if (place >= 0) found.add(place);
    if (whole >= 0) leavesOf(whole, found, seen);
  }
  return found;
}

const trackShown = (track) => state.track < 0 || state.track === track;
const matchShown = (at) => state.rules.has(matches.series[at]) && trackShown(matches.track[at]);
const eventShown = (at) => state.types.has(events.series[at]) && trackShown(events.track[at]);
const matchInView = (at) => matches.ts[at] >= state.from && matches.begin[at] <= state.to;

function lookAt(from, to) {
  const length = Math.min(span * 1.1, Math.max(LEAST, to - from));
  const edge = span * 0.05;
  let begin = from + (to - from - length) / 2;
  begin = Math.min(Math.max(begin, -edge), span + edge - length);
  state.from = begin;
  state.to = begin + length;
}

function lookAtAll() {
  lookAt(-span * 0.01, span * 1.01);
}

// What is chosen stays where it is, if it is in view; else the middle does.
function middle() {
  if (state.match < 0 || !matchInView(state.match)) return (state.from + state.to) / 2;
  return Math.min(Math.max(matches.ts[state.match], state.from), state.to);
}

function zoom(factor, around = middle()) {
  lookAt(around - (around - state.from) * factor, around + (state.to - around) * factor);
}

function move(share) {
  const by = (state.to - state.from) * share;
  lookAt(state.from + by, state.to + by);
}

function lookFor(at) {
  const length = state.to - state.from;
  if (matches.ts[at] <= state.to && matches.begin[at] >= state.from) return;
  const wide = Math.max(length, (matches.ts[at] - matches.begin[at]) * 1.5);
  const middle = (matches.ts[at] + matches.begin[at]) / 2;
  lookAt(middle - wide / 2, middle + wide / 2);
}

// Exact counts by bar and series: all that was counted, not what is drawn.
function counted(cells, wanted, group) {
  const bars = new Map();
  let total = 0;
  const size = data.counts.size, base = Math.floor(data.begin / size);
  const first = Math.floor((data.begin + state.from) / size), last = Math.floor((data.begin + state.to) / size);
  for (let i = 0; i < cells.at.length; i++) {
    const at = base + cells.at[i];
    if (at < first || at > last || !wanted.has(cells.series[i]) || !trackShown(cells.track[i])) continue;
    const bar = Math.floor(at / group);
    if (!bars.has(bar)) bars.set(bar, new Map());
    const own = bars.get(bar);
    own.set(cells.series[i], (own.get(cells.series[i]) ?? 0) + cells.count[i]);
    total += cells.count[i];
  }
  return { bars, total, begin: (bar) => bar * group * size - data.begin, length: group * size };
}
