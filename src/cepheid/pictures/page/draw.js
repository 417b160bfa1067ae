// Drawing: the counts and the tracks, on two canvases that share the axis of time.

const countsCanvas = document.getElementById("counts"), tracksCanvas = document.getElementById("tracks");
const RIGHT = 14, BAR = 8, LEVEL = 10, BAND = 26, PAD = 7, COUNT_BAND = 46, AXIS = 22;
const FONT = "12px system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif";
let colours = {}, gutter = 110, layout = [];

function readColours() {
  const style = getComputedStyle(document.documentElement);
  const get = (name) => style.getPropertyValue(`--${name}`).trim();
  colours = { series: [] };
  for (const name of ["paper", "card", "ink", "soft", "line", "mark", "accent"]) colours[name] = get(name);
  for (let at = 0; at < 10; at++) colours.series.push(get(`c${at}`));
}

const colour = (at) => colours.series[at % colours.series.length];

function prepared(canvas, height) {
  const width = canvas.parentElement.clientWidth - (canvas === countsCanvas ? 16 : 0);
  const scale = window.devicePixelRatio || 1;
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  const pen = canvas.getContext("2d");
  pen.scale(scale, scale);
  pen.clearRect(0, 0, width, height);
  pen.font = FONT;
  pen.textBaseline = "middle";
  return [pen, width];
}

const plotWidth = () => tracksCanvas.clientWidth - gutter - RIGHT;
const xOf = (at) => gutter + ((at - state.from) / (state.to - state.from)) * plotWidth();
const timeAt = (x) => state.from + ((x - gutter) / plotWidth()) * (state.to - state.from);

function shortened(pen, text, most) {
  if (pen.measureText(text).width <= most) return text;
  while (text.length > 1 && pen.measureText(`${text}…`).width > most) text = text.slice(0, -1);
  return `${text}…`;
}

function measureGutter() {
  const pen = tracksCanvas.getContext("2d");
  pen.font = FONT;
  const widest = Math.max(...data.tracks.map((name) => pen.measureText(name.slice(0, 40)).width), 46);
  gutter = Math.min(150, Math.ceil(widest) + 18);
}

// --- counts ---

function drawCounts() {
  const [pen, width] = prepared(countsCanvas, 2 * COUNT_BAND + AXIS + 10);
  const group = groupFor((5 / plotWidth()) * (state.to - state.from));
  const found = [
    ["matches", counted(data.counts.matches, state.rules, group), 4, (at) => at],
    ["events", counted(data.counts.events, state.types, group), COUNT_BAND + 8, hueOfType],
  ];
  for (const [name, own, top, hue] of found) drawBars(pen, width, name, own, top, hue);
  drawAxis(pen, width, 2 * COUNT_BAND + 10);
  return { matches: found[0][1].total, events: found[1][1].total, length: found[0][1].length };
}

// How many stretches a bar counts, so that it is as long as people count in.
function groupFor(length) {
  const { size } = data.counts;
  if (length <= size) return 1;
  const step = STEPS.find((one) => one >= length && one % size === 0);
  return step ? step / size : Math.ceil(length / size);
}

function drawBars(pen, width, name, own, top, hue) {
  const sums = [...own.bars.values()].map((bar) => [...bar.values()].reduce((a, b) => a + b, 0));
  const most = sums.reduce((a, b) => Math.max(a, b), 0);
  pen.fillStyle = colours.soft;
  pen.textAlign = "left";
  pen.fillText(name, 4, top + COUNT_BAND - 8);
  pen.textAlign = "right";
  if (most) pen.fillText(number(most), gutter - 6, top + 6);
  pen.save();
  pen.beginPath();
  pen.rect(gutter, 0, width - gutter - RIGHT, 2 * COUNT_BAND + 12);
  pen.clip();
  for (const [bar, counts] of own.bars) {
    const left = xOf(own.begin(bar)), right = xOf(own.begin(bar) + own.length);
    let y = top + COUNT_BAND;
    for (const [series, count] of [...counts].sort((a, b) => a[0] - b[0])) {
      const high = (count / most) * (COUNT_BAND - 6);
      pen.fillStyle = colour(hue(series));
      pen.fillRect(left, y - high, Math.max(1, right - left - (right - left > 4 ? 1 : 0)), high);
      y -= high;
    }
  }
  pen.restore();
  rule(pen, gutter, top + COUNT_BAND, width - RIGHT, top + COUNT_BAND);
}

function rule(pen, x0, y0, x1, y1) {
  pen.strokeStyle = colours.line;
  pen.lineWidth = 1;
  pen.beginPath();
  pen.moveTo(Math.round(x0) + 0.5, Math.round(y0) + 0.5);
  pen.lineTo(Math.round(x1) + 0.5, Math.round(y1) + 0.5);
  pen.stroke();
}

function drawAxis(pen, width, top) {
  pen.fillStyle = colours.soft;
  pen.textAlign = "center";
  let free = 0;
  for (const [at, text] of ticks(state.from, state.to, Math.max(2, plotWidth() / 110))) {
    const half = pen.measureText(text).width / 2;
    const x = Math.min(Math.max(xOf(at), gutter + half - 30), width - half - 2);
    if (xOf(at) < gutter || x - half < free) continue;
    pen.fillText(text, x, top + 12);
    rule(pen, xOf(at), top, xOf(at), top + 4);
    free = x + half + 12;
  }
}

// --- tracks ---

const LEVELS = 6;
const levelOf = new Array(matches.ts.length).fill(0);
const byBegin = [...matches.ts.keys()].sort((a, b) => matches.begin[a] - matches.begin[b] || matches.ts[a] - matches.ts[b]);

// The level of each match, so that those of one track do not lie on each other; the same whatever
// is in view, so that nothing jumps while time moves.
function stack() {
  const free = data.tracks.map(() => []), gap = span / 150;
  for (const at of byBegin) {
    if (!matchShown(at)) continue;
    const own = free[matches.track[at]];
    let level = 0;
    while (level < LEVELS - 1 && own[level] > matches.begin[at]) level++;
    own[level] = Math.max(own[level] ?? 0, matches.ts[at] + gap);
    levelOf[at] = level;
  }
  return free.map((own) => own.length);
}

function arrangeTracks() {
  const levels = stack();
  layout = [];
  let top = 0;
  data.tracks.forEach((name, track) => {
    if (!trackShown(track)) return;
    const floor = top + PAD + levels[track] * LEVEL;
    layout[track] = { name, top, floor, bottom: floor + BAND };
    top = floor + BAND;
  });
  return Math.max(60, top);
}

const matchY = (at) => layout[matches.track[at]].floor - (levelOf[at] + 1) * LEVEL;
const eventY = (at) => layout[events.track[at]].floor + 7 + 6 * (events.series[at] % 3);

function drawTracks() {
  const height = arrangeTracks();
  const [pen, width] = prepared(tracksCanvas, height);
  for (const [at] of ticks(state.from, state.to, Math.max(2, plotWidth() / 110))) {
    if (xOf(at) >= gutter) rule(pen, xOf(at), 0, xOf(at), height);
  }
  for (const track of layout) if (track) drawTrack(pen, width, track);
  pen.save();
  pen.beginPath();
  pen.rect(gutter - 4, 0, width - gutter - RIGHT + 8, height);
  pen.clip();
  drawMatches(pen);
  drawEvents(pen);
  drawChosen(pen);
  pen.restore();
}

function drawTrack(pen, width, track) {
  pen.fillStyle = colours.ink;
  pen.textAlign = "left";
  pen.fillText(shortened(pen, track.name, gutter - 12), 4, (track.top + track.bottom) / 2);
  rule(pen, 0, track.bottom - 1, width, track.bottom - 1);
}

function bar(pen, at, grown = 0) {
  const left = xOf(matches.begin[at]), right = xOf(matches.ts[at]);
  pen.beginPath();
  pen.roundRect(left - 2 - grown, matchY(at) - grown, Math.max(5, right - left + 4) + 2 * grown, BAR + 2 * grown, 3);
}

function drawMatches(pen) {
  pen.globalAlpha = 0.85;
  for (let at = 0; at < matches.ts.length; at++) {
    if (!matchShown(at) || !matchInView(at)) continue;
    pen.fillStyle = colour(matches.series[at]);
    bar(pen, at);
    pen.fill();
  }
  pen.globalAlpha = 1;
}

function dot(pen, at, radius) {
  pen.beginPath();
  pen.arc(xOf(events.ts[at]), eventY(at), radius, 0, 2 * Math.PI);
}

function drawEvents(pen) {
  for (let at = 0; at < events.ts.length; at++) {
    if (!eventShown(at) || events.ts[at] < state.from || events.start[at] > state.to) continue;
    pen.fillStyle = pen.strokeStyle = colour(hueOfType(events.series[at]));
    if (events.start[at] < events.ts[at]) {
      pen.lineWidth = 2;
      pen.beginPath();
      pen.moveTo(xOf(events.start[at]), eventY(at));
      pen.lineTo(xOf(events.ts[at]), eventY(at));
      pen.stroke();
    }
    dot(pen, at, 2.8);
    pen.fill();
  }
}

// The chosen match with its events, and lines between them; events of other tracks too.
function drawChosen(pen) {
  pen.strokeStyle = colours.ink;
  pen.lineWidth = 1.6;
  if (state.event >= 0 && layout[events.track[state.event]]) {
    dot(pen, state.event, 6);
    pen.stroke();
  }
  if (state.match < 0 || !layout[matches.track[state.match]]) return;
  bar(pen, state.match, 2);
  pen.stroke();
  const foot = matchY(state.match) + BAR + 2;
  for (const place of leavesOf(state.match)) {
    if (!layout[events.track[place]]) continue;
    const x = xOf(events.ts[place]);
    pen.lineWidth = 1;
    pen.beginPath();
    pen.moveTo(x, foot);
    pen.lineTo(x, eventY(place) - 4);
    pen.stroke();
    pen.lineWidth = 1.6;
    dot(pen, place, 5);
    pen.stroke();
  }
}

// --- what is at a point ---

function matchAt(x, y) {
  let found = -1, best = 5;
  for (let at = 0; at < matches.ts.length; at++) {
    if (!matchShown(at) || !layout[matches.track[at]]) continue;
    const top = matchY(at);
    if (y < top - 2 || y > top + BAR + 2) continue;
    const left = xOf(matches.begin[at]) - 2, right = Math.max(left + 5, xOf(matches.ts[at]) + 2);
    const away = x < left ? left - x : x > right ? x - right : 0;
    if (away <= best && (away < best || found < 0 || matches.ts[at] - matches.begin[at] < matches.ts[found] - matches.begin[found])) {
      [found, best] = [at, away];
    }
  }
  return found;
}

function eventAt(x, y) {
  let found = -1, best = 7;
  for (let at = 0; at < events.ts.length; at++) {
    if (!eventShown(at) || !layout[events.track[at]]) continue;
    const away = Math.hypot(xOf(events.ts[at]) - x, eventY(at) - y);
    if (away < best) [found, best] = [at, away];
  }
  return found;
}
