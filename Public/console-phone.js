// Plays an app on a phone: it has an API key, posts the code from the carrier, and keeps its tokens itself.

import { $, carrier, choose, complain, facts, fields, make, run, tell } from "./console-parts.js";
import { shortened } from "./console-trace.js";
import { LatchkeyError } from "./latchkey.js";

let stage = null;
/** The `state_key` of the user who must register. */
let registering = null;
let apiKey = "";
let tokens = null;
let spent = null;
let asking = null;

export function usePhone(all) {
  stage = all;
  const form = $("code-form");
  if (!stage.demo) {
    $("code-fields").open = true;
    return;
  }
  form.elements.api_key.value = stage.demo.api_key;
  form.elements.client_id.value = "demo-app";
  choose(stage.carriers, form.elements.carrier, form.elements.person);
  const [{ mccmnc, users }] = stage.carriers;
  $("ask-form").elements.login_hint.value = users[0].phone_number;
  $("ask-form").elements.mccmnc.value = mccmnc;
}

/** Sends a request as an app does: with the key and the tokens, without cookies. */
async function ask(method, path, body) {
  const headers = { "X-API-KEY": apiKey };
  if (tokens) headers.Authorization = "Bearer " + tokens.token;
  if (body) headers["Content-Type"] = "application/json";
  let response;
  try {
    response = await fetch(new URL(path.slice(1), stage.base), {
      method, headers, credentials: "omit", body: body && JSON.stringify(body),
    });
  } catch {
    throw new LatchkeyError({ error: "network_failure", error_description: "There was no response." });
  }
  const answer = await response.json();
  // The error response also has the values for a registration form.
  if (!response.ok) throw Object.assign(new LatchkeyError(answer, response.status, response.headers), { answer });
  return answer;
}

$("get-code").addEventListener("click", () => run($("get-code"), async () => {
  const form = $("code-form");
  const { carrier: mccmnc, person: user } = fields(form);
  const code = await carrier(stage, "/demo/codes", { mccmnc, user });
  for (const name of ["client_id", "code", "mccmnc", "code_verifier", "nonce", "redirect_uri"]) {
    form.elements[name].value = code[name] ?? "";
  }
  $("code-fields").open = true;
  tell("The app has a code. Sign in with it, or change a field to see it refused.");
}));

$("code-form").addEventListener("submit", (event) => {
  event.preventDefault();
  run(event.submitter, async () => {
    const { carrier: _, person: __, api_key: key, ...body } = fields(event.target);
    apiKey = key;
    await entering(() => ask("POST", "/auth/zenkey-signin", body));
  });
});

/** Signs the app in, or starts the registration of its user. */
async function entering(call) {
  tokens = null;
  try {
    await enter(await call());
  } catch (error) {
    if (error?.error !== "user_not_registered") throw error;
    offerRegistration(error.answer);
  }
}

/** Shows the app's form, with what the error response has for it. */
function offerRegistration({ zenkey_attributes: given = {}, state_key, missing }) {
  const attributes = {
    name: given.name?.value, email: given.email?.value, phone_number: given.phone?.value,
    postal_code: given.postal_code?.value,
  };
  registering = state_key;
  $("phone-out").hidden = true;
  $("phone-register").hidden = false;
  const form = $("register-form");
  form.reset();
  for (const label of form.querySelectorAll("label")) {
    const input = label.querySelector("input");
    label.querySelector(".given")?.remove();
    const value = attributes[input.name];
    input.required = missing?.includes(input.name) ?? false;
    if (!value) continue;
    input.value = value;
    label.firstChild.after(make("span", "given", " · from the carrier"));
  }
  $("phone-register-title").focus();
}

$("register-form").addEventListener("submit", (event) => {
  event.preventDefault();
  run(event.submitter, async () => {
    await enter(await ask("POST", "/auth/register", { ...fields(event.target), state_key: registering }));
  });
});

$("register-leave").addEventListener("click", () => leave(""));

async function enter(answer) {
  tokens = answer;
  showTokens();
  registering = null;
  $("phone-out").hidden = $("phone-register").hidden = true;
  $("phone-in").hidden = false;
  tell(answer.new_user ? "The app has signed in a new user." : "The app has signed in its user.");
  $("phone-in-title").focus();
  await stage.sessionsChanged();
}

function showTokens(user) {
  facts($("phone-facts"), [
    ["Token", make("code", "", shortened(tokens.token))],
    ["Refresh token", make("code", "", shortened(tokens.refresh_token))],
    ["Expires in", `${tokens.expires} s`],
    ["User", user ? `${user.user_id}${user.name ? `, ${user.name}` : ""}` : null],
  ]);
  $("phone-reuse").hidden = !spent;
}

function leave(text) {
  tokens = spent = registering = null;
  $("phone-in").hidden = $("phone-register").hidden = true;
  $("phone-out").hidden = false;
  tell(text);
}

$("phone-me").addEventListener("click", () => run($("phone-me"), async () => {
  showTokens(await ask("GET", "/users/me"));
}));

$("phone-refresh").addEventListener("click", () => run($("phone-refresh"), async () => {
  const { refresh_token } = tokens;
  tokens = await ask("POST", "/auth/token", { grant_type: "refresh_token", refresh_token });
  // In the grace period the last spent token gets the same tokens again; only an older one is treated as reuse.
  spent = spent ?? { refresh_token, isLast: true };
  spent.isLast = spent.refresh_token === refresh_token;
  showTokens();
  tell("New tokens. The old refresh token is spent.");
}));

$("phone-reuse").addEventListener("click", () => run($("phone-reuse"), async () => {
  const { isLast, refresh_token } = spent;
  try {
    await ask("POST", "/auth/token", { grant_type: "refresh_token", refresh_token });
    tell(isLast ? "The same tokens again, because a response can get lost. Refresh once more, then try again." : "");
  } catch (error) {
    if (error.error === "invalid_grant") {
      leave("A spent token was used again, so the session has ended.");
    }
    throw error;
  }
}));

$("phone-sign-out").addEventListener("click", () => run($("phone-sign-out"), async () => {
  await ask("DELETE", "/auth/token");
  leave("The app is signed out.");
  await stage.sessionsChanged();
}));

// Backchannel authentication.

function endAsking(text) {
  clearTimeout(asking?.timer);
  asking = null;
  $("asked").hidden = true;
  if (text) tell(text);
}

$("ask-form").addEventListener("submit", (event) => {
  event.preventDefault();
  run(event.submitter, async () => {
    const key = $("code-form").elements;
    apiKey = key.api_key.value.trim();
    tokens = null;
    const redirect_uri = key.redirect_uri.value.trim() || "https://app.example/callback";
    const body = {
      ...fields(event.target), client_id: key.client_id.value.trim(), scope: "openid name email", redirect_uri,
    };
    const answer = await ask("POST", "/auth/zenkey-async-signin", body);
    asking = { handle: answer.auth_req_id, mccmnc: body.mccmnc };
    $("asked").hidden = false;
    $("asked-state").textContent = `Waiting for the user, at most ${answer.expires_in} s.`;
    poll(asking);
  });
});

/** Polls every 1.5 seconds; the server refuses more than one poll per second. */
function poll(own) {
  own.timer = setTimeout(async () => {
    if (asking !== own) return;
    try {
      await entering(async () => {
        const got = await ask("GET", "/auth/zenkey-async-signin/" + encodeURIComponent(own.handle));
        if (!got.token) throw null;
        return got;
      });
      endAsking();
    } catch (error) {
      if (error === null) return poll(own);
      endAsking();
      complain($("phone"), error);
    }
  }, 1500);
}

for (const [id, answer] of [["approve", "approve"], ["deny", "deny"]]) {
  $(id).addEventListener("click", () => run($(id), () =>
    carrier(stage, `/carriers/${asking.mccmnc}/server-initiated/latest/${answer}`, {})));
}

$("cancel-asking").addEventListener("click", () => run($("cancel-asking"), async () => {
  const { handle } = asking;
  endAsking("The request is cancelled.");
  await ask("DELETE", "/auth/zenkey-async-signin/" + encodeURIComponent(handle));
}));
