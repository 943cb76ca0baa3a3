// What each call is for, in a line, and where that is specified.

const TOKEN_REQUEST = [
  "Discovery: the carrier’s metadata, found by mccmnc and kept (OpenID Connect Discovery 4).",
  "Token request: the code, once, with the client’s proof and the code verifier (RFC 6749 4.1.3, RFC 7636 4.5).",
  "ID token: signature by the carrier’s key, issuer, audience, times, nonce, acr (OpenID Connect Core 3.1.3.7, RFC 8725).",
  "Userinfo, where attributes are asked for: its sub must be the ID token’s (OpenID Connect Core 5.3.2).",
  "User and session: one commit, on disk before the answer.",
];

const LIST = [
  ["GET", /^\/auth\/providers$/, "The ways to sign in, for the buttons of a frontend.", "docs/redirects.md"],
  ["GET", /^\/auth\/[^/]+\/start$/,
    "The browser leaves for the provider. Latchkey makes state, nonce and a code verifier, and keeps them.",
    "OIDC Core 3.1.2.1, RFC 7636", [
      "For carriers: first the choice of the carrier, which comes back with mccmnc, and from a second device with a login_hint_token.",
      "Then the authorization request at that carrier: code_challenge, state and nonce in it.",
    ]],
  ["GET", /^\/auth\/[^/]+\/callback$/,
    "The browser is back from the provider. The code went to Latchkey; only the outcome is in the address.",
    "RFC 6749 4.1.2, RFC 9207", TOKEN_REQUEST],
  ["POST", /^\/auth\/[^/]+\/link$/, "Begins to add a way to sign in: only this browser’s session can finish it.",
    "docs/linking.md"],
  ["POST", /^\/auth\/[^/]+\/logout$/,
    "Ends the session here, and says where the browser goes for the provider to end its own.", "docs/logout.md, OIDC RP-Initiated Logout"],
  ["GET", /^\/auth\/[^/]+\/logged-out$/,
    "The browser is back from the provider; state says which logout it was.", "docs/logout.md"],
  ["POST", /^\/auth\/session$/,
    "A one-time session_id becomes a session. The code verifier shows that who began is who ends.", "RFC 7636 4.5"],
  ["POST", /^\/demo\/codes$/,
    "Plays the phone: the user approves, and the carrier hands the app a code bound to the app’s verifier.",
    "RFC 6749 4.1.2, RFC 7636 4.2"],
  ["GET", /^\/demo\/people$/, "The simulated carriers and whom they know. No real carrier tells that.", ""],
  ["POST", /\/server-initiated\/latest\/(approve|deny)$/,
    "Plays the user’s phone: the answer goes to the carrier, which tells Latchkey.", "docs/backchannel-authentication.md"],
  ["POST", /^\/auth\/zenkey-signin$/, "The app posts its code. Tokens come back; the carrier’s own never do.",
    "RFC 6749 4.1.3", TOKEN_REQUEST],
  ["POST", /^\/auth\/[^/]+\/sign-in$/, "The app posts its code. Tokens come back; the provider’s own never do.",
    "RFC 6749 4.1.3", TOKEN_REQUEST],
  ["POST", /^\/auth\/register$/,
    "Ends a partial sign-in: state_key stands for the verified issuer and subject, once.", "docs/redirects.md"],
  ["POST", /^\/auth\/zenkey-async-signin$/,
    "Asks the user on their phone, with a signed request object. The handle is Latchkey’s own.",
    "OIDC Core 6, docs/backchannel-authentication.md", ["The request object, signed by the client’s key, goes to the carrier’s server-initiated endpoint."]],
  ["GET", /^\/auth\/zenkey-async-signin\//,
    "Asks how it stands: auth_req_id alone means that the user has not answered yet.", "docs/backchannel-authentication.md"],
  ["DELETE", /^\/auth\/zenkey-async-signin\//, "Stops asking. What the carrier tells after that changes nothing.",
    "docs/backchannel-authentication.md"],
  ["POST", /^\/auth\/token$/,
    "Exchanges the refresh token for new ones. The old one works no more; showing it again ends the session.",
    "RFC 6749 6, RFC 9700 4.14"],
  ["DELETE", /^\/auth\/token$/, "Signs out: this session ends, on the server too.", "docs/sessions.md"],
  ["GET", /^\/users\/me$/, "Who is signed in. zenkey_sub is a public id, never the carrier’s subject.", "RFC 6750 2.1"],
  ["PATCH", /^\/users\/me$/, "Changes the profile. All that is wrong is named at once, and then nothing changes.",
    "docs/sessions.md"],
  ["DELETE", /^\/users\/me$/, "Erases the user: identities, sessions, tokens, profile.", "docs/sessions.md"],
  ["GET", /^\/users\/me\/sessions$/, "All sessions of the user, on all devices.", "docs/sessions.md"],
  ["DELETE", /^\/users\/me\/sessions$/, "Ends all sessions but this one.", "docs/sessions.md"],
  ["DELETE", /^\/users\/me\/sessions\//, "Ends one session; it is refused from the next request on.", "docs/sessions.md"],
  ["GET", /^\/users\/me\/identities$/, "The ways this user signs in: issuers, without subjects.", "docs/linking.md"],
  ["DELETE", /^\/users\/me\/identities\//, "Takes a way to sign in away; never the last one.", "docs/linking.md"],
  ["POST", /^\/auth\/[^/]+\/authorize$/,
    "The code of an approval: same user, same context, an acr that is enough, a recent auth_time. The receipt is signed.",
    "docs/transactions.md", TOKEN_REQUEST.slice(0, 3)],
  ["POST", /^\/auth\/receipts\/redeem$/, "Plays a service: the receipt is checked and spent, once.", "docs/transactions.md"],
];

/** @returns {{ why: string, source: string, behind: string[] }} */
export function explain({ method, path, status }) {
  const [plain] = path.split("?");
  const [, , why, source, behind] = LIST.find(([verb, pattern]) => verb === method && pattern.test(plain)) ?? [];
  return { why: (status >= 400 ? "Refused. " : "") + (why ?? "A call of the API."), source: source ?? "", behind: behind ?? [] };
}

const KINDS = {
  invalidRequest: "Look at the fields that were sent; the message names them.",
  requestDenied: "Start again, if the refusal was not meant.",
  requestTimeout: "Try again: somebody did not answer in time.",
  serverError: "Try again later.",
  networkFailure: "Look at the connection, and try again.",
  configurationError: "Compare the client’s configuration here, in the app and in the provider’s portal.",
  discoveryStateError: "Choose the carrier anew: it is not this user’s, or not any more.",
};

const CODES = {
  popup_blocked: "Allow this page to open windows, or use the redirect.",
  popup_closed: "Open it again, or use the redirect.",
  network_failure: "See that the server is running, and try again.",
  invalid_api_key: "Send a key of the configuration, or one of latchkey api-key create.",
  invalid_token: "Sign in again.",
  insufficient_user_authentication: "Sign out and in again: adding a way to sign in takes a fresh sign-in.",
  user_already_exists: "Sign in that way instead, or take it away from the other account first.",
  last_identity: "Add another way to sign in first.",
  rate_limited: "Wait as long as it says, and try again.",
  temporarily_unavailable: "Wait as long as it says, and try again. Nobody was signed out.",
  invalid_id_token: "The message names the check that failed; latchkey explain-token shows all of them.",
  access_denied: "Start again, and approve at the carrier.",
};

/** What to do about an error. */
export function advice({ error, error_type }) {
  return CODES[error] ?? KINDS[error_type] ?? "If it goes on, tell the operator the request’s id.";
}
