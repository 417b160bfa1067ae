// The page comes to life: filters, mouse, wheel, keyboard, theme, and the match in the address.

let waiting = false;

function show() {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => {
    waiting = false;
    drawNow();
  });
}

function drawNow() {
  const found = drawCounts();
  drawTracks();
  fillTable();
  const step = duration(found.length);
  const counted = `${number(found.matches)} ${found.matches === 1 ? "match" : "matches"}, ${number(found.events)} ${found.events === 1 ? "event" : "events"}`;
  document.getElementById("in-view").textContent = `in view: ${counted}; a bar is ${step}`;
}

function chooseMatch(at) {
  state.match = at;
  state.event = -1;
  if (at >= 0) {
    if (!matchShown(at)) showEverything();
    lookFor(at);
  }
  remember();
  tell();
  drawNow();
  if (at >= 0) scrollToTrack(matches.track[at]);
}

function chooseEvent(at) {
  state.event = at;
  state.match = -1;
  remember();
  tell();
  drawNow();
}

function scrollToTrack(track) {
  const box = document.getElementById("scroll"), own = layout[track];
  if (!own) return;
  if (own.top < box.scrollTop || own.bottom > box.scrollTop + box.clientHeight) {
    box.scrollTop = Math.max(0, own.top - box.clientHeight / 3);
  }
}

function remember() {
  const hash = state.match >= 0 ? `#match=${encodeURIComponent(matches.id[state.match])}` : "#";
  try {
    history.replaceState(null, "", hash);
  } catch {
    // A page inside a notebook has no address of its own.
  }
}

function recall() {
  const id = new URLSearchParams(location.hash.slice(1)).get("match");
  const at = id === null ? -1 : matches.id.indexOf(id);
  if (at >= 0) chooseMatch(at);
}

// --- filters ---

function addChecks(box, series, chosen, hue, dotted) {
  series.forEach(({ name, count }, at) => {
    const check = made("input", { type: "checkbox", checked: "" });
    check.addEventListener("change", () => {
      if (check.checked) chosen.add(at);
      else chosen.delete(at);
      show();
    });
    box.append(made("label", {}, check, swatch(hue(at), dotted), name, made("span", { class: "count" }, number(count))));
  });
}

function addFilters() {
  addChecks(document.getElementById("filter-rules"), data.rules, state.rules, (at) => at, false);
  addChecks(document.getElementById("filter-types"), data.types, state.types, hueOfType, true);
  const select = document.getElementById("key");
  select.append(made("option", { value: -1 }, "all"));
  data.tracks.forEach((name, track) => select.append(made("option", { value: track }, name)));
  document.getElementById("key-legend").textContent = data.key || "key";
  document.getElementById("filter-keys").hidden = data.tracks.length < 2;
  select.addEventListener("change", () => {
    state.track = Number(select.value);
    show();
  });
}

function showEverything() {
  document.querySelectorAll("#filter-rules input").forEach((check, at) => {
    check.checked = true;
    state.rules.add(at);
  });
  state.track = -1;
  document.getElementById("key").value = "-1";
}

// --- moving ---

function addButtons() {
  const does = { earlier: () => move(-0.4), later: () => move(0.4), closer: () => zoom(0.5), wider: () => zoom(2), whole: lookAtAll };
  for (const [id, act] of Object.entries(does)) {
    document.getElementById(id).addEventListener("click", () => {
      act();
      show();
    });
  }
  document.getElementById("more").addEventListener("click", () => {
    rows += PAGE * 4;
    fillTable();
  });
}

function addKeys() {
  const acts = {
    ArrowLeft: () => move(-0.15), ArrowRight: () => move(0.15), "+": () => zoom(0.6), "=": () => zoom(0.6), "-": () => zoom(1 / 0.6),
    0: lookAtAll, Home: lookAtAll, ArrowDown: () => next(1), ArrowUp: () => next(-1), Escape: () => chooseMatch(-1),
  };
  tracksCanvas.addEventListener("keydown", (press) => {
    const act = acts[press.key];
    if (!act || press.ctrlKey || press.metaKey || press.altKey) return;
    press.preventDefault();
    act();
    show();
  });
}

function next(step) {
  const shown = [];
  for (let at = 0; at < matches.ts.length; at++) if (matchShown(at) && (state.match >= 0 || matchInView(at))) shown.push(at);
  if (!shown.length) return;
  const place = shown.indexOf(state.match);
  const wanted = place < 0 ? (step > 0 ? 0 : shown.length - 1) : place + step;
  if (shown[wanted] !== undefined) chooseMatch(shown[wanted]);
}

// --- mouse ---

const tip = document.getElementById("tip");

function addMouse() {
  let held = null;
  tracksCanvas.addEventListener("pointerdown", (press) => {
    held = { x: press.offsetX, y: press.offsetY, from: state.from, to: state.to, moved: false };
    tracksCanvas.setPointerCapture(press.pointerId);
  });
  tracksCanvas.addEventListener("pointermove", (press) => {
    if (!held) {
      hover(press);
      return;
    }
    if (Math.abs(press.offsetX - held.x) > 3) held.moved = true;
    if (!held.moved) return;
    tip.hidden = true;
    tracksCanvas.classList.add("moving");
    const by = ((held.x - press.offsetX) / plotWidth()) * (held.to - held.from);
    lookAt(held.from + by, held.to + by);
    show();
  });
  tracksCanvas.addEventListener("pointerup", (press) => {
    tracksCanvas.classList.remove("moving");
    if (held && !held.moved) chooseAt(press.offsetX, press.offsetY);
    held = null;
  });
  tracksCanvas.addEventListener("pointerleave", () => (tip.hidden = true));
  tracksCanvas.addEventListener("dblclick", (press) => {
    zoom(0.4, timeAt(press.offsetX));
    show();
  });
  for (const canvas of [tracksCanvas, countsCanvas]) canvas.addEventListener("wheel", turned, { passive: false });
}

function chooseAt(x, y) {
  const match = matchAt(x, y);
  if (match >= 0) {
    chooseMatch(match);
    return;
  }
  chooseEvent(eventAt(x, y));
}

function turned(wheel) {
  const sideways = Math.abs(wheel.deltaX) > Math.abs(wheel.deltaY);
  if (!sideways && !wheel.ctrlKey && !wheel.metaKey && !wheel.shiftKey) return;
  wheel.preventDefault();
  if (sideways && !wheel.ctrlKey) move(wheel.deltaX / 1000);
  else zoom(Math.exp(wheel.deltaY / 300), timeAt(wheel.offsetX));
  show();
}

function hover(press) {
  const match = matchAt(press.offsetX, press.offsetY);
  const event = match < 0 ? eventAt(press.offsetX, press.offsetY) : -1;
  tip.hidden = match < 0 && event < 0;
  tracksCanvas.style.cursor = tip.hidden ? "" : "pointer";
  if (tip.hidden) return;
  tip.textContent =
    match >= 0
      ? `${matches.type[match]} by ${matches.rule[match]}\n${moment(matches.ts[match])}\n${written(valuesOf(matches.values, match))}`
      : `${events.type[event]}\n${moment(events.ts[event])}\n${written(valuesOf(events.values, event))}`;
  tip.style.left = `${Math.min(press.clientX + 14, window.innerWidth - 260)}px`;
  tip.style.top = `${press.clientY + 16}px`;
}

// Dragging over the counts looks closer at that stretch of time.
function addBrush() {
  let from = null;
  countsCanvas.addEventListener("pointerdown", (press) => {
    from = press.offsetX;
    countsCanvas.setPointerCapture(press.pointerId);
  });
  countsCanvas.addEventListener("pointermove", (press) => {
    if (from === null) return;
    drawCounts();
    const pen = countsCanvas.getContext("2d");
    pen.globalAlpha = 0.2;
    pen.fillStyle = colours.accent;
    pen.fillRect(Math.min(from, press.offsetX), 0, Math.abs(press.offsetX - from), 2 * COUNT_BAND + 10);
    pen.globalAlpha = 1;
  });
  countsCanvas.addEventListener("pointerup", (press) => {
    const [left, right] = [from, press.offsetX].sort((a, b) => a - b);
    if (from !== null && right - left > 4) lookAt(timeAt(Math.max(gutter, left)), timeAt(right));
    from = null;
    show();
  });
}

// --- theme ---

function addTheme() {
  const button = document.getElementById("theme"), dark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (document.documentElement.dataset.theme ?? (dark.matches ? "dark" : "light")) === "dark";
  const changed = () => {
    button.textContent = isDark() ? "light" : "dark";
    button.setAttribute("aria-label", `${button.textContent} colours`);
    readColours();
    show();
  };
  button.hidden = false;
  button.addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    changed();
  });
  dark.addEventListener("change", changed);
  changed();
}

function begin() {
  document.getElementById("when").hidden = !data.total.events;
  document.getElementById("found").hidden = !data.total.events;
  measureGutter();
  lookAtAll();
  addFilters();
  addButtons();
  addKeys();
  addMouse();
  addBrush();
  addTheme();
  tell();
  drawNow();
  recall();
  new ResizeObserver(show).observe(document.getElementById("pictures"));
  document.documentElement.dataset.ready = "true";
}

begin();
