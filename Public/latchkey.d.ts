/** Types of latchkey.js, the browser client of Latchkey; see docs/clients.md. */

export interface Options {
  /** Latchkey's public URL; default: the page's own origin. */
  baseURL?: string;
  /** The client id, if the provider has more than one client. */
  clientId?: string;
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
  /** Called when a request finds that the session has ended. */
  onSignedOut?: () => void;
}

/** Parameters of a sign-in; appState is returned with the outcome. */
export interface Asked {
  mccmnc?: string;
  scope?: string;
  acr_values?: string;
  context?: string;
  prompt?: string;
  max_age?: number;
  login_hint?: string;
  appState?: unknown;
}

export interface Partial {
  status: "partial";
  /** The e-mail address from the carrier, or an empty string. */
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
