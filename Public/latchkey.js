// The browser client of Latchkey, a module without dependencies: see docs/web-frontends.md. The documentation of its
// functions is in latchkey.d.ts, where editors read it.

const PENDING = "latchkey.sign-in";
const VERIFYING = "latchkey.verification";
const LINKING = "latchkey.link";
const VERIFICATIONS = "/users/me/phone/verifications";
const TOKENS = "latchkey.tokens";
const REFRESHED = "latchkey.refreshed";

const OPTIONS = [
  "baseURL", "clientID", "apiKey", "provider", "redirectURI", "trustedOrigins", "storage", "dpop", "onSignedOut",
];

/** A pending sign-in, link or verification is forgotten after this time, in milliseconds. */
const PENDING_FOR = 15 * 60_000;

/** A token that expires sooner, in milliseconds, is refreshed before use. */
const MARGIN = 10_000;

/** The refusals of devices and operators, after which another way by number may succeed (docs/verified-numbers.md). */
const OF_DEVICES = [
  "not_on_mobile_network", "operator_unknown", "consent_required", "carrier_error", "carrier_timeout",
  "temporarily_unavailable", "invalid_grant", "issuer_mismatch", "request_denied", "credential_invalid",
  "invalid_id_token", "aggregator_error",
];

/** Those that are about the user, after which only another provider may. */
const ABOUT_USER = ["sim_swapped", "access_denied", "user_already_exists"];

/** The tokens of a device, by the name of their way: what gets one, and the field that the API takes it in. */
const DEVICE_TOKENS = {
  operator_token: { gets: "operatorToken", field: "operator_token" },
  firebase_pnv: { gets: "firebaseToken", field: "token" },
};

/** A failure, with the fields of Latchkey's error responses. */
export class LatchkeyError extends Error {
  constructor(answer, status = 0, headers) {
    super(answer.message ?? answer.error_description ?? answer.error);
    this.name = "LatchkeyError";
    this.error = answer.error;
    this.error_description = answer.error_description ?? "";
    this.error_type = answer.error_type ?? "unknownError";
    this.correlation_id = answer.correlation_id;
    this.request_id = answer.request_id;
    this.status = status;
    this.retry_after = Number(headers?.get("Retry-After") ?? undefined) || undefined;
    // Not enumerable, because the handle is a secret.
    Object.defineProperty(this, "stateKey", { value: answer.state_key });
    Object.defineProperty(this, "identifier", { value: answer.zenkey_attributes?.email?.value ?? "" });
  }
}

export function configure(options) {
  return new Latchkey(options);
}

export class Latchkey {
  #options;
  #base;
  #origin;
  #byCookie;
  #tokens = null;
  #refreshing = null;

  constructor(options = {}) {
    const unknown = Object.keys(options).filter((name) => !OPTIONS.includes(name));
    if (unknown.length) throw own("unknown_option", `configure() does not know ${unknown.join(", ")}.`);
    this.#options = { provider: "zenkey", redirectURI: location.origin + location.pathname, ...options };
    const base = new URL(options.baseURL ?? location.origin, location.href);
    this.#base = base.href.replace(/\/$/, "");
    this.#origin = base.origin;
    this.#byCookie = base.origin === location.origin;
  }

  async signIn({ appState, ...asked } = {}) {
    const { url, pending } = await this.#start(this.#byCookie ? "web" : "spa", asked);
    keepPending(PENDING, { ...pending, appState });
    location.assign(url);
  }

  async signInWithNumber({ operator, mccmnc, appState, ...ways } = {}) {
    // If the server cannot tell the ways, there are the other providers.
    const asked = await orFallback({ mccmnc }, () => this.#waysOf({ operator, mccmnc, ...ways }));
    if (asked.status === "fallback") return { ...asked, appState };
    const { methods, fallback, refusal } = asked;
    let ended = fallbackAfter(refusal, { mccmnc, providers: fallback });
    for (const method of methods) {
      const number = { ...method, mccmnc, providers: fallback };
      const tried = await orFallback(number, () => this.#prove(number, ways, appState));
      if (tried === undefined) return undefined;
      if (tried === null) continue;
      if (tried.status !== "fallback") return { ...tried, appState };
      ended = tried;
      if (!OF_DEVICES.includes(tried.reason)) break;
    }
    return { ...ended, next: "other", appState };
  }

  async numberMethods({ mccmnc, platform = "web" } = {}) {
    const query = new URLSearchParams({ platform, ...(mccmnc && { mccmnc }) });
    return this.#call("GET", `/auth/number/methods?${query}`);
  }

  async nonce(provider) {
    return (await this.#call("POST", pathOf(provider, "attempts"), this.#forPage({}))).nonce;
  }

  async signInNatively(provider, token) {
    return this.#enterOrRegister(pathOf(provider, "native"), token);
  }

  async signInWithOperatorToken(operatorToken, { operator, mccmnc } = {}) {
    const { provider } = this.#options;
    return this.#enterBySIM({ provider, operator, mccmnc }, operatorToken);
  }

  async finishSignIn({ operatorToken } = {}) {
    const outcome = takeOutcome();
    const pending = outcome && takePending(PENDING);
    if (!pending) return null;
    const { number, appState } = pending;
    if (!number) return { ...(await this.#finish(outcome, pending)), appState };
    const ended = await orFallback(number, () => this.#finish(outcome, pending));
    const token = ended.next === "operator-token" ? await operatorToken?.(operatorOf(number)) : null;
    return { ...(token ? await this.#enterBySIM(number, token) : ended), appState };
  }

  async signInWithPopup({ appState, ...asked } = {}) {
    const popup = window.open("", "_blank", "popup,width=480,height=720");
    if (!popup) {
      throw own("popup_blocked", "The browser blocked the window. Ask the user to allow it, or use signIn().");
    }
    try {
      const { url, pending } = await this.#start("popup", asked);
      popup.location.replace(url);
      return { ...(await this.#finish(await outcomeOf(popup, this.#origin), pending)), appState };
    } finally {
      popup.close();
    }
  }

  async register({ state_key, code_verifier }, attributes) {
    await this.#enter("/auth/register", { ...attributes, state_key, code_verifier });
  }

  async fetch(input, init) {
    const isPath = typeof input === "string" && input.startsWith("/");
    const request = new Request(isPath ? this.#base + input : input, init);
    const { origin } = new URL(request.url);
    if (origin !== this.#origin && !this.#options.trustedOrigins?.includes(origin)) {
      throw own("untrusted_origin", "The session is sent to Latchkey and to trustedOrigins only.");
    }
    if (this.#byCookie) return this.#twice(request, (again) => fetch(again));
    return this.#twice(request, async (again, { token, isBound }) => {
      again.headers.set("Authorization", `${isBound ? "DPoP" : "Bearer"} ${token}`);
      if (origin === this.#origin && this.#options.apiKey) again.headers.set("X-API-KEY", this.#options.apiKey);
      return fetch(await this.#proved(again, token), { credentials: "omit" });
    });
  }

  async me() {
    return this.#ask("GET", "/users/me");
  }

  async updateMe(changes) {
    return this.#ask("PATCH", "/users/me", changes);
  }

  async sessions() {
    return (await this.#ask("GET", "/users/me/sessions")).sessions;
  }

  async revokeSession(id) {
    await this.#ask("DELETE", "/users/me/sessions/" + encodeURIComponent(id));
  }

  async revokeOtherSessions() {
    return (await this.#ask("DELETE", "/users/me/sessions")).revoked;
  }

  async eraseAccount() {
    await this.#ask("DELETE", "/users/me");
    this.#keep(null);
  }

  async identities() {
    return (await this.#ask("GET", "/users/me/identities")).identities;
  }

  async unlinkIdentity(id) {
    await this.#ask("DELETE", "/users/me/identities/" + encodeURIComponent(id));
  }

  async linkIdentity(provider, { appState, ...asked } = {}) {
    if (!this.#byCookie) {
      throw own("foreign_origin", "Only a page of Latchkey's own origin can link identities.");
    }
    const fields = {
      ...asked, client_type: "web", redirect_uri: this.#options.redirectURI, client_id: this.#clientAt(provider),
    };
    const started = await this.#ask("POST", pathOf(provider, "link"), fields);
    keepPending(LINKING, { appState });
    location.assign(started.location);
  }

  finishLink() {
    const outcome = takeFromAddress(["link"], ["tracking_id"]);
    const pending = outcome && takePending(LINKING);
    if (!pending) return null;
    if (outcome.status !== "success") throw failureOf(outcome);
    return { status: "success", appState: pending.appState };
  }

  async linkWithOperatorToken(operatorToken, { operator, mccmnc } = {}) {
    const { provider } = this.#options;
    return this.#ask("POST", "/users/me/identities", { provider, operator, mccmnc, operator_token: operatorToken });
  }

  async signOut() {
    try {
      await this.#ask("DELETE", "/auth/token");
    } catch (error) {
      if (error.status !== 401) throw error;
    } finally {
      this.#keep(null);
    }
  }

  async signOutAtProvider() {
    const { provider, redirectURI } = this.#options;
    const answer = await this.#ask("POST", pathOf(provider, "logout"), { post_logout_redirect_uri: redirectURI });
    this.#keep(null);
    location.assign(answer.location);
  }

  async verifyPhoneNumber({ phone_number, operator, mccmnc, appState, ...ways } = {}) {
    const { methods, refusal } = await this.#waysOf({ operator, mccmnc, ...ways });
    let [ended, failure] = [null, refusal];
    for (const method of methods) {
      const number = { provider: method.provider, phone_number, operator: method.operator, mccmnc };
      try {
        const tried = await this.#verify(method, number, ways, appState);
        if (tried === undefined) return undefined;
        if (tried && !OF_DEVICES.includes(tried.error)) return { ...tried, appState };
        ended = tried ?? ended;
      } catch (error) {
        if (!OF_DEVICES.includes(error.error)) throw error;
        failure = error;
      }
    }
    if (!ended) throw failure;
    return { ...ended, appState };
  }

  async verifyWithQRCode(show, { phone_number, provider, signal } = {}) {
    const fields = { method: "digital_credential", strategy: "desktop", phone_number, provider };
    const { verification_id, qr_code } = await this.#ask("POST", VERIFICATIONS, fields);
    await show(qr_code);
    for (let polls = 0; ; polls++) {
      // Slower after a minute: the server answers one question a second, and 300 in all.
      await new Promise((resolve) => setTimeout(resolve, polls < 40 ? 1500 : 3000));
      signal?.throwIfAborted();
      const ended = await this.#ask("POST", confirmationOf(verification_id), { poll: true });
      if (ended.status !== "pending") return ended;
    }
  }

  async verifyWithOperatorToken(operatorToken, { phone_number, operator, mccmnc } = {}) {
    const { provider } = this.#options;
    return this.#ask("POST", VERIFICATIONS, {
      provider, phone_number, operator, mccmnc, operator_token: operatorToken,
    });
  }

  async finishVerification({ operatorToken } = {}) {
    const outcome = takeFromAddress(["verify_phone"], ["verification_id", "confirmation"]);
    const pending = outcome && takePending(VERIFYING);
    if (!pending || pending.id !== outcome.verification_id) return null;
    if (outcome.status === "failure") throw failureOf(outcome);
    const { id, number, appState } = pending;
    const ended = await this.#ask("POST", confirmationOf(id), { confirmation: outcome.confirmation });
    const token = ended.error === "not_on_mobile_network" ? await operatorToken?.(operatorOf(number)) : null;
    return { ...(token ? await this.verifyWithOperatorToken(token, number) : ended), appState };
  }

  /** The client id is that of the provider of configure(). */
  #clientAt(provider) {
    return provider === this.#options.provider ? this.#options.clientID : undefined;
  }

  async #start(clientType, asked, provider = this.#options.provider) {
    const verifier = base64url(crypto.getRandomValues(new Uint8Array(32)));
    const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(verifier));
    const pending = { verifier, trackingId: base64url(crypto.getRandomValues(new Uint8Array(16))) };
    const url = new URL(this.#base + pathOf(provider, "start"));
    const fields = {
      ...asked, client_type: clientType, redirect_uri: this.#options.redirectURI, client_id: this.#clientAt(provider),
      code_challenge: base64url(new Uint8Array(digest)), code_challenge_method: "S256", tracking_id: pending.trackingId,
    };
    for (const [name, value] of Object.entries(fields)) if (value !== undefined) url.searchParams.set(name, value);
    return { url, pending };
  }

  async #finish(outcome, { verifier, trackingId }) {
    if (outcome.status === "failure") throw failureOf(outcome);
    if (outcome.status === "partial") {
      const { state_key, identifier } = outcome;
      return { status: "partial", identifier, state_key, code_verifier: verifier };
    }
    if (outcome.tracking_id !== trackingId) throw own("foreign_outcome", "The outcome belongs to another sign-in.");
    if (outcome.session_id) {
      await this.#enter("/auth/session", { session_id: outcome.session_id, code_verifier: verifier });
    }
    return { status: "success" };
  }

  /** The ways that the server names, and the error of a device that has none of them. */
  async #waysOf({ operator, mccmnc, platform }) {
    const { provider } = this.#options;
    const { methods, fallback } = operator
      ? { methods: [{ method: "redirect", provider, operator }], fallback: [] }
      : await this.numberMethods({ mccmnc, platform });
    const refusal = methods.length
      ? own("phone_refused", "The device has no way to prove its number, or refused.")
      : own("operator_unknown", "The server has no way for this device to prove its number.");
    return { methods, fallback, refusal };
  }

  /** Signs in in one way; null if the device refuses, undefined if the browser leaves the page. */
  async #prove(number, ways, appState) {
    const { method, provider } = number;
    if (method === "redirect") return this.#visitOperator(number, appState);
    if (method === "digital_credential") {
      const path = pathOf(provider, "start");
      const start = () => this.#call("POST", path, this.#forPage({ ...operatorOf(number), method }));
      const { id, credential } = await askForCredential(number, ways, start) ?? {};
      return id ? this.#enterOrRegister(`${path}/${encodeURIComponent(id)}/confirmation`, credential) : null;
    }
    const { field, token } = await deviceToken(number, ways);
    return token ? this.#enterBySIM(number, token, field) : null;
  }

  /** Verifies the number in one way; null if the device refuses, undefined if the browser leaves the page. */
  async #verify({ method, requires }, number, ways, appState) {
    if (method === "redirect") return this.#visitVerifier(number, appState);
    if (method === "digital_credential") {
      const start = () => this.#ask("POST", VERIFICATIONS, { ...number, method });
      const { id, credential } = await askForCredential({ requires }, ways, start) ?? {};
      return id ? this.#ask("POST", confirmationOf(id), credential) : null;
    }
    const { field, token } = await deviceToken({ method, ...operatorOf(number) }, ways);
    return token ? this.#ask("POST", VERIFICATIONS, { ...number, [field]: token }) : null;
  }

  async #visitVerifier(number, appState) {
    const { redirectURI, storage } = this.#options;
    if (!this.#byCookie && !storage) {
      throw own("storage_missing", "The session ends when the browser leaves the page. Pass a storage to configure().");
    }
    const started = await this.#ask("POST", VERIFICATIONS, { ...number, redirect_uri: redirectURI });
    keepPending(VERIFYING, { id: started.verification_id, number, appState });
    location.assign(started.authorization_url);
  }

  async #visitOperator(number, appState) {
    const { url, pending } = await this.#start(this.#byCookie ? "web" : "spa", operatorOf(number), number.provider);
    // The start sets a cookie, which a browser takes from another origin with a navigation only.
    const place = this.#byCookie ? await answered(fetch(url, { headers: { "Accept": "application/json" } })) : null;
    keepPending(PENDING, { ...pending, number, appState });
    location.assign(place?.location ?? url);
  }

  /** Starts a session with a token of the device. */
  async #enterBySIM(number, token, field = "operator_token") {
    const fields = { ...operatorOf(number), [field]: token, client_id: this.#clientAt(number.provider) };
    const ended = await orFallback(number, () => this.#enterOrRegister(pathOf(number.provider, "sign-in"), fields));
    // The token is spent, so there is no second attempt with it.
    return ended.status === "fallback" ? { ...ended, next: "other" } : ended;
  }

  /** Starts a session, or says that the user must register. */
  async #enterOrRegister(path, fields) {
    try {
      await this.#enter(path, fields);
      return { status: "success" };
    } catch (error) {
      if (error.error !== "user_not_registered") throw error;
      return { status: "partial", identifier: error.identifier, state_key: error.stateKey };
    }
  }

  async #enter(path, fields) {
    this.#keep(await this.#call("POST", path, this.#forPage(fields)));
  }

  #forPage(fields) {
    return this.#byCookie ? { ...fields, client_type: "web" } : fields;
  }

  async #call(method, path, fields) {
    const headers = fields ? { "Content-Type": "application/json" } : {};
    if (!this.#byCookie && this.#options.apiKey) headers["X-API-KEY"] = this.#options.apiKey;
    const credentials = this.#byCookie ? "same-origin" : "omit";
    const init = { method, headers, body: fields && JSON.stringify(fields), credentials };
    return answered(this.#proved(new Request(this.#base + path, init)).then(fetch));
  }

  /** A request with the proof of the page's key. */
  async #proved(request, token) {
    if (this.#options.dpop && !this.#byCookie) {
      const { proof } = await import("./latchkey-dpop.js");
      request.headers.set("DPoP", await proof(request.method, request.url, token));
    }
    return request;
  }

  async #ask(method, path, fields) {
    const headers = { "Accept": "application/json", ...(fields && { "Content-Type": "application/json" }) };
    return answered(this.fetch(path, { method, headers, body: fields && JSON.stringify(fields) }));
  }

  /** Sends a request, and sends it again after a refresh if the session token has expired. */
  async #twice(request, send) {
    const startedAt = Date.now();
    let tokens = this.#load();
    if (!this.#byCookie) {
      if (!tokens) throw own("invalid_token", "There is no session. Sign in first.", 401);
      if (tokens.expiresAt - Date.now() < MARGIN) tokens = await this.#refresh(tokens, startedAt);
    }
    const response = await send(request.clone(), tokens);
    if (response.status !== 401) return response;
    // Latchkey uses invalid_token only for a session that has ended. A refused code is also 401, and must not be sent
    // again.
    const { error } = await response.clone().json().catch(() => ({}));
    const isOurs = new URL(request.url).origin === this.#origin;
    if (isOurs ? error !== "invalid_token" : error === "invalid_api_key") return response;
    return send(request, await this.#refresh(tokens, startedAt));
  }

  /** Allows one refresh at a time in this tab and, if the browser has locks, in all tabs. */
  async #refresh(stale, since) {
    const exchange = () => this.#exchange(stale, since);
    // Without locks two tabs may refresh at once; the server then gives both the same tokens.
    this.#refreshing ??= (navigator.locks ? navigator.locks.request("latchkey " + this.#base, exchange) : exchange())
      .finally(() => { this.#refreshing = null; });
    return this.#refreshing;
  }

  async #exchange(stale, since) {
    const present = this.#load();
    // Another tab or an earlier call has already refreshed.
    if (this.#byCookie ? refreshedAt() > since : present && present.token !== stale.token) return present;
    const fields = { grant_type: "refresh_token", refresh_token: stale?.refreshToken };
    try {
      await this.#enter("/auth/token", fields).catch((error) => {
        if (error.error !== "network_failure") throw error;
        // The response may be lost. The server accepts the identical request again.
        return this.#enter("/auth/token", fields);
      });
    } catch (error) {
      if (error.status === 401 && error.error !== "invalid_api_key") {
        this.#keep(null);
        this.#options.onSignedOut?.();
      }
      throw error;
    }
    return this.#load();
  }

  #load() {
    const { storage } = this.#options;
    return this.#byCookie || !storage ? this.#tokens : JSON.parse(storage.getItem(TOKENS) ?? "null");
  }

  /** Stores the tokens of a response; with cookies it stores only the time of the refresh. */
  #keep(answer) {
    const { storage } = this.#options;
    if (this.#byCookie) {
      if (answer) rememberRefresh();
      return;
    }
    this.#tokens = answer && {
      token: answer.token, refreshToken: answer.refresh_token, expiresAt: Date.now() + answer.expires * 1000,
      isBound: answer.token_type === "DPoP",
    };
    if (!storage) return;
    if (answer) storage.setItem(TOKENS, JSON.stringify(this.#tokens));
    else storage.removeItem(TOKENS);
  }
}

function own(error, error_description, status) {
  return new LatchkeyError({ error, error_description }, status);
}

function operatorOf({ operator, mccmnc }) {
  return { operator, mccmnc };
}

/** The result of a step of a sign-in by phone number, or the fallback after an error that has one. */
async function orFallback(number, step) {
  try {
    return await step();
  } catch (error) {
    if (![...OF_DEVICES, ...ABOUT_USER].includes(error.error)) throw error;
    return fallbackAfter(error, number);
  }
}

function fallbackAfter(error, number) {
  const { providers = [] } = number;
  const next = error.error === "not_on_mobile_network" ? "operator-token" : "other";
  return { status: "fallback", reason: error.error, next, providers, ...operatorOf(number), error };
}

function pathOf(provider, end) {
  return `/auth/${encodeURIComponent(provider)}/${end}`;
}

function confirmationOf(id) {
  return `${VERIFICATIONS}/${encodeURIComponent(id)}/confirmation`;
}

/** A token of the device, and the field that the API takes it in; no token if the device refuses. */
async function deviceToken(number, ways) {
  const { gets, field } = DEVICE_TOKENS[number.method] ?? {};
  return { field, token: await unlessRefused(() => ways[gets]?.(operatorOf(number))) };
}

/** A digital credential for what `start` begins, with its id; null if the device refuses. */
async function askForCredential({ requires }, { digitalCredential = browserCredential() }, start) {
  // A page cannot visit a link unseen.
  if (!digitalCredential || requires === "mobile_data") return null;
  const { sign_in_id, verification_id, request } = await start();
  const credential = await unlessRefused(() => digitalCredential(request));
  return credential && { id: sign_in_id ?? verification_id, credential };
}

/** What a function of the device gives; null if it throws, as after a dismissed dialog. */
async function unlessRefused(ask) {
  try {
    return await ask();
  } catch {
    return null;
  }
}

/** The browser's function that asks for a digital credential; undefined if it has none. */
function browserCredential() {
  if (!("DigitalCredential" in globalThis)) return undefined;
  return async (request) => {
    const { protocol, data } = await navigator.credentials.get({ digital: { requests: [request] } });
    return { protocol, data };
  };
}

/** The JSON of a response; throws if it is an error. */
async function answered(response) {
  try {
    response = await response;
  } catch (error) {
    if (error instanceof LatchkeyError) throw error;
    throw own("network_failure", "There was no response.");
  }
  const answer = await response.json().catch(() => null);
  if (response.ok && answer) return answer;
  throw new LatchkeyError(answer ?? {
    error: "malformed_answer",
    error_description: "The response is not JSON. Check that baseURL is Latchkey's.",
  }, response.status, response.headers);
}

function takeOutcome() {
  return takeFromAddress(["login", "register"], ["tracking_id", "session_id", "state_key", "identifier"]);
}

/** Takes an outcome out of the page's address, because its values are secrets for one use. */
function takeFromAddress(actions, names) {
  const url = new URL(location.href);
  const { searchParams } = url;
  if (!actions.includes(searchParams.get("action")) || !searchParams.has("status")) return null;
  const outcome = {};
  for (const name of ["action", "status", ...names, "message", "error", "error_description", "correlation_id"]) {
    if (searchParams.has(name)) outcome[name] = searchParams.get(name);
    searchParams.delete(name);
  }
  history.replaceState(history.state, "", url);
  return outcome;
}

function keepPending(name, pending) {
  sessionStorage.setItem(name, JSON.stringify({ ...pending, startedAt: Date.now() }));
}

/** What this tab began; null if there is nothing, or if it is too old. */
function takePending(name) {
  const pending = JSON.parse(sessionStorage.getItem(name) ?? "null");
  sessionStorage.removeItem(name);
  return pending && Date.now() - pending.startedAt <= PENDING_FOR ? pending : null;
}

function failureOf({ error, error_description, message, correlation_id }) {
  const error_type = error === "access_denied" ? "requestDenied" : undefined;
  return new LatchkeyError({ error: error ?? "unknown_error", error_description, message, correlation_id, error_type });
}

/** The outcome that the popup posts before it closes; messages of other origins are ignored. */
function outcomeOf(popup, origin) {
  return new Promise((resolve, reject) => {
    let timesClosed = 0;
    const watch = setInterval(() => {
      // Its last message may still be in transit.
      if (popup.closed && ++timesClosed > 2) {
        end(reject, own("popup_closed", "The window was closed before the sign-in was complete."));
      }
    }, 250);
    const hear = ({ origin: from, source, data }) => {
      // The source of a closed window is null.
      if (from === origin && (source === popup || source === null) && data?.source === "latchkey") end(resolve, data);
    };
    const end = (settle, value) => {
      clearInterval(watch);
      removeEventListener("message", hear);
      settle(value);
    };
    addEventListener("message", hear);
  });
}

/** When any tab last got new cookies; localStorage contains only this time. */
function refreshedAt() {
  try {
    return Number(localStorage.getItem(REFRESHED));
  } catch {
    return 0;
  }
}

function rememberRefresh() {
  try {
    localStorage.setItem(REFRESHED, String(Date.now()));
  } catch {
    // Without storage a tab may refresh once more than necessary.
  }
}

function base64url(bytes) {
  return btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}
