// The administrator's status page: draws the plots, and updates the page from /status/events. It writes the same HTML
// as the server (Sources/LatchkeyAPI/Status/StatusPage.swift).

const at = (id) => document.getElementById(id);
const outcomes = [
  ["signed_in", "Signed in"], ["signed_up", "Signed up"], ["other", "Linked, approved, to register"],
  ["denied", "Denied by the user"], ["refused", "Refused: the app"], ["failed", "Failed: a check, provider or server"],
];
let latest = null;

function fill(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

const element = (name, attributes = {}, ...children) => fill(document.createElement(name), attributes, children);

const shape = (name, attributes = {}, ...children) =>
  fill(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);

const number = (value) => value.toLocaleString("en");
const utc = (seconds) => new Date(seconds * 1000).toISOString().replace("T", " ");
const minuteOf = (seconds) => `${utc(seconds).slice(0, 16)} UTC`;

function span(seconds) {
  for (const [size, unit] of [[86400, "d"], [3600, "h"], [60, "min"]]) {
    if (seconds >= size) return `${Math.floor(seconds / size)} ${unit}`;
  }
  return `${Math.max(0, Math.floor(seconds))} s`;
}

/** The sixty minutes of the last hour; unknown ones are empty. */
function hour(minutes) {
  const last = minutes.at(-1)?.at ?? Math.floor(Date.now() / 60000) * 60;
  const known = new Map(minutes.map((minute) => [minute.at, minute]));
  return Array.from({ length: 60 }, (_, index) => {
    const beginning = last - (59 - index) * 60;
    return known.get(beginning) ?? { at: beginning };
  });
}

/** A round maximum for an axis. */
function roundUp(value) {
  const power = 10 ** Math.floor(Math.log10(Math.max(value, 1)));
  return [1, 2, 5, 10].map((step) => step * power).find((step) => step >= value);
}

// Plots are drawn in screen pixels, so that their text has the same size on every screen.

const top = 20;
const bottom = 20;

function frame(place, height, highest, unit, label) {
  const { paddingLeft, paddingRight } = getComputedStyle(place);
  const width = Math.max(Math.floor(place.clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight)), 160);
  const plot = shape("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": label });
  for (const share of [0, 0.5, 1]) {
    const y = Math.round(height - bottom - share * (height - top - bottom)) + 0.5;
    plot.append(shape("line", { class: share ? "grid" : "axis", x1: 0, y1: y, x2: width, y2: y }));
  }
  plot.append(
    shape("text", { x: 0, y: top - 6 }, `${number(highest)} ${unit}`),
    shape("text", { x: 0, y: height - 4 }, "an hour ago"),
    shape("text", { x: width, y: height - 4, "text-anchor": "end" }, "now"));
  return { plot, width, scale: (height - top - bottom) / highest, floor: height - bottom };
}

function drawSignIns(place, minutes) {
  const all = hour(minutes);
  const sums = all.map((minute) => outcomes.reduce((sum, [name]) => sum + (minute[name] ?? 0), 0));
  const total = sums.reduce((sum, value) => sum + value, 0);
  const { plot, width, scale, floor } = frame(
    place, 200, roundUp(Math.max(...sums)), "a minute",
    `Sign-ins by minute: ${total} in the last hour, ${Math.max(...sums)} in the busiest minute, ` +
      `${sums[59]} in this minute`);
  const slot = width / 60;
  all.forEach((minute, index) => {
    let base = floor;
    for (const [name, label] of outcomes) {
      const length = (minute[name] ?? 0) * scale;
      if (!length) continue;
      base -= length;
      plot.append(
        shape("rect", { class: name, x: (index * slot + 0.5).toFixed(1), y: base.toFixed(1),
          width: Math.max(slot - 1.5, 1).toFixed(1), height: length.toFixed(1), rx: Math.min(2, length / 2) },
        shape("title", {}, `${minuteOf(minute.at)}: ${minute[name]} ${label.toLowerCase()}`)));
    }
  });
  place.replaceChildren(plot);
}

function drawLatency(place, carrier) {
  const all = hour(carrier.minutes);
  const means = all.map((minute) => minute.mean_ms ?? null);
  const known = means.filter((value) => value !== null);
  const { plot, width, scale, floor } = frame(
    place, 110, roundUp(Math.max(0, ...known)), "ms", known.length
      ? `Response time by minute: latest ${Math.round(known.at(-1))} ms, maximum ${Math.round(Math.max(...known))} ms`
      : "No response in the last hour");
  const x = (index) => 3 + index * ((width - 6) / 59);
  let path = "";
  means.forEach((value, index) => {
    if (value === null) return;
    const step = index > 0 && means[index - 1] !== null ? "L" : "M";
    path += `${step}${x(index).toFixed(1)} ${(floor - value * scale).toFixed(1)}`;
  });
  plot.append(shape("path", { class: "line", d: path }));
  all.forEach((minute, index) => {
    if (means[index] !== null) {
      plot.append(shape("circle",
        { class: "dot", cx: x(index).toFixed(1), cy: (floor - means[index] * scale).toFixed(1), r: 2.5 },
        shape("title", {}, `${minuteOf(minute.at)}: ${means[index]} ms, ${minute.answered} answered`)));
    }
    if (minute.failed) {
      plot.append(shape("rect", { class: "failed", x: (x(index) - 2.5).toFixed(1), y: floor - 8, width: 5, height: 8 },
        shape("title", {}, `${minuteOf(minute.at)}: ${minute.failed} failed`)));
    }
  });
  place.replaceChildren(plot);
}

function pair(name, value, swatch) {
  const term = element("dt", {}, ...(swatch ? [element("span", { class: `swatch ${swatch}` })] : []), name);
  return element("div", {}, term, element("dd", {}, number(value)));
}

const row = (cells) => element("tr", {}, ...cells.map((cell) => element("td", {}, cell ?? "–")));

const capsuleLink = (id) =>
  id && element("a", { href: `status/capsule?${new URLSearchParams({ failure: id })}` }, "show");

const nothing = (text, columns) => element("tr", {}, element("td", { colspan: columns }, text));

function card(carrier) {
  const health = carrier.left_alone.length
    ? element("span", { class: "tag bad" }, `does not answer: ${carrier.left_alone.join(", ")}`)
    : element("span", { class: "tag" }, "answers");
  const mean = carrier.minutes.findLast((minute) => minute.mean_ms !== null)?.mean_ms;
  const facts = [
    ["Latest answers took", mean === undefined ? "–" : `${number(Math.round(mean))} ms`],
    ["Answered, failed", `${number(carrier.answered)}, ${number(carrier.failed)}`],
    ["Age of its keys", carrier.keys_fetched_at === null ? "–" : span(Date.now() / 1000 - carrier.keys_fetched_at)],
  ];
  return element("article", { class: "card" },
    element("div", { class: "head" }, element("h3", {}, carrier.name), health),
    element("p", { class: "quiet" }, [carrier.provider, carrier.issuer].filter(Boolean).join(", ")),
    element("div", { class: "plot" }),
    element("dl", { class: "facts" },
      ...facts.flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)])));
}

function showCarriers(carriers) {
  at("carriers").replaceChildren(
    ...(carriers.length ? carriers.map(card) : [element("p", {}, "None was asked yet.")]));
  carriers.forEach((carrier, index) => drawLatency(at("carriers").children[index].querySelector(".plot"), carrier));
}

function show(status) {
  const { minutes, failures, sessions, load } = status;
  at("outcomes").replaceChildren(...outcomes.map(([name, label]) =>
    pair(label, minutes.reduce((sum, minute) => sum + minute[name], 0), name)));
  drawSignIns(at("sign-ins"), minutes);
  const busy = minutes.filter((minute) => outcomes.some(([name]) => minute[name])).reverse();
  at("minutes").replaceChildren(...(busy.length
    ? busy.map((minute) => row([minuteOf(minute.at), ...outcomes.map(([name]) => number(minute[name]))]))
    : [nothing("Nobody has signed in.", outcomes.length + 1)]));
  showCarriers(status.carriers);
  at("failures").replaceChildren(...(failures.length
    ? failures.map((failure) => row([
      utc(failure.at).slice(0, 19), failure.kind.replaceAll("_", " "), failure.provider, failure.mccmnc,
      failure.outcome, element("span", { class: "cause" }, failure.cause ?? "–"), capsuleLink(failure.capsule),
      failure.check, failure.step, element("span", { class: "ask" }, failure.ask)]))
    : [nothing("None since the start.", 10)]));
  at("sessions").replaceChildren(
    pair("Begun", sessions.started), pair("Refreshed", sessions.refreshed), pair("Signed out", sessions.signed_out),
    pair("Revoked", sessions.revoked), pair("Ended by a provider", sessions.ended_by_provider),
    pair("Ended: token used twice", sessions.reused));
  at("load").replaceChildren(
    pair("Open connections", load.connections), pair("Reads waiting", load.reads_waiting),
    pair("Writes waiting", load.writes_waiting), pair("Requests shed", load.shed),
    pair("Requests over a limit", load.rate_limited));
}

/** Writes only a changed text, so that screen readers do not repeat it. */
function tell(state, text) {
  at("live").dataset.state = state;
  if (at("live").textContent !== text) at("live").textContent = text;
}

const events = new EventSource(at("main").dataset.events);
events.addEventListener("status", (event) => {
  latest = JSON.parse(event.data);
  show(latest);
  tell("live", "Live: the page updates by itself.");
});
events.addEventListener("error", () => {
  tell("lost", events.readyState === EventSource.CLOSED
    ? "The server has ended the updates. Reload the page to start them again."
    : "The server cannot be reached. The page shows its last state. Trying again…");
});
addEventListener("resize", () => {
  if (latest) show(latest);
});
