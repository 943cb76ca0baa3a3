// What happened between Latchkey and the carriers: each call, each check of the ID token, and the times. The server of
// a demonstration tells it.

import { make } from "./console-parts.js";
import { showStory, unwatched } from "./console-trace.js";

/** What each call is for. */
const PURPOSES = {
  discovery: "Find the carrier’s endpoints", keys: "Fetch the keys that sign its ID tokens",
  token: "Redeem the code, once", userInfo: "Read the user’s attributes",
  pushedAuthorization: "Push the authorization request", backchannelAuthentication: "Have the user asked on the phone",
  numberVerification: "Ask for the number of the connection", simSwap: "Ask whether the SIM card was changed",
  telcoFinder: "Find the operator of the number", resource: "Call an API for the user",
};

const GRANTS = {
  client_credentials: "Get a token for the server itself", refresh_token: "Refresh the carrier’s tokens",
  "urn:ietf:params:oauth:grant-type:jwt-bearer": "Exchange the operator token",
};

const OUTCOMES = {
  signed_in: "Signed in", signed_up: "Signed in for the first time", must_register: "Known to the carrier, to register",
  denied: "Denied by the user", refused_by_carrier: "Refused by the carrier",
  invalid_id_token: "Refused, because of the ID token",
  linked: "Added as a way to sign in", was_linked: "Was a way to sign in already", authorized: "Approved",
};

const MARKS = { passed: "✓", failed: "✗", not_compared: "·", not_possible: "–" };

let revision = 0;
let running = Promise.resolve();

/** Shows what has happened since the last time. One request at a time, so that nothing is shown twice. */
export function tellStories(stage) {
  running = running.then(() => ask(stage)).catch(() => {});
  return running;
}

async function ask(stage) {
  const response = await unwatched(new URL(`demo/sign-ins?after=${revision}`, stage.base));
  if (!response.ok) return;
  const { revision: latest, sign_ins: all } = await response.json();
  // A server that was started again counts from zero.
  const isNew = latest < revision;
  revision = isNew ? 0 : latest;
  if (isNew) return ask(stage);
  for (const story of all) if (story.at >= stage.since) showStory(story.id, ...parts(story, stage));
}

/** Without long ids, which say nothing to a reader. */
const short = (text) => text.replace(/[\w-]{30,}/g, (long) => long.slice(0, 6) + "…");

/** Whose call it is: the simulator’s paths name carriers, operators and providers. */
function nameOf(url, { carriers, operators, providers }) {
  const { host, pathname } = new URL(url);
  const [, kind, id] = pathname.split("/");
  if (kind === "carriers") return carriers.find(({ mccmnc }) => mccmnc === id)?.name ?? host;
  if (kind === "operators") return operators.find(({ name }) => name === id)?.title ?? host;
  if (kind === "providers") return providers.find((one) => one.id === id)?.name ?? host;
  return "the carriers’ discovery";
}

function parts(story, stage) {
  const { calls, checks, outcome } = story;
  const who = calls.length ? nameOf(calls.at(-1).url, stage) : "the carrier";
  const isRefused = outcome?.is_refused ?? false;
  const title = outcome ? OUTCOMES[outcome.name] ?? `Refused: ${outcome.name}` : "Under way";
  const steps = (outcome?.steps ?? []).map(({ name, ms }) => `${name} ${ms}`).join(" · ");
  return [
    make("div", "from", `Latchkey ⇄ ${who}`),
    make("p", "told", make("b", "", title),
      outcome ? make("span", isRefused ? "status refused" : "status", `${outcome.ms} ms`) : null),
    steps ? make("p", "times", `Milliseconds by step: ${steps}.` +
      (isRefused && outcome.failed_step ? ` It failed in ${outcome.failed_step}.` : "")) : null,
    calls.length ? make("ol", "hops", ...calls.map(hop)) : null,
    checks ? verdicts(checks) : null,
  ].filter(Boolean);
}

function hop(call) {
  const grant = call.sent.find(([name]) => name === "grant_type")?.[1];
  const isRefused = !call.status || call.status >= 400;
  const lines = (pairs) => make("pre", "", make("code", "", pairs.map(([name, text]) =>
    `${short(name)}: ${short(text)}`).join("\n")));
  return make("li", "",
    make("p", "", GRANTS[grant] ?? PURPOSES[call.step] ?? "Ask"),
    make("p", "hop", make("span", "method", call.method), make("span", "", short(new URL(call.url).pathname)),
      make("span", isRefused ? "status refused" : "status", `${call.status ?? call.failed} · ${call.ms} ms`)),
    make("details", "", make("summary", "", "Sent and received"),
      call.sent.length ? make("h4", "", "Sent") : null, call.sent.length ? lines(call.sent) : null,
      call.received?.length ? make("h4", "", "Received") : null, call.received?.length ? lines(call.received) : null));
}

function verdicts(checks) {
  const failed = checks.filter(({ verdict }) => verdict === "failed");
  const passed = checks.filter(({ verdict }) => verdict === "passed").length;
  const rest = checks.length - passed - failed.length;
  const list = make("ul", "checks", ...checks.map(({ name, verdict, found, demand }) => make("li", verdict,
    make("span", "verdict", MARKS[verdict]), make("span", "", make("b", "", name), ` ${verdict.replace("_", " ")}: `,
      short(verdict === "failed" ? `${demand} Found: ${found}` : found)))));
  const more = make("details", "", make("summary", "", failed.length
    ? `ID token: ${failed.map(({ name }) => name).join(", ")} failed, ${passed} checks passed`
    : `ID token: all ${passed} checks passed` + (rest ? `; ${rest} had nothing to compare` : "")), list);
  more.open = failed.length > 0;
  return more;
}
