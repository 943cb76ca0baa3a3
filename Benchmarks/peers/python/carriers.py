import asyncio
import time

import httpx
import jwt

CONFIGURATION_LIFETIME = 3600
KEYS_MIN_AGE = 60  # an unknown kid refreshes the keys at most this often
CLOCK_LEEWAY = 60


class Refused(Exception):
    """The carrier answered, and the sign-in is not good."""


class CarrierError(Exception):
    """The carrier could not be asked."""


class Carrier:
    def __init__(self, configuration):
        self.issuer = configuration["issuer"]
        self.token_endpoint = configuration["token_endpoint"]
        self.jwks_uri = configuration["jwks_uri"]
        self.expires = time.monotonic() + CONFIGURATION_LIFETIME
        self.keys = {}
        self.keys_fetched = float("-inf")
        self.keys_lock = asyncio.Lock()


class Carriers:
    """Finds and remembers each carrier's OpenID configuration and keys."""

    def __init__(self, discovery_url, client_id, client_secret):
        self.discovery_url = discovery_url
        self.client_id = client_id
        self.auth = httpx.BasicAuth(client_id, client_secret)
        limits = httpx.Limits(max_connections=64, max_keepalive_connections=64)
        self.client = httpx.AsyncClient(timeout=10, limits=limits)
        self.by_mccmnc = {}

    async def __aenter__(self):
        await self.client.__aenter__()
        return self

    async def __aexit__(self, *exc_info):
        await self.client.__aexit__(*exc_info)

    async def identify(self, body):
        """Redeems the code, checks the ID token and returns its (iss, sub)."""
        carrier = await self._find(body["mccmnc"])
        try:
            response = await self.client.post(
                carrier.token_endpoint,
                auth=self.auth,
                data={
                    "grant_type": "authorization_code",
                    "code": body["code"],
                    "redirect_uri": body["redirect_uri"],
                    "code_verifier": body["code_verifier"],
                },
            )
        except httpx.HTTPError as problem:
            raise CarrierError(repr(problem)) from problem
        if response.status_code == 400:
            raise Refused
        if response.status_code != 200:
            raise CarrierError(f"token endpoint: {response.status_code}")
        try:
            id_token = response.json()["id_token"]
            claims = jwt.decode(
                id_token,
                await self._key(carrier, jwt.get_unverified_header(id_token).get("kid")),
                algorithms=["RS256"],
                audience=self.client_id,
                issuer=carrier.issuer,
                leeway=CLOCK_LEEWAY,
                options={"require": ["iss", "sub", "aud", "exp", "iat"]},
            )
        except (jwt.InvalidTokenError, KeyError, ValueError) as problem:
            raise Refused from problem
        if claims.get("nonce") != body["nonce"]:
            raise Refused
        return claims["iss"], claims["sub"]

    async def _find(self, mccmnc):
        carrier = self.by_mccmnc.get(mccmnc)
        if carrier is None or carrier.expires < time.monotonic():
            query = {"client_id": self.client_id, "mccmnc": mccmnc}
            carrier = Carrier(await self._get(self.discovery_url, query))
            self.by_mccmnc[mccmnc] = carrier
        return carrier

    async def _key(self, carrier, kid):
        if kid not in carrier.keys:
            async with carrier.keys_lock:
                if kid not in carrier.keys and carrier.keys_fetched + KEYS_MIN_AGE < time.monotonic():
                    keys = jwt.PyJWKSet.from_dict(await self._get(carrier.jwks_uri)).keys
                    carrier.keys = {key.key_id: key for key in keys}
                    carrier.keys_fetched = time.monotonic()
        return carrier.keys[kid]

    async def _get(self, url, query=None):
        try:
            response = await self.client.get(url, params=query)
            response.raise_for_status()
            return response.json()
        except (httpx.HTTPError, ValueError) as problem:
            raise CarrierError(repr(problem)) from problem
