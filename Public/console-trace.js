// Shows the calls of the page, with their purpose, request and response. Secrets are shortened before a call is
// stored. The browser deletes the stored calls when the tab is closed.

import { explain } from "./console-explain.js";
import { make } from "./console-parts.js";

const KEPT = "latchkey.console.calls";
const LIMIT = 40;

/** Fields with secrets: codes, tokens, keys. */
const SECRET = new Set([
  "token", "access_token", "refresh_token", "id_token", "code", "code_verifier", "state_key", "session_id",
  "auth_req_id", "receipt", "api_key", "x-api-key", "authorization", "nonce", "state", "sub", "login_hint_token",
  "operator_token",
]);

/** Fields that the server stores encrypted only. Nothing of them is stored here. */
const SENSITIVE = new Set(["address", "birthdate", "last_4_social", "proofing"]);

/** The request fields that are shown. */
const HEADERS = ["authorization", "x-api-key", "content-type", "accept"];

const ANSWER_HEADERS = ["www-authenticate", "retry-after", "location", "cache-control", "x-request-id"];

/** What the page asks for itself. It is folded into one line. */
const UPKEEP = /^\/(auth\/(providers|number\/methods)|demo\/(device|people)|users\/me(\/sessions|\/identities)?)$/;

const list = document.getElementById("trace");
const clear = document.getElementById("trace-clear");
const said = document.getElementById("trace-said");
let calls = [];
let heard = null;

/** The browser's own fetch, whose calls are not shown. */
export const unwatched = globalThis.fetch.bind(globalThis);

/** Sets what to do after a call that is shown. */
export function whenCalled(action) {
  heard = action;
}

/** A secret's first characters: enough to recognize it and to tell it from others. */
export function shortened(text) {
  return text.length <= 8 ? "…" : `${text.slice(0, 6)}… (${text.length} characters)`;
}

/** A URL without the secrets of its query. */
function tidyQuery(url) {
  return url.replace(/(=)([^=&]{24,})/g, (_, sign, text) => sign + text.slice(0, 6) + "…");
}

function tidy(value, name = "") {
  if (SENSITIVE.has(name) && value !== null) return "…";
  if (Array.isArray(value)) return value.map((item) => tidy(item));
  if (value && typeof value === "object") {
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, tidy(item, key)]));
  }
  if (typeof value !== "string") return value;
  if (name === "location") return tidyQuery(value);
  if (!SECRET.has(name.toLowerCase())) return value;
  return value.startsWith("Bearer ") ? "Bearer " + shortened(value.slice(7)) : shortened(value);
}

function headers(all, names) {
  return names.filter((name) => all.has(name)).map((name) => `${name}: ${tidy(all.get(name), name)}`);
}

async function text(message) {
  const content = await message.text().catch(() => "");
  if (!content) return "";
  try {
    return JSON.stringify(tidy(JSON.parse(content)), null, 2);
  } catch {
    if (!(message.headers.get("content-type") ?? "").includes("form")) return content.slice(0, 400);
    return [...new URLSearchParams(content)].map(([name, value]) => `${name}=${tidy(value, name)}`).join("\n");
  }
}

function where(url) {
  const { origin, pathname, search } = new URL(url, location.href);
  // The handle of a sign-in on the phone can be exchanged for a session.
  const path = pathname.replace(/(\/zenkey-async-signin\/)(.+)$/, (_, start, handle) => start + shortened(handle));
  return { at: origin === location.origin ? "" : origin, path: path + tidyQuery(search) };
}

function add(call) {
  calls.unshift(call);
  calls.length = Math.min(calls.length, LIMIT);
  keep();
  show(call, true);
  return call;
}

function keep() {
  try {
    sessionStorage.setItem(KEPT, JSON.stringify(calls));
  } catch {
    // Without storage the list ends with the page.
  }
}

/** Records every later call of the page's scripts. */
export function watch() {
  globalThis.fetch = async (input, init) => {
    const request = new Request(input, init);
    const copy = request.clone();
    const call = add({
      from: "this page", method: request.method, ...where(request.url), sent: headers(request.headers, HEADERS),
    });
    const body = text(copy);
    try {
      const response = await unwatched(request);
      const answer = response.clone();
      finish(call, answer, body);
      return response;
    } catch (error) {
      call.failed = true;
      call.body = await body;
      changed(call);
      throw error;
    }
  };
}

async function finish(call, answer, body) {
  call.status = answer.status;
  call.answered = headers(answer.headers, ANSWER_HEADERS);
  changed(call);
  call.body = await body;
  call.answer = (answer.headers.get("content-type") ?? "").includes("html") ? "" : await text(answer);
  changed(call);
  if (!isUpkeep(call)) said.textContent = `${call.method} ${call.path.split("?")[0]}: ${call.status}`;
  heard?.(call);
}

function isUpkeep({ method, path, sent }) {
  return method === "GET" && UPKEEP.test(path.split("?")[0]) && !sent?.some((line) => line.startsWith("x-api-key"));
}

/** Records a navigation of the browser, which no script can observe. */
export function note(method, path, why, behind) {
  add({ from: "this browser", method, at: "", path, why, behind });
}

function changed(call) {
  keep();
  call.item?.replaceChildren(...content(call));
}

function show(call, isNew) {
  if (call.story || !isUpkeep(call)) document.getElementById("trace-empty").hidden = true;
  clear.hidden = false;
  const item = make("li", "", ...content(call));
  // Not stored with the rest.
  Object.defineProperty(call, "item", { value: item, configurable: true, enumerable: false });
  if (call.story) item.className = "story";
  if (!call.story && isUpkeep(call)) fold(item, isNew);
  else if (isNew) list.prepend(item);
  else list.append(item);
  while (list.children.length > LIMIT) list.lastElementChild.remove();
}

/** Adds an item to the line of folded ones beside it, or to a new one. */
function fold(item, isNew) {
  let beside = isNew ? list.firstElementChild : list.lastElementChild;
  if (!beside?.matches(".upkeep")) {
    beside = make("li", "upkeep", make("details", "", make("summary"), make("ol")));
    if (isNew) list.prepend(beside);
    else list.append(beside);
  }
  const all = beside.querySelector("ol");
  if (isNew) all.prepend(item);
  else all.append(item);
  const count = all.children.length;
  beside.querySelector("summary").textContent = count === 1 ? "1 call for the page itself"
    : `${count} calls for the page itself`;
}

/** Whether sign-ins were told in this tab. */
export const hasStories = () => calls.some(({ story }) => story);

/** Shows what happened in a sign-in, in place of what was known of it before. */
export function showStory(id, ...parts) {
  const { item } = calls.find(({ story }) => story === id) ?? add({ story: id });
  item.replaceChildren(...parts);
}

function block(title, lines) {
  const code = lines.filter(Boolean).join("\n");
  return code ? [make("h4", "", title), make("pre", "", make("code", "", code))] : [];
}

function content(call) {
  if (call.story) return [];
  const told = explain(call);
  const behind = call.behind ?? told.behind;
  const status = call.failed ? "no response" : call.status;
  const isRefused = call.failed || call.status >= 400;
  const more = [
    ...block("Request", [...(call.sent ?? []), call.body && "", call.body]),
    ...block("Response", [...(call.answered ?? []), call.answer && "", call.answer]),
  ];
  return [
    make("div", "from", call.at ? `${call.from} → ${call.at}` : call.from),
    make("p", "call", make("span", "method", call.method), make("span", "", call.path.split("?")[0]),
      status ? make("span", isRefused ? "status refused" : "status", String(status)) : null),
    make("p", "why", (call.why ?? told.why) + " ", told.source ? make("span", "source", told.source) : null),
    behind.length && !isRefused && !tellsStories
      ? make("details", "", make("summary", "", "Calls between servers"),
        make("ul", "behind", ...behind.map((line) => make("li", "", line)))) : null,
    more.length ? make("details", "", make("summary", "", "Request and response"), ...more) : null,
  ].filter(Boolean);
}

let tellsStories = false;

/** The server tells what happens between it and the carriers, in place of what should happen. */
export function expectStories() {
  tellsStories = true;
  for (const call of calls) if (!call.story) call.item.replaceChildren(...content(call));
}

/** Shows the calls that the tab recorded before it went to a provider and returned. */
export function restore() {
  try {
    calls = JSON.parse(sessionStorage.getItem(KEPT) ?? "[]").slice(0, LIMIT);
  } catch {
    calls = [];
  }
  for (const call of calls) show(call, false);
  clear.addEventListener("click", () => {
    calls = [];
    keep();
    list.replaceChildren();
    clear.hidden = true;
    document.getElementById("trace-empty").hidden = false;
    document.getElementById("trace-title").focus();
  });
}
