/**
 * Latchkey in a browser: signs a user in by redirect or popup, keeps the session alive, and asks in the user's name.
 * An ES module without dependencies; see docs/clients.md.
 *
 * A page of Latchkey's own origin has its session in cookies that no script reads. A page of another origin has tokens,
 * in memory only, unless it brings a storage of its own.
 *
 * @module
 */

/**
 * @typedef {object} Options
 * @property {string} [baseURL] Latchkey's public URL; the page's own origin if it is left out.
 * @property {string} [clientId] The client, where the provider has more than one.
 * @property {string} [apiKey] A key that is for this page's origin, where the origin alone is not let in.
 * @property {string} [provider] The provider's name; "zenkey" if it is left out.
 * @property {string} [redirectURI] Where sign-ins come back to; the page without its query if it is left out.
 * @property {string[]} [trustedOrigins] Where fetch() may carry a token besides Latchkey; cookies go to Latchkey alone.
 * @property {Storage} [storage] Where tokens outlive the page, such as sessionStorage. Whatever script runs in the page
 *   can read them there.
 * @property {() => void} [onSignedOut] Called when the session turns out to be over.
 */

/**
 * What a sign-in may ask for, by the names of GET /auth/{provider}/start; appState comes back with the outcome.
 *
 * @typedef {{ mccmnc?: string, scope?: string, acr_values?: string, context?: string, prompt?: string,
 *   login_hint?: string, appState?: unknown }} Asked
 */

/**
 * How a sign-in ended: the user is signed in, or has to register first.
 *
 * @typedef {{ status: "success", appState?: unknown }
 *   | { status: "partial", identifier: string, state_key: string, code_verifier: string, appState?: unknown }} Outcome
 */

const PENDING = "latchkey.sign-in";
const TOKENS = "latchkey.tokens";
const REFRESHED = "latchkey.refreshed";

/** A sign-in under way is forgotten after this long. */
const PENDING_FOR = 15 * 60_000;

/** A token with less time left is refreshed before it is used. */
const MARGIN = 10_000;

/** Why something did not go through, in the words of Latchkey's error answers. */
export class LatchkeyError extends Error {
  /**
   * @param {Record<string, any>} answer
   * @param {number} [status]
   * @param {Headers} [headers]
   */
  constructor(answer, status = 0, headers) {
    super(answer.message ?? answer.error_description ?? answer.error);
    this.name = "LatchkeyError";
    /** @type {string} The code of docs/errors.md, or one of this module's own. */
    this.error = answer.error;
    /** @type {string} For developers: what was wrong and what to do. */
    this.error_description = answer.error_description ?? "";
    /** @type {string} */
    this.error_type = answer.error_type ?? "unknownError";
    /** @type {string | undefined} */
    this.correlation_id = answer.correlation_id;
    /** @type {string | undefined} */
    this.request_id = answer.request_id;
    /** The status of the answer; 0 if there was none. */
    this.status = status;
    /** @type {number | undefined} Seconds after which another try makes sense. */
    this.retry_after = Number(headers?.get("Retry-After") ?? undefined) || undefined;
  }
}

/** @param {Options} [options] */
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

  /** @param {Options} [options] */
  constructor(options = {}) {
    this.#options = { provider: "zenkey", redirectURI: location.origin + location.pathname, ...options };
    const base = new URL(options.baseURL ?? location.origin, location.href);
    this.#base = base.href.replace(/\/$/, "");
    this.#origin = base.origin;
    this.#byCookie = base.origin === location.origin;
  }

  /**
   * Sends the browser to sign in. It comes back to redirectURI, where finishSignIn() goes on.
   *
   * @param {Asked} [asked]
   */
  async signIn({ appState, ...asked } = {}) {
    const { url, pending } = await this.#start(this.#byCookie ? "web" : "spa", asked);
    sessionStorage.setItem(PENDING, JSON.stringify({ ...pending, appState }));
    location.assign(url);
  }

  /**
   * Reads the outcome that the browser came back with, and takes it out of the address.
   *
   * @returns {Promise<Outcome | null>} Null if there is none, or none that this tab has asked for: a link could have
   *   brought it.
   */
  async finishSignIn() {
    const outcome = takeOutcome();
    if (!outcome) return null;
    const pending = JSON.parse(sessionStorage.getItem(PENDING) ?? "null");
    sessionStorage.removeItem(PENDING);
    if (!pending || Date.now() - pending.startedAt > PENDING_FOR) return null;
    return { ...(await this.#finish(outcome, pending)), appState: pending.appState };
  }

  /**
   * Signs in in a window of its own. To be called in a click: browsers block what comes by itself.
   *
   * @param {Asked} [asked]
   * @returns {Promise<Outcome>}
   */
  async signInWithPopup({ appState, ...asked } = {}) {
    const popup = window.open("", "_blank", "popup,width=480,height=720");
    if (!popup) throw own("popup_blocked", "The browser has blocked the window. Ask the user to allow it, or redirect.");
    try {
      const { url, pending } = await this.#start("popup", asked);
      popup.location.replace(url);
      return { ...(await this.#finish(await outcomeOf(popup, this.#origin), pending)), appState };
    } finally {
      popup.close();
    }
  }

  /**
   * Ends a partial sign-in: makes a user of somebody whom the carrier vouches for, and signs them in.
   *
   * @param {Outcome & { status: "partial" }} partial
   * @param {Record<string, string>} attributes Such as name and email.
   */
  async register({ state_key, code_verifier }, attributes) {
    await this.#enter("/auth/register", { ...attributes, state_key, code_verifier });
  }

  /**
   * As the browser's own fetch, in the user's name: to Latchkey (a path is below baseURL) or to a trusted origin. A 401 is
   * followed by one refresh and one more try.
   *
   * @param {string | URL | Request} input
   * @param {RequestInit} [init]
   * @returns {Promise<Response>}
   */
  async fetch(input, init) {
    const isPath = typeof input === "string" && input.startsWith("/");
    const request = new Request(isPath ? this.#base + input : input, init);
    const { origin } = new URL(request.url);
    if (origin !== this.#origin && !this.#options.trustedOrigins?.includes(origin)) {
      throw own("untrusted_origin", "The session goes to Latchkey and to trustedOrigins only.");
    }
    if (this.#byCookie) return this.#twice(request, (again) => fetch(again));
    return this.#twice(request, (again, tokens) => {
      again.headers.set("Authorization", "Bearer " + tokens.token);
      if (origin === this.#origin && this.#options.apiKey) again.headers.set("X-API-KEY", this.#options.apiKey);
      return fetch(again, { credentials: "omit" });
    });
  }

  /** The signed-in user, as GET /users/me has it. */
  async me() {
    return this.#ask("GET", "/users/me");
  }

  /**
   * Changes the profile; null clears.
   *
   * @param {Record<string, string | null>} changes
   */
  async updateMe(changes) {
    return this.#ask("PATCH", "/users/me", changes);
  }

  /** The user's sessions on all devices. */
  async sessions() {
    return (await this.#ask("GET", "/users/me/sessions")).sessions;
  }

  /** @param {string} id */
  async revokeSession(id) {
    await this.#ask("DELETE", "/users/me/sessions/" + encodeURIComponent(id));
  }

  /** Ends the session, and forgets it in any case. */
  async signOut() {
    try {
      await this.#ask("DELETE", "/auth/token");
    } catch (error) {
      if (error.status !== 401) throw error;
    } finally {
      this.#keep(null);
    }
  }

  /**
   * Ends the session, and has the provider end its own if it takes part: the browser goes there, and comes back to
   * redirectURI with `action=logout` in its query.
   */
  async signOutAtProvider() {
    const { provider, redirectURI } = this.#options;
    const headers = { "Accept": "application/json", "Content-Type": "application/json" };
    const body = JSON.stringify({ post_logout_redirect_uri: redirectURI });
    const path = `/auth/${encodeURIComponent(provider)}/logout`;
    const answer = await answered(this.fetch(path, { method: "POST", headers, body }));
    this.#keep(null);
    location.assign(answer.location);
  }

  async #start(clientType, asked) {
    const verifier = base64url(crypto.getRandomValues(new Uint8Array(32)));
    const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(verifier));
    const pending = {
      verifier, trackingId: base64url(crypto.getRandomValues(new Uint8Array(16))), startedAt: Date.now(),
    };
    const url = new URL(`${this.#base}/auth/${encodeURIComponent(this.#options.provider)}/start`);
    const fields = {
      ...asked, client_type: clientType, redirect_uri: this.#options.redirectURI, client_id: this.#options.clientId,
      code_challenge: base64url(new Uint8Array(digest)), code_challenge_method: "S256", tracking_id: pending.trackingId,
    };
    for (const [name, value] of Object.entries(fields)) if (value !== undefined) url.searchParams.set(name, value);
    return { url, pending };
  }

  async #finish(outcome, { verifier, trackingId }) {
    if (outcome.status === "failure") {
      throw new LatchkeyError({
        error: outcome.error ?? "unknown_error", error_description: outcome.message,
        error_type: outcome.error === "access_denied" ? "requestDenied" : undefined,
      });
    }
    if (outcome.status === "partial") {
      const { state_key, identifier } = outcome;
      return { status: "partial", identifier, state_key, code_verifier: verifier };
    }
    if (outcome.tracking_id !== trackingId) throw own("foreign_outcome", "The outcome is of another sign-in.");
    if (outcome.session_id) {
      await this.#enter("/auth/session", { session_id: outcome.session_id, code_verifier: verifier });
    }
    return { status: "success" };
  }

  /** Begins a session, or carries one on. */
  async #enter(path, fields) {
    const headers = { "Content-Type": "application/json" };
    if (!this.#byCookie && this.#options.apiKey) headers["X-API-KEY"] = this.#options.apiKey;
    const body = JSON.stringify(this.#byCookie ? { ...fields, client_type: "web" } : fields);
    const credentials = this.#byCookie ? "same-origin" : "omit";
    const answer = await answered(fetch(this.#base + path, { method: "POST", headers, body, credentials }));
    this.#keep(answer);
  }

  async #ask(method, path, fields) {
    const body = fields && JSON.stringify(fields);
    return answered(this.fetch(path, { method, body, headers: body ? { "Content-Type": "application/json" } : {} }));
  }

  /** Sends a request, and once more after a refresh if the session's token has ended. */
  async #twice(request, send) {
    const startedAt = Date.now();
    let tokens = this.#load();
    if (!this.#byCookie) {
      if (!tokens) throw own("invalid_token", "Nobody is signed in.", 401);
      if (tokens.expiresAt - Date.now() < MARGIN) tokens = await this.#refresh(tokens, startedAt);
    }
    const response = await send(request.clone(), tokens);
    if (response.status !== 401) return response;
    // Latchkey says invalid_token of a session that has ended, and of nothing else: a code, too, is refused with 401, and
    // is not to be sent again.
    const { error } = await response.clone().json().catch(() => ({}));
    const isOurs = new URL(request.url).origin === this.#origin;
    if (isOurs ? error !== "invalid_token" : error === "invalid_api_key") return response;
    return send(request, await this.#refresh(tokens, startedAt));
  }

  /** One exchange at a time in this tab and, where the browser has locks, in all of them. */
  async #refresh(stale, since) {
    const exchange = () => this.#exchange(stale, since);
    // Without locks two tabs may come at once: then the server gives both the same tokens.
    this.#refreshing ??= (navigator.locks ? navigator.locks.request("latchkey " + this.#base, exchange) : exchange())
      .finally(() => { this.#refreshing = null; });
    return this.#refreshing;
  }

  async #exchange(stale, since) {
    const present = this.#load();
    // Another tab, or an earlier call, was faster.
    if (this.#byCookie ? refreshedAt() > since : present && present.token !== stale.token) return present;
    const fields = { grant_type: "refresh_token", refresh_token: stale?.refreshToken };
    try {
      await this.#enter("/auth/token", fields).catch((error) => {
        if (error.error !== "network_failure") throw error;
        return this.#enter("/auth/token", fields); // The answer may have been lost: the same again is not another.
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

  /** Keeps the tokens of an answer; of one to a page with cookies only that there was one. */
  #keep(answer) {
    const { storage } = this.#options;
    if (this.#byCookie) {
      if (answer) rememberRefresh();
      return;
    }
    this.#tokens = answer && {
      token: answer.token, refreshToken: answer.refresh_token, expiresAt: Date.now() + answer.expires * 1000,
    };
    if (!storage) return;
    if (answer) storage.setItem(TOKENS, JSON.stringify(this.#tokens));
    else storage.removeItem(TOKENS);
  }
}

function own(error, error_description, status) {
  return new LatchkeyError({ error, error_description }, status);
}

/** The JSON of an answer; what is no success is thrown. */
async function answered(response) {
  try {
    response = await response;
  } catch (error) {
    if (error instanceof LatchkeyError) throw error;
    throw own("network_failure", "There was no answer.");
  }
  const answer = await response.json().catch(() => ({
    error: "malformed_answer",
    error_description: "The answer is no JSON. See that baseURL is that of Latchkey.",
  }));
  if (!response.ok || answer.error) throw new LatchkeyError(answer, response.status, response.headers);
  return answer;
}

/** The outcome in the page's address, from which it is removed: what is in it works once, and is nobody else's to see. */
function takeOutcome() {
  const url = new URL(location.href);
  const { searchParams } = url;
  if (!["login", "register"].includes(searchParams.get("action")) || !searchParams.has("status")) return null;
  const outcome = {};
  for (const name of [
    "action", "status", "tracking_id", "session_id", "state_key", "identifier", "message", "error",
  ]) {
    if (searchParams.has(name)) outcome[name] = searchParams.get(name);
    searchParams.delete(name);
  }
  history.replaceState(history.state, "", url);
  return outcome;
}

/** What a popup says before it closes; only Latchkey's own page is listened to. */
function outcomeOf(popup, origin) {
  return new Promise((resolve, reject) => {
    let timesClosed = 0;
    const watch = setInterval(() => {
      // What it said last may be on its way.
      if (popup.closed && ++timesClosed > 2) {
        end(reject, own("popup_closed", "The window was closed before the sign-in had ended."));
      }
    }, 250);
    const hear = ({ origin: from, source, data }) => {
      // A window that has closed is no source any more.
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

/** When some tab last got new cookies; the time alone is in localStorage. */
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
    // Where there is no storage, a tab refreshes once more than it needs to.
  }
}

function base64url(bytes) {
  return btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}
