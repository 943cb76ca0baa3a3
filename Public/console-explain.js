// The purpose of each call in one line, and its specification.

const COMMIT = "User and session: one commit, on disk before the response.";

const TOKEN_REQUEST = [
  "Discovery: the carrier’s metadata, found by mccmnc and cached (OpenID Connect Discovery 4).",
  "Token request: the code, once, with client authentication and the code verifier (RFC 6749 4.1.3, RFC 7636 4.5).",
  "ID token: signature by the carrier’s key, issuer, audience, times, nonce, acr " +
    "(OpenID Connect Core 3.1.3.7, RFC 8725).",
  "Userinfo, if attributes are requested: its sub must be the ID token’s (OpenID Connect Core 5.3.2).",
  COMMIT,
];

/** What happens between the servers after an operator has sent the browser back. */
export const NUMBER_REQUEST = [
  "Token request: the code, once, with private_key_jwt and the code verifier (RFC 7523, RFC 7636).",
  "ID token: its subject at this operator is the user, never the number.",
  "Number: GET /device-phone-number, once for each sign-in (CAMARA Number Verification).",
  "SIM: a token of the server itself, and POST /sim-swap/v2/check (CAMARA SIM Swap).",
  COMMIT,
];

/** Method, path, purpose, source (a word is a page of docs), and what happens behind it. */
const LIST = [
  ["GET", /^\/auth\/providers$/, "Lists the ways to sign in, for the buttons of a frontend.", "web-frontends"],
  ["GET", /^\/auth\/[^/]+\/start$/,
    "The browser goes to the provider. Latchkey creates state, nonce and a code verifier, and keeps them.",
    "OIDC Core 3.1.2.1, RFC 7636", [
      "For carriers: first the choice of the carrier, which returns mccmnc, " +
        "and from a second device a login_hint_token.",
      "Then the authorization request to that carrier, with code_challenge, state and nonce.",
    ]],
  ["GET", /^\/operators\/…\/authorize$/,
    "The browser visits the operator, which recognises the phone by its connection. There is no page, because prompt " +
      "is none.", "verified-numbers"],
  ["POST", /^\/operators\/[^/]+\/operator-tokens$/,
    "Plays the phone: its SIM card proves itself to the operator, and the phone gets an operator token.", "GSMA TS.43"],
  ["POST", /^\/auth\/number\/sign-in$/,
    "Signs in with the operator token, because the network did not recognise the phone.", "verified-numbers",
    ["Token request: a JWT that names the operator token (RFC 7523).", ...NUMBER_REQUEST.slice(1)]],
  ["GET", /^\/auth\/number\/methods$/, "Lists the ways by number that a phone has, in order, and the other providers.",
    "verified-numbers"],
  ["GET", /^\/auth\/[^/]+\/callback$/,
    "The browser returns from the provider. Latchkey got the code; the address has only the outcome.",
    "RFC 6749 4.1.2, RFC 9207", TOKEN_REQUEST],
  ["POST", /^\/auth\/[^/]+\/link$/, "Starts to add a way to sign in. Only this browser’s session can finish it.",
    "accounts"],
  ["POST", /^\/auth\/[^/]+\/logout$/, "Ends the session here, and returns the URL where the provider ends its own.",
    "docs/accounts.md, OIDC RP-Initiated Logout"],
  ["GET", /^\/auth\/[^/]+\/logged-out$/,
    "The browser returns from the provider; state identifies the logout.", "accounts"],
  ["POST", /^\/auth\/session$/,
    "Exchanges a one-time session_id for a session. The code verifier proves that the same client started the sign-in.",
    "RFC 7636 4.5"],
  ["POST", /^\/demo\/codes$/,
    "Plays the phone: the user approves, and the carrier gives the app a code bound to the app’s verifier.",
    "RFC 6749 4.1.2, RFC 7636 4.2"],
  ["GET", /^\/demo\/(device|people)$/,
    "Lists the simulated operators or carriers, with their users. Real ones do not publish this.", ""],
  ["POST", /\/server-initiated\/latest\/(approve|deny)$/,
    "Plays the user’s phone: the decision goes to the carrier, which notifies Latchkey.", "approvals"],
  ["POST", /^\/auth\/(zenkey-signin|[^/]+\/sign-in)$/,
    "The app posts its code, and gets Latchkey’s tokens, never the provider’s.", "RFC 6749 4.1.3", TOKEN_REQUEST],
  ["POST", /^\/register$/,
    "The form of the server’s own page: it showed what the provider sent, and needs no script. A cookie identifies " +
      "the registration, once.", "web-frontends"],
  ["POST", /^\/auth\/register$/,
    "Completes a registration: state_key identifies the verified issuer and subject, once.", "web-frontends"],
  ["POST", /^\/auth\/zenkey-async-signin$/,
    "Has the carrier ask the user on their phone. Latchkey returns its own auth_req_id.",
    "OIDC Core 6, docs/approvals.md", [
      "Latchkey sends a request object, signed by the client’s key, " +
        "to the carrier’s backchannel authentication endpoint.",
    ]],
  ["GET", /^\/auth\/zenkey-async-signin\//,
    "Polls: auth_req_id alone means that the user has not decided yet.", "approvals"],
  ["DELETE", /^\/auth\/zenkey-async-signin\//, "Cancels. Later notifications of the carrier change nothing.",
    "approvals"],
  ["POST", /^\/auth\/token$/, "Exchanges the refresh token for new tokens. Reuse of the old one ends the session.",
    "RFC 6749 6, RFC 9700 4.14"],
  ["DELETE", /^\/auth\/token$/, "Signs out: ends this session on the server.", "sessions"],
  ["GET", /^\/users\/me$/, "Returns the signed-in user. zenkey_sub is a public id, never the carrier’s subject.",
    "RFC 6750 2.1"],
  ["PATCH", /^\/users\/me$/, "Changes the profile. All invalid fields are reported at once, and then nothing changes.",
    "sessions"],
  ["DELETE", /^\/users\/me$/, "Erases the user: identities, sessions, tokens, profile.", "accounts"],
  ["GET", /^\/users\/me\/sessions$/, "Lists the user’s sessions on all devices.", "sessions"],
  ["DELETE", /^\/users\/me\/sessions$/, "Ends all sessions except this one.", "sessions"],
  ["DELETE", /^\/users\/me\/sessions\//, "Ends one session. Its next request is refused.", "sessions"],
  ["GET", /^\/users\/me\/identities$/, "Lists the ways this user signs in: issuers, without subjects.", "accounts"],
  ["DELETE", /^\/users\/me\/identities\//, "Removes a way to sign in, but never the last one.", "accounts"],
  ["POST", /^\/auth\/[^/]+\/authorize$/,
    "Verifies an approval: same user, same context, sufficient acr, recent auth_time. Returns a signed receipt.",
    "approvals", TOKEN_REQUEST.slice(0, 3)],
  ["POST", /^\/auth\/receipts\/redeem$/, "Plays a service: checks the receipt and redeems it, once.", "approvals"],
];

/** @returns {{ why: string, source: string, behind: string[] }} */
export function explain({ method, path, status }) {
  const [plain] = path.split("?");
  const [, , why, source, behind] = LIST.find(([verb, pattern]) => verb === method && pattern.test(plain)) ?? [];
  return {
    why: (status >= 400 ? "Refused. " : "") + (why ?? "A call of the API."),
    source: source?.replace(/^[a-z-]+$/, "docs/$&.md") ?? "", behind: behind ?? [],
  };
}

const KINDS = {
  invalidRequest: "Check the fields that were sent; the message names them.",
  requestDenied: "Start again if you want to approve.",
  requestTimeout: "Try again: there was no response in time.",
  serverError: "Try again later.",
  networkFailure: "Check the connection, and try again.",
  configurationError: "Compare the client’s configuration here, in the app and in the provider’s portal.",
  discoveryStateError: "Choose the carrier again: it is not the user’s carrier.",
};

const CODES = {
  popup_blocked: "Allow this page to open windows, or use the redirect.",
  popup_closed: "Open the window again, or use the redirect.",
  network_failure: "Check that the server is running, and try again.",
  invalid_api_key: "Send a key of the configuration, or create one with latchkey api-key create.",
  invalid_token: "Sign in again.",
  insufficient_user_authentication: "Sign out and in again: adding a way to sign in needs a recent sign-in.",
  user_already_exists: "Sign in that way instead, or remove it from the other account first.",
  receipt_redeemed: "The service must not carry out the transaction again.",
  last_identity: "Add another way to sign in first.",
  rate_limited: "Wait, and try again.",
  temporarily_unavailable: "Wait, and try again. You are still signed in.",
  invalid_id_token: "The message names the failed check; latchkey explain-token shows all checks.",
  issuer_mismatch: "The response was not the provider’s. Start again.",
  access_denied: "Start again, and approve at the carrier.",
  not_on_mobile_network: "Use the mobile network, or another way to sign in.",
  sim_swapped: "Use another way to sign in.",
};

/** What to do about an error. */
export function advice({ error, error_type }) {
  return CODES[error] ?? KINDS[error_type] ?? "If it happens again, give the operator the request_id.";
}
