/** Types of latchkey.js, Latchkey in a browser; see docs/clients.md. */

export interface Options {
  /** Latchkey's public URL; the page's own origin if it is left out. */
  baseURL?: string;
  /** The client, where the provider has more than one. */
  clientId?: string;
  /** A key that is for this page's origin, where the origin alone is not let in. */
  apiKey?: string;
  /** The provider's name; "zenkey" if it is left out. */
  provider?: string;
  /** Where sign-ins come back to; the page without its query if it is left out. */
  redirectURI?: string;
  /** Where fetch() may carry a token besides Latchkey. */
  trustedOrigins?: string[];
  /** Where tokens outlive the page. Whatever script runs in the page can read them there. */
  storage?: Storage;
  /** Called when the session turns out to be over. */
  onSignedOut?: () => void;
}

/** What a sign-in may ask for; appState comes back with the outcome. */
export interface Asked {
  mccmnc?: string;
  scope?: string;
  acr_values?: string;
  context?: string;
  prompt?: string;
  login_hint?: string;
  appState?: unknown;
}

export interface Partial {
  status: "partial";
  /** The e-mail address that the carrier has told, or an empty text. */
  identifier: string;
  state_key: string;
  code_verifier: string;
  appState?: unknown;
}

export type Outcome = { status: "success"; appState?: unknown } | Partial;

export interface User {
  user_id: number;
  username: string | null;
  name: string | null;
  email: string | null;
  postal_code: string | null;
  phone_number: string | null;
  zenkey_sub: string;
  created_at: number;
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

export class LatchkeyError extends Error {
  error: string;
  /** For the person who uses the app: short, without technical terms. */
  message: string;
  /** For developers: what was wrong and what to do. */
  error_description: string;
  error_type: string;
  correlation_id?: string;
  request_id?: string;
  /** The status of the answer; 0 if there was none. */
  status: number;
  /** Seconds after which another try makes sense. */
  retry_after?: number;
}

export class Latchkey {
  constructor(options?: Options);
  signIn(asked?: Asked): Promise<void>;
  finishSignIn(): Promise<Outcome | null>;
  signInWithPopup(asked?: Asked): Promise<Outcome>;
  register(partial: Partial, attributes: Record<string, string>): Promise<void>;
  fetch(input: string | URL | Request, init?: RequestInit): Promise<Response>;
  me(): Promise<User>;
  updateMe(changes: Record<string, string | null>): Promise<User>;
  sessions(): Promise<UserSession[]>;
  revokeSession(id: string): Promise<void>;
  signOut(): Promise<void>;
  signOutAtProvider(): Promise<void>;
}

export function configure(options?: Options): Latchkey;
