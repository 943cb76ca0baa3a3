// The key of a page, with which it proves that its tokens are its own (DPoP, RFC 9449): see docs/web-frontends.md.
// latchkey.js loads this module if configure() is told so. No script can read the key, which is in IndexedDB.

const KEY = { name: "ECDSA", namedCurve: "P-256" };
const STORE = "keys";
const NAME = "dpop";

let loading;

/** A proof for one request, with the access token in it, if there is one. */
export async function proof(method, url, token) {
  const { privateKey, publicKey } = await (loading ??= keyPair().catch((error) => {
    loading = undefined;
    throw error;
  }));
  const { kty, crv, x, y } = await crypto.subtle.exportKey("jwk", publicKey);
  const [htu] = url.split(/[?#]/);
  const claims = {
    jti: base64url(crypto.getRandomValues(new Uint8Array(16))), htm: method, htu, iat: Math.floor(Date.now() / 1000),
    ath: token && base64url(await crypto.subtle.digest("SHA-256", utf8(token))),
  };
  const header = { typ: "dpop+jwt", alg: "ES256", jwk: { kty, crv, x, y } };
  const signed = [header, claims].map((part) => base64url(utf8(JSON.stringify(part)))).join(".");
  const signature = await crypto.subtle.sign({ name: "ECDSA", hash: "SHA-256" }, privateKey, utf8(signed));
  return `${signed}.${base64url(signature)}`;
}

/** The key of this origin; all its tabs have the same. */
async function keyPair() {
  const opening = indexedDB.open("latchkey", 1);
  opening.onupgradeneeded = () => opening.result.createObjectStore(STORE);
  const database = await ended(opening);
  try {
    const store = (mode) => database.transaction(STORE, mode).objectStore(STORE);
    const kept = await ended(store("readonly").get(NAME));
    if (kept) return kept;
    const made = await crypto.subtle.generateKey(KEY, false, ["sign"]);
    // Another tab may have been faster: then its key stays.
    await ended(store("readwrite").add(made, NAME)).catch(() => {});
    return await ended(store("readonly").get(NAME));
  } finally {
    database.close();
  }
}

function ended(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

function utf8(text) {
  return new TextEncoder().encode(text);
}

function base64url(bytes) {
  return btoa(String.fromCharCode(...new Uint8Array(bytes)))
    .replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}
