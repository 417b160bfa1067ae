// Times: microseconds since `data.begin`, shown as dates in UTC or as counts with a unit.

const data = JSON.parse(document.getElementById("data").textContent);
const SECOND = 1e6, MINUTE = 60 * SECOND, HOUR = 60 * MINUTE, DAY = 24 * HOUR;
const UNITS = [["d", DAY], ["h", HOUR], ["min", MINUTE], ["s", SECOND], ["ms", 1000], ["us", 1]];
const STEPS = [];
for (let power = 1; power < SECOND; power *= 10) STEPS.push(power, 2 * power, 5 * power);
for (const unit of [SECOND, MINUTE]) for (const step of [1, 2, 5, 10, 15, 30]) STEPS.push(step * unit);
for (const step of [1, 2, 3, 6, 12]) STEPS.push(step * HOUR);
for (const step of [1, 2, 7, 28, 91, 365]) STEPS.push(step * DAY);

const number = (value) => value.toLocaleString("en-US");
const padded = (value, size = 2) => String(value).padStart(size, "0");

function stepFor(span, most) {
  let found = STEPS.find((step) => span <= step * most) ?? STEPS[STEPS.length - 1];
  while (span > found * most) found *= 2;
  return found;
}

function duration(length) {
  if (length === 0) return "0";
  const [name, size] = UNITS.find(([, size]) => length % size === 0) ?? ["us", 1];
  return `${number(length / size)} ${name}`;
}

// A length of time as a person says it: two units at most.
function about(length) {
  const sign = length < 0 ? "−" : "";
  let left = Math.abs(Math.round(length));
  if (left < SECOND) return sign + (left >= 1000 ? `${+(left / 1000).toFixed(1)} ms` : `${left} us`);
  const parts = [];
  for (const [name, size] of UNITS.slice(0, 4)) {
    const whole = name === "s" ? +(left / size).toFixed(3) : Math.floor(left / size);
    if (whole) parts.push(`${whole} ${name}`);
    left -= Math.floor(left / size) * size;
    if (parts.length === 2) break;
  }
  return sign + parts.join(" ");
}

function moment(offset) {
  const at = data.begin + offset;
  const date = new Date(Math.floor(at / 1000));
  if (!data.dates || Number.isNaN(date.getTime())) return duration(at);
  const fraction = ((at % SECOND) + SECOND) % SECOND;
  const rest = fraction ? `.${padded(fraction, 6).replace(/0+$/, "")}` : "";
  return date.toISOString().replace("T", " ").replace(/\.\d+Z$/, "") + rest;
}

function ticks(from, to, most) {
  const step = stepFor(Math.max(1, to - from), Math.max(1, most));
  const first = Math.ceil((data.begin + from) / step) * step - data.begin;
  const found = [];
  let day = "";
  for (let at = first; at <= to; at += step) {
    const text = moment(at);
    if (!data.dates || !text.includes("-")) {
      found.push([at, text]);
      continue;
    }
    const time = step % DAY === 0 ? "" : text.slice(11, step % MINUTE === 0 ? 16 : undefined);
    const fresh = text.slice(0, 10) !== day || !time;
    found.push([at, fresh ? `${text.slice(0, 10)} ${time}`.trim() : time]);
    day = text.slice(0, 10);
  }
  return found;
}
