/**
 * Types of latchkey.js, the browser client of Latchkey; see docs/web-frontends.md.
 *
 * A page of Latchkey's own origin has its session in cookies that no script can read. A page of another origin keeps
 * the tokens in memory, unless it passes a storage.
 */

export interface Options {
  /** Latchkey's public URL; default: the page's own origin. */
  baseURL?: string;
  /** The client id at `provider`, if that has more than one client. No other provider gets it. */
  clientID?: string;
  /** An API key for this page's origin, if the origin alone is not admitted. */
  apiKey?: string;
  /** The provider's name; default: "zenkey". */
  provider?: string;
  /** Where sign-ins return to; default: the page without its query. */
  redirectURI?: string;
  /** Other origins to which fetch() may send the token; cookies go to Latchkey only. */
  trustedOrigins?: string[];
  /** Keeps tokens beyond the page. Every script of the page can read them there. */
  storage?: Storage;
  /**
   * Binds the tokens to a key that no script can read, if the server's client allows it (DPoP). For pages of another
   * origin than Latchkey's; trustedOrigins must know DPoP then.
   */
  dpop?: boolean;
  /** Called when a request finds that the session has ended. */
  onSignedOut?: () => void;
}

/** Parameters of a sign-in; appState is returned with the outcome. */
export interface Asked {
  mccmnc?: string;
  operator?: string;
  scope?: string;
  acr_values?: string;
  context?: string;
  prompt?: string;
  max_age?: number;
  login_hint?: string;
  appState?: unknown;
}

/** A sign-in of a user who must register first. */
export interface PartialOutcome {
  status: "partial";
  /** The e-mail address from the carrier, or an empty string. */
  identifier: string;
  state_key: string;
  /** Absent after a sign-in without a redirect. */
  code_verifier?: string;
  appState?: unknown;
}

export type Outcome = { status: "success"; appState?: unknown } | PartialOutcome;

/** The mobile operator of a sign-in by phone number; neither is needed if the provider has one operator. */
export interface Operator {
  /** The operator's name in Latchkey's configuration. */
  operator?: string;
  /** A network that the operator serves, such as that of the SIM. */
  mccmnc?: string;
}

/** A sign-in by phone number that needs another way. */
export interface Fallback extends Operator {
  status: "fallback";
  /** The code of the error; see docs/verified-numbers.md. */
  reason:
    | "not_on_mobile_network"
    | "sim_swapped"
    | "operator_unknown"
    | "consent_required"
    | "carrier_error"
    | "carrier_timeout"
    | "temporarily_unavailable"
    | "access_denied"
    | "invalid_grant"
    | "issuer_mismatch"
    | "request_denied"
    | "user_already_exists"
    | "credential_invalid"
    | "invalid_id_token"
    | "aggregator_error"
    | "phone_refused";
  /** "operator-token" if only the network did not recognise the phone; "other" if the number cannot be used now. */
  next: "operator-token" | "other";
  /** The names of the other providers, if the server was asked for the ways. */
  providers: string[];
  error: LatchkeyError;
  appState?: unknown;
}

/** The outcome of a verification of the user's phone number. */
export interface Verification {
  verification_id: string;
  /** Any other outcome than "verified" leaves the account as it is. */
  status: "verified" | "mismatch" | "failed";
  phone_number: string | null;
  operator: string;
  checked_at: number;
  /** Null if it is not known. */
  sim_swapped: boolean | null;
  /** Why it failed: a code of docs/errors.md. */
  error?: string;
  correlation_id?: string;
  appState?: unknown;
}

/** What the device can do beside the mobile network. A function that resolves with nothing or throws refuses. */
export interface Ways {
  /** That of the app around the page; default: "web". */
  platform?: Platform;
  /** Asks for a digital credential; default: the browser's own function. */
  digitalCredential?: (request: CredentialRequest) => Promise<CredentialResponse | null>;
  /** Gets a TS.43 operator token of the device. */
  operatorToken?: (asked: Operator) => Promise<string | null | undefined>;
  /** Gets a token of Firebase Phone Number Verification. */
  firebaseToken?: () => Promise<string | null | undefined>;
}

export type Platform = "web" | "android" | "ios";

/** A number that another device has. */
export interface CodeQuestion {
  phone_number: string;
  /** The aggregator's name, if the server has several providers of numbers. */
  provider?: string;
  /** Ends the wait, for example because the user has closed the dialog. */
  signal?: AbortSignal;
}

/** What verifyPhoneNumber() asks; the number is that of the profile unless phone_number is given. */
export interface NumberQuestion extends Operator, Ways {
  phone_number?: string;
  appState?: unknown;
}

/** A request of the Digital Credentials API (OpenID4VP). */
export interface CredentialRequest {
  protocol: string;
  data: object;
}

export interface CredentialResponse {
  protocol?: string;
  data: unknown;
}

/** The ways in which a device can prove its number, in the order to try, and the other providers. */
export interface NumberMethods {
  methods: { method: string; provider: string; operator?: string; requires: string }[];
  fallback: string[];
}

/** An ID token that a page got without a redirect. */
export interface NativeToken {
  id_token: string;
  nonce?: string;
  authorization_code?: string;
  user?: string;
  client_id?: string;
}

export interface User {
  user_id: number;
  username: string | null;
  name: string | null;
  email: string | null;
  postal_code: string | null;
  phone_number: string | null;
  zenkey_sub: string;
  /** The same as zenkey_sub. */
  sub: string;
  created_at: number;
  email_verified: boolean;
  email_verified_at: number | null;
  email_verified_by: string | null;
  phone_number_verified: boolean;
  phone_number_verified_at: number | null;
  phone_number_verified_by: string | null;
  /** The issuer of the provider that sent the claims below. */
  claims_by?: string;
  /** What the user consented to share with this client, if its scopes ask for it. */
  address?: Address;
  birthdate?: string;
  last_4_social?: string;
  is_adult?: boolean;
  is_adult_18?: boolean;
  is_adult_21?: boolean;
  is_over_13?: boolean;
  proofing?: boolean | string;
}

export interface Address {
  formatted?: string;
  street_address?: string;
  locality?: string;
  region?: string;
  postal_code?: string;
  country?: string;
}

export interface UserSession {
  id: string;
  client_id: string;
  device: string | null;
  created_at: number;
  last_seen_at: number;
  expires_at: number;
  current: boolean;
}

/** An account at a provider that signs the user in. */
export interface UserIdentity {
  id: string;
  issuer: string;
  created_at: number;
}

export class LatchkeyError extends Error {
  error: string;
  /** For the person who uses the app: short, without technical terms. */
  message: string;
  /** For developers: what was wrong and what to do. */
  error_description: string;
  error_type: string;
  correlation_id?: string;
  request_id?: string;
  /** The status of the response; 0 if there was none. */
  status: number;
  /** Seconds to wait before another attempt. */
  retry_after?: number;
}

export class Latchkey {
  constructor(options?: Options);
  /** Sends the browser to the sign-in. It returns to redirectURI, where finishSignIn() continues. */
  signIn(asked?: Asked): Promise<void>;
  /**
   * Signs in with the phone number of the device, without a page between, in the ways that the server names for it: a
   * digital credential, a token of the SIM, and last the mobile network. For that one the browser goes to the mobile
   * operator, and returns to redirectURI, where finishSignIn() continues.
   *
   * The next way is tried after a refusal of the device or of an operator. With an operator, only its network is
   * used.
   *
   * @returns Nothing if the browser leaves the page.
   */
  signInWithNumber(asked?: Operator & Ways & { appState?: unknown }): Promise<Outcome | Fallback | undefined>;
  /** The ways in which the device can prove its number, in the order to try, and the other providers. */
  numberMethods(device?: { mccmnc?: string; platform?: Platform }): Promise<NumberMethods>;
  /**
   * Gets a nonce, with which the page asks a provider for an ID token. It works once, and for a few minutes.
   *
   * @param provider The provider's name, such as "google".
   */
  nonce(provider: string): Promise<string>;
  /**
   * Signs in with an ID token that the page got from a provider's script or from the app around it, without a
   * redirect. A token works once.
   *
   * @param provider The provider's name, such as "google".
   */
  signInNatively(provider: string, token: NativeToken): Promise<Outcome>;
  /**
   * Signs in with a TS.43 operator token, which the device gets from its operator by the SIM, over any network. A
   * token is good for one attempt.
   */
  signInWithOperatorToken(operatorToken: string, asked?: Operator): Promise<Outcome | Fallback>;
  /**
   * Reads the outcome from the address, and removes it from there.
   *
   * After signInWithNumber(), a phone that its network did not recognise gets a second chance: operatorToken is asked
   * for a token of the phone's operator, and the sign-in continues with it.
   *
   * @returns Null if there is none, or if this tab did not request it, because a link could contain an outcome. A
   *   fallback comes after signInWithNumber() only.
   */
  finishSignIn(ways?: Pick<Ways, "operatorToken">): Promise<Outcome | Fallback | null>;
  /**
   * Asks whether the device has a phone number, without a page between, in the ways of signInWithNumber(). For the
   * last one the browser goes to the mobile operator, and returns to redirectURI, where finishVerification()
   * continues. A page of another origin needs a storage for that, which keeps the session meanwhile.
   *
   * @returns The outcome of the last way that had one; nothing if the browser leaves the page. If no way had an
   *   outcome, the error of the last one is thrown.
   */
  verifyPhoneNumber(asked?: NumberQuestion): Promise<Verification | undefined>;
  /**
   * Asks a phone that is not this device whether it has the number: its user scans a QR code. For a page on a computer,
   * if the server allows it.
   *
   * @param show Shows the text of the code to the user.
   * @returns The outcome, after a phone has scanned the code.
   */
  verifyWithQRCode(show: (code: string) => unknown, asked: CodeQuestion): Promise<Verification>;
  /** Asks the operator as verifyPhoneNumber() does, with a TS.43 operator token in place of the mobile network. */
  verifyWithOperatorToken(operatorToken: string, asked?: Operator & { phone_number?: string }): Promise<Verification>;
  /**
   * Reads from the address what verifyPhoneNumber() led to, removes it from there, and confirms it with the session.
   *
   * A phone that its network did not recognise gets a second chance: operatorToken is asked for a token of the
   * phone's operator, and the number is verified with it.
   *
   * @returns Null if there is none, or if this tab did not request it.
   */
  finishVerification(ways?: Pick<Ways, "operatorToken">): Promise<Verification | null>;
  /** Signs in with a popup window. Call it in a click handler, because browsers block other popups. */
  signInWithPopup(asked?: Asked): Promise<Outcome>;
  /**
   * Completes the registration of a user whom the carrier has identified, and signs them in.
   *
   * @param attributes Such as name and email.
   */
  register(partial: PartialOutcome, attributes: Record<string, string>): Promise<void>;
  /**
   * Sends a request with the session to Latchkey or to a trusted origin. The arguments are those of the browser's
   * fetch; a path is relative to baseURL. After a 401 it refreshes once and tries once more.
   */
  fetch(input: string | URL | Request, init?: RequestInit): Promise<Response>;
  /** The signed-in user, as GET /users/me returns it. */
  me(): Promise<User>;
  /** Changes the profile; null clears a field. */
  updateMe(changes: Record<string, string | null>): Promise<User>;
  /** The user's sessions on all devices. */
  sessions(): Promise<UserSession[]>;
  revokeSession(id: string): Promise<void>;
  /** Ends all of the user's sessions but this one, and returns their number. */
  revokeOtherSessions(): Promise<number>;
  /** Erases the user's account and its data, and with it the session. */
  eraseAccount(): Promise<void>;
  /** The user's identities: the accounts at providers that sign the user in. */
  identities(): Promise<UserIdentity[]>;
  /** Removes an identity, and ends the sessions that it signed in, except this one. */
  unlinkIdentity(id: string): Promise<void>;
  /**
   * Adds an identity: the browser goes to the provider, and returns to redirectURI, where finishLink() continues.
   * Only a page of Latchkey's own origin can do so, because the session must be in its cookies.
   */
  linkIdentity(provider: string, asked?: Asked): Promise<void>;
  /**
   * Adds the phone number of the device, which its operator shows by the SIM, to the signed-in user. A token is good
   * for one attempt.
   *
   * @param operatorToken A TS.43 operator token.
   * @returns The identity.
   */
  linkWithOperatorToken(operatorToken: string, asked?: Operator): Promise<UserIdentity>;
  /**
   * Reads from the address what linkIdentity() led to, and removes it from there. The session stays as it was.
   *
   * @returns Null if there is none, or if this tab did not request it. A failure is thrown.
   */
  finishLink(): { status: "success"; appState?: unknown } | null;
  /** Ends the session, and deletes the tokens in any case. */
  signOut(): Promise<void>;
  /**
   * Ends the session, and the provider's session if it supports logout. The browser goes to the provider, and returns
   * to redirectURI with `action=logout` in the query.
   */
  signOutAtProvider(): Promise<void>;
}

export function configure(options?: Options): Latchkey;
