#!/usr/bin/env python3
"""Signs a user in, through a key rotation and refreshes, and out with LemonLDAP::NG (from Debian), by the \
configuration that docs/providers.md shows; see scripts/third-party.

    Tests/ThirdParty/lemonldap_sign_in.py --latchkey .build/debug/latchkey
"""
import json
import pathlib
import tempfile
import time

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from provider_walk import HERE, Browser, Walk, check, free_port, latchkey, running, submit

INI = """[all]
logLevel = notice
checkTime = 1
[configuration]
type = File
dirName = {0}/configuration
localStorage = Cache::FileCache
localStorageOptions = {{'namespace' => 'configuration', 'cache_root' => '{0}/cache'}}
[portal]
staticPrefix = /static
templateDir = /usr/share/lemonldap-ng/portal/templates
languages = en
"""


def key_pair():
    key = rsa.generate_private_key(65537, 2048)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    public = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    return private.decode(), public.decode()


class Portal:
    """The configuration of a portal with the users of its demonstration, and one client."""

    def __init__(self, folder, site, relying_party):
        self.folder, self.site, self.relying_party, self.number = pathlib.Path(folder), site, relying_party, 0
        for name in ("configuration", "cache", "sessions/lock", "persistent/lock"):
            (self.folder / name).mkdir(parents=True)
        (self.folder / "lemonldap-ng.ini").write_text(INI.format(self.folder))
        (self.folder / "portal.psgi").write_text(
            "use Lemonldap::NG::Portal::Main; Lemonldap::NG::Portal::Main->run({});")

    def write(self):
        """The next configuration, with a new signing key. The portal reads it within two seconds."""
        self.number += 1
        private, public = key_pair()
        option, sessions = "oidcRPMetaDataOptions", "Lemonldap::NG::Common::Apache::Session::Generate::SHA256"
        client = {
            "ClientID": "latchkey", "ClientSecret": "example+secret/=", "IDTokenSignAlg": "RS256", "BypassConsent": 1,
            "RedirectUris": self.relying_party + "/callback", "UserIDAttr": "uid", "RequirePKCE": 1, "RefreshToken": 1,
            "PostLogoutRedirectUris": self.relying_party + "/logged-out", "LogoutBypassConfirm": 1,
            "AccessTokenExpiration": 3}
        configuration = {
            "cfgNum": self.number, "cfgAuthor": "test", "cfgDate": int(time.time()), "cfgVersion": "2.16.1",
            "portal": self.site + "/", "domain": "127.0.0.1", "securedCookie": 0, "key": "of a test",
            "authentication": "Demo", "userDB": "Same", "passwordDB": "Null", "registerDB": "Null",
            "demoExportedVars": {"cn": "cn", "mail": "mail", "uid": "uid"}, "whatToTrace": "uid", "requireToken": 0,
            "locationRules": {}, "exportedHeaders": {}, "exportedVars": {}, "macros": {}, "groups": {},
            # A module of the portal in place of the pictures, which need programs of their own.
            "captcha": "::Lib::OneTimeToken",
            "globalStorage": "Apache::Session::File", "persistentStorage": "Apache::Session::File",
            "globalStorageOptions": {
                "Directory": f"{self.folder}/sessions", "LockDirectory": f"{self.folder}/sessions/lock",
                "generateModule": sessions},
            "persistentStorageOptions": {
                "Directory": f"{self.folder}/persistent", "LockDirectory": f"{self.folder}/persistent/lock"},
            "issuerDBOpenIDConnectActivation": 1, "issuerDBOpenIDConnectPath": "^/oauth2/",
            "oidcServiceMetaDataIssuer": self.site, "oidcServiceAllowAuthorizationCodeFlow": 1,
            "oidcServiceMetaDataAuthnContext": {"loa-1": 1}, "oidcServicePrivateKeySig": private,
            "oidcServicePublicKeySig": public, "oidcServiceKeyIdSig": f"key-{self.number}",
            "oidcRPMetaDataOptions": {"latchkey": {option + name: value for name, value in client.items()}},
            "oidcRPMetaDataExportedVars": {"latchkey": {"name": "cn", "email": "mail"}}}
        (self.folder / "configuration" / f"lmConf-{self.number}.json").write_text(json.dumps(configuration))


def fill(form):
    if "user" in form.fields:
        form.fields.update(user="dwho", password="dwho")


def main():
    ports = {"8080": free_port(), "9400": free_port()}
    site, base = f"http://127.0.0.1:{ports['9400']}", f"http://127.0.0.1:{ports['8080']}"
    with tempfile.TemporaryDirectory() as folder:
        portal = Portal(folder, site, base + "/auth/lemonldap")
        portal.write()
        program = [
            "plackup", "-E", "deployment", "--host", "127.0.0.1", "-p", str(ports["9400"]), f"{folder}/portal.psgi"]
        with running("the provider", program, site + "/.well-known/openid-configuration",
                     LLNG_DEFAULTCONFFILE=f"{folder}/lemonldap-ng.ini"), \
                latchkey((HERE / "lemonldap.yaml").read_text(), ports):
            walk, browser = Walk(base, "lemonldap", submit(fill)), Browser()
            user = walk.sign_in(browser)
            check((user["name"], user["email"]) == ("Doctor Who", "dwho@badwolf.org"), "with the provider's attributes")
            walk.sign_out(browser)
            portal.write()
            time.sleep(3)
            again = Browser()
            check(walk.sign_in(again)["user_id"] == user["user_id"], "the same user signs in after a key rotation")
            for _ in range(2):
                check(walk.resource(again, "userinfo")["name"] == "Doctor Who", "with its attributes")
                time.sleep(4)
            walk.sign_out(again)


if __name__ == "__main__":
    main()
