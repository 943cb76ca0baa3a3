// The console: a frontend on Latchkey's own origin that uses latchkey.js. Its parts are in console-….js.

import { leaveAccount, showAccount, useAccount } from "./console-account.js";
import { $, button, complain, fields, make, run, tell, whenSessionIsGone } from "./console-parts.js";
import { usePhone } from "./console-phone.js";
import { note, restore, watch } from "./console-trace.js";
import { useTransaction } from "./console-transaction.js";
import { configure } from "./latchkey.js";

const BASE = new URL("./", location.href).href;
/** Set if this browser had a session at its last visit; only then does the page request the user. */
const KNOWN = "latchkey.console.known";
const LINKING = "latchkey.console.linking";
/** The OpenID provider of the last sign-in in this browser, for logout at the provider. */
const PROVIDER = "latchkey.console.provider";

restore();
watch();

/** A client for one provider; all clients share the session. */
function frontend(provider, clientId) {
  return configure({
    baseURL: BASE, provider, clientId, redirectURI: BASE,
    onSignedOut() {
      signedOut("The session is over. Sign in again.");
    },
  });
}

const latchkey = frontend();
let providers = [];

function remember(isKnown) {
  try {
    if (isKnown) localStorage.setItem(KNOWN, "1");
    else localStorage.removeItem(KNOWN);
  } catch {
    // Without storage the page shows the ways to sign in.
  }
}

/** Stores the provider of a sign-in, or returns the stored one. Carriers have no logout. */
function lastProvider(provider) {
  try {
    if (provider?.kind === "oidc") localStorage.setItem(PROVIDER, provider.id);
    else if (provider) localStorage.removeItem(PROVIDER);
    return localStorage.getItem(PROVIDER);
  } catch {
    return null;
  }
}

function isKnown() {
  try {
    return localStorage.getItem(KNOWN) === "1" || location.hash === "#account";
  } catch {
    return location.hash === "#account";
  }
}

async function signedIn(text) {
  remember(true);
  for (const id of ["sign-in", "register"]) $(id).hidden = true;
  const provider = providers.find(({ id }) => id === lastProvider());
  $("sign-out-everywhere").hidden = !provider;
  if (provider) $("sign-out-everywhere").textContent = `Also sign out of ${provider.name}`;
  await showAccount();
  tell(text);
  if (text) $("account-title").focus();
}

function signedOut(text) {
  remember(false);
  leaveAccount();
  $("register").hidden = true;
  $("sign-in").hidden = false;
  tell(text);
}

// Registration, for the page or the app.

let registering = null;

/**
 * @param {{ attributes: Record<string, string>, missing?: string[], why: string,
 *   register: (all: object) => Promise<void> }} offer
 */
function offerRegistration(offer) {
  registering = offer;
  $("sign-in").hidden = true;
  $("register").hidden = false;
  $("register-why").textContent = offer.why;
  const form = $("register-form");
  form.reset();
  for (const label of form.querySelectorAll("label")) {
    const input = label.querySelector("input");
    label.querySelector(".given")?.remove();
    const value = offer.attributes[input.name];
    input.required = offer.missing?.includes(input.name) ?? false;
    if (!value) continue;
    input.value = value;
    label.firstChild.after(make("span", "given", " · from the carrier"));
  }
  $("register-title").focus();
}

$("register-form").addEventListener("submit", (event) => {
  event.preventDefault();
  run(event.submitter, async () => {
    await registering.register(fields(event.target));
    leaveRegistration();
  });
});

function leaveRegistration() {
  registering = null;
  $("register").hidden = true;
  $("sign-in").hidden = !$("account").hidden;
}

$("register-leave").addEventListener("click", leaveRegistration);

function partial(outcome) {
  offerRegistration({
    attributes: { email: outcome.identifier },
    why: "The carrier has identified you, but you have no account here yet. Your data stays on this server.",
    async register(attributes) {
      await latchkey.register(outcome, attributes);
      await signedIn("Welcome. You are registered and signed in.");
    },
  });
}

// Signing in.

function enter(outcome) {
  return outcome.status === "partial" ? partial(outcome) : signedIn("You are signed in.");
}

function way({ id, name, kind }) {
  const asked = () => {
    lastProvider({ id, kind });
    const { client_id: clientId, ...rest } = fields($("options-form"));
    return [frontend(id, clientId), rest];
  };
  const redirect = button(`Continue with ${name}`, async () => {
    const [page, options] = asked();
    note("GET", `/auth/${id}/start`);
    await page.signIn(options);
  }, "primary");
  const popup = button("In a popup", async () => {
    const [page, options] = asked();
    note("GET", `/auth/${id}/start`,
      "A separate window goes to the provider, and posts the outcome to this page only.");
    await enter(await page.signInWithPopup(options));
  });
  popup.setAttribute("aria-label", `${name}, in a popup`);
  redirect.dataset.provider = popup.dataset.provider = id;
  redirect.dataset.kind = kind;
  return make("div", "provider", redirect, popup);
}

function showWays(providers) {
  const elsewhere = providers.map(({ start_url }) => new URL(start_url).origin)
    .find((origin) => origin !== location.origin);
  if (elsewhere) {
    const link = make("a", "", elsewhere + "/");
    link.href = elsewhere + "/";
    $("ways").replaceChildren(make("p", "note", "The address of this server is ", link,
      ". Cookies and redirects work only there. Open the page under that address."));
    return;
  }
  const secondDevice = providers.some(({ kind }) => kind === "zenkey")
    ? make("p", "quiet", "On a computer or tablet, choose “My phone is elsewhere” at the carrier. " +
      "It shows a number to type on your phone.")
    : null;
  // Carriers come first.
  const inOrder = [...providers].sort((one, other) => (other.kind === "zenkey") - (one.kind === "zenkey"));
  $("ways").replaceChildren(...inOrder.map(way), secondDevice ?? "");
  $("options").hidden = false;
}

whenSessionIsGone(() => signedOut("The session in this browser has ended. Sign in again."));

$("sign-out").addEventListener("click", () => run($("sign-out"), async () => {
  await latchkey.signOut();
  signedOut("You are signed out.");
  $("sign-in").querySelector("button")?.focus();
}));

$("sign-out-everywhere").addEventListener("click", () => run($("sign-out-everywhere"), async () => {
  await frontend(lastProvider()).signOutAtProvider();
  remember(false);
}));

/** Whether the browser returns from a provider's logout; then removes the parameters from the address. */
function comesFromLogout() {
  const url = new URL(location.href);
  if (url.searchParams.get("action") !== "logout") return false;
  for (const name of ["action", "status"]) url.searchParams.delete(name);
  history.replaceState(history.state, "", url);
  return true;
}

/**
 * Returns the outcome of adding a way to sign in, if this tab started it. Always removes the parameters from the
 * address.
 */
function linkOutcome() {
  const url = new URL(location.href);
  if (url.searchParams.get("action") !== "link") return null;
  const outcome = Object.fromEntries(url.searchParams);
  for (const name of ["action", "status", "message", "error", "error_description", "tracking_id", "correlation_id"]) {
    url.searchParams.delete(name);
  }
  history.replaceState(history.state, "", url);
  const isOurs = sessionStorage.getItem(LINKING) !== null;
  sessionStorage.removeItem(LINKING);
  return isOurs ? outcome : null;
}

async function begin() {
  let news = "";
  let linked = null;
  try {
    if (comesFromLogout()) {
      note("GET", "/auth/…/logged-out");
      news = "You are signed out here and at the provider.";
    }
    linked = linkOutcome();
    if (linked) note("GET", "/auth/…/callback");
    if (sessionStorage.getItem("latchkey.sign-in") && location.search) note("GET", "/auth/…/callback");
    const outcome = await latchkey.finishSignIn();
    if (outcome?.status === "partial") partial(outcome);
    else if (outcome) {
      remember(true);
      news = "You are signed in.";
    }
  } catch (error) {
    complain($("sign-in"), error);
  }
  let answer;
  try {
    const response = await fetch(new URL("auth/providers", BASE));
    answer = await response.json();
    if (!response.ok) throw answer;
    providers = answer.providers;
    showWays(providers);
  } catch (error) {
    complain($("sign-in"), error);
    return;
  }
  const demo = answer.demo ?? null;
  for (const element of document.querySelectorAll(demo ? "[data-real]" : "[data-demo]")) element.hidden = true;
  const people = demo ? await (await fetch(demo.carriers_url + "/demo/people")).json() : { carriers: [] };
  const stage = { base: BASE, latchkey, providers: answer.providers, demo, carriers: people.carriers };
  useAccount(stage, {
    erased: () => signedOut("The account is erased."),
    linking: (provider) => {
      sessionStorage.setItem(LINKING, provider);
    },
  });
  usePhone(stage, offerRegistration);
  useTransaction(stage);
  if (!isKnown()) return tell(news);
  try {
    await signedIn(news);
    if (linked?.status === "success") tell("You can now sign in this way, too.");
    if (linked?.status === "failure") complain($("methods"), { ...linked, error_type: "requestDenied" });
  } catch (error) {
    if (error.error === "invalid_api_key") signedOut("");
    else if (error.status !== 401) complain($("sign-in"), error);
  }
}

begin();
