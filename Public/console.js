// The console: a frontend on Latchkey's own origin that uses latchkey.js. Its parts are in console-….js.

import { NUMBER_REQUEST } from "./console-explain.js";
import {
  knownOperators, numberWay, operatorOfSIM, operatorTitle, operatorToken, showFallback, useNumbers, welcome,
} from "./console-number.js";
import { $, button, complain, fields, make, run, tell, whenSessionIsGone } from "./console-parts.js";
import { expectStories, hasStories, note, restore, watch, whenCalled } from "./console-trace.js";
import { configure } from "./latchkey.js";

const BASE = new URL("./", location.href).href;
/** When this tab began, in seconds. */
const SINCE = "latchkey.console.since";
const REGISTERING = "latchkey.console.registering";
/** The OpenID provider of the last sign-in in this browser, for logout at the provider. */
const PROVIDER = "latchkey.console.provider";

restore();
watch();

/** A client for one provider; all clients share the session. */
function frontend(provider, clientID) {
  return configure({
    baseURL: BASE, provider, clientID, redirectURI: BASE,
    onSignedOut() {
      signedOut("The session is over. Sign in again.");
    },
  });
}

const latchkey = frontend();
let providers = [];
let stage = null;
/** The parts for a signed-in user; loaded when there is one. */
let account = null;
let transaction = null;

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

async function showAccount(user) {
  if (!account) {
    const [loaded, receipts] = await Promise.all([
      import("./console-account.js"), import("./console-transaction.js"),
    ]);
    loaded.useAccount(stage, {
      erased: () => signedOut("The account is erased."),
      operator: (kind) => kind === "camara" ? operatorOfSIM() : {},
      operatorTitle,
    });
    receipts.useTransaction(stage);
    [account, transaction] = [loaded, receipts];
  }
  await account.showAccount(user);
}

async function signedIn(text, known) {
  const user = known ?? await latchkey.me();
  document.body.classList.add("signed-in");
  for (const id of ["sign-in", "fallback"]) $(id).hidden = true;
  const provider = providers.find(({ id }) => id === lastProvider());
  $("sign-out-everywhere").hidden = !provider;
  if (provider) $("sign-out-everywhere").textContent = `Also sign out of ${provider.name}`;
  await showAccount(user);
  tell(text);
  if (text) $("account-title").focus();
}

function signedOut(text) {
  document.body.classList.remove("signed-in");
  account?.leaveAccount();
  transaction?.leaveTransaction();
  $("sign-in").hidden = false;
  tell(text);
}

// Registration.

/** Goes to the server's own page, which shows what the provider sent. Its form returns here. */
function register() {
  sessionStorage.setItem(REGISTERING, "1");
  location.assign(new URL("register", BASE));
}

/** Whether the browser returns from that page, and the user is registered. */
function comesFromRegistration() {
  const isOurs = sessionStorage.getItem(REGISTERING) !== null;
  sessionStorage.removeItem(REGISTERING);
  return isOurs && new URL(location.href).searchParams.get("status") === "success";
}

// Signing in.

/** Signs in at a provider of verified phone numbers, without a page of the operator. */
function byNumber({ id, name, kind }) {
  const way = numberWay(name, async () => {
    lastProvider({ id, kind });
    $("fallback").hidden = true;
    const { client_id: clientID } = fields($("options-form"));
    const fallback = await frontend(id, clientID).signInWithNumber(operatorOfSIM());
    if (fallback) showFallback(fallback);
  }, (device) => latchkey.numberMethods(device), (other) => providers.find((one) => one.id === other)?.name ?? other);
  way.querySelector("button").dataset.provider = id;
  return way;
}

function enter(outcome) {
  return outcome.status === "partial" ? register() : signedIn("You are signed in.");
}

function way({ id, name, kind }) {
  const asked = () => {
    lastProvider({ id, kind });
    const { client_id: clientID, ...rest } = fields($("options-form"));
    return [frontend(id, clientID), rest];
  };
  const redirect = button(`Continue with ${name}`, async () => {
    const [page, options] = asked();
    note("GET", `/auth/${id}/start`);
    await page.signIn(options);
  }, "go");
  const popup = button("Popup", async () => {
    const [page, options] = asked();
    note("GET", `/auth/${id}/start`,
      "A separate window goes to the provider, and posts the outcome to this page only.");
    await enter(await page.signInWithPopup(options));
    await tellStories?.();
  }, "popup");
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
  const numbers = providers.filter(({ kind }) => kind === "camara");
  // Carriers come first.
  const others = providers.filter(({ kind }) => kind !== "camara")
    .sort((one, other) => (other.kind === "zenkey") - (one.kind === "zenkey"));
  const title = numbers.length && others.length ? make("h4", "others", "Other ways") : "";
  $("ways").replaceChildren(...numbers.map(byNumber), title, ...others.map(way), secondDevice ?? "");
  // The way that is tried first, and no other.
  if (!numbers.length) $("ways").querySelector("button")?.classList.add("primary");
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
}));

/** Whether the browser returns from a provider's logout; then removes the parameters from the address. */
function comesFromLogout() {
  const url = new URL(location.href);
  if (url.searchParams.get("action") !== "logout") return false;
  for (const name of ["action", "status"]) url.searchParams.delete(name);
  history.replaceState(history.state, "", url);
  return true;
}

// What happens between the servers.

/** Shows it; null if the server does not tell it. */
let tellStories = null;

/** @param {boolean} isReturning Whether the browser returns from a sign-in. */
function useStories(isReturning) {
  // Sign-ins before this tab are not shown.
  const since = Number(sessionStorage.getItem(SINCE) ?? Math.floor(Date.now() / 1000));
  sessionStorage.setItem(SINCE, String(since));
  expectStories();
  tellStories = async () => {
    const stories = await import("./console-story.js");
    await stories.tellStories({ ...stage, operators: knownOperators(), since });
  };
  whenCalled(({ method, path }) => {
    if (method === "POST" && path.startsWith("/auth/") || path.includes("-async-signin/")) tellStories();
  });
  if (isReturning || hasStories()) tellStories();
}

/** Loads what plays the app, when it is first looked at. */
function offerPhone() {
  $("phone").hidden = false;
  $("phone-more").addEventListener("toggle", async () => {
    $("phone").setAttribute("aria-busy", "true");
    try {
      (await import("./console-phone.js")).usePhone(stage);
    } finally {
      $("phone").removeAttribute("aria-busy");
    }
  }, { once: true });
}

async function begin() {
  let news = "";
  let linking = null;
  let fallback = null;
  // What this tab has started.
  const pending = JSON.parse(sessionStorage.getItem("latchkey.sign-in") ?? "null");
  const number = pending?.number;
  const isReturning = location.search !== "";
  const listing = fetch(new URL("auth/providers", BASE)).then(async (response) => [response, await response.json()]);
  // Its failure is shown below.
  listing.catch(() => {});
  try {
    if (comesFromLogout()) {
      note("GET", "/auth/…/logged-out");
      news = "You are signed out here and at the provider.";
    }
    // Its failure is shown below.
    try {
      linking = latchkey.finishLink();
    } catch (error) {
      linking = error;
    }
    if (linking) note("GET", "/auth/…/callback");
    if (number && location.search) {
      note("GET", "/operators/…/authorize");
      note("GET", "/auth/…/callback", "The browser returns from the operator. The address has only the outcome.",
        NUMBER_REQUEST);
    } else if (pending && location.search) {
      note("GET", "/auth/…/callback");
    }
    if (comesFromRegistration()) {
      note("POST", "/register");
      news = "Welcome. You are registered and signed in.";
    }
    const outcome = await latchkey.finishSignIn({
      operatorToken: async () => operatorToken((await listing)[1].demo),
    });
    if (outcome?.status === "partial") return register();
    if (outcome?.status === "fallback") fallback = outcome;
    else if (outcome) news = "You are signed in.";
  } catch (error) {
    complain($("sign-in"), error);
  }
  let answer;
  try {
    const [response, listed] = await listing;
    if (!response.ok) throw listed;
    answer = listed;
    providers = answer.providers;
    await useNumbers({ demo: answer.demo ?? null });
    showWays(providers);
  } catch (error) {
    complain($("sign-in"), error);
    return;
  }
  if (fallback) showFallback(fallback);
  if (number && news) news = welcome();
  const demo = answer.demo ?? null;
  for (const element of document.querySelectorAll(demo ? "[data-real]" : "[data-demo]")) element.hidden = true;
  const people = demo ? await (await fetch(demo.carriers_url + "/demo/people")).json() : { carriers: [] };
  stage = {
    base: BASE, latchkey, providers, demo, carriers: people.carriers,
    sessionsChanged: async () => account?.sessionsChanged(),
  };
  if (demo) useStories(isReturning);
  offerPhone();
  try {
    await signedIn(news);
    if (linking?.status === "success") tell("You can now sign in this way, too.");
    else if (linking) complain($("methods"), linking);
  } catch (error) {
    // The server asks for a session or an API key: this browser has no session.
    if (error.error === "invalid_api_key") tell(news);
    else if (error.status !== 401) complain($("sign-in"), error);
  }
}

begin();
