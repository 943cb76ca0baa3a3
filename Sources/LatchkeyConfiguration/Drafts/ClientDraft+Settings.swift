internal import OpenIDConnect
internal import SignIn

extension ClientDraft {
    static let settings = ofAll + ofOpenID.map { $0.of(.zenkey, .oidc) } + ofSessions

    /// The keys, without a word on the kinds of provider whose clients have them.
    static let ofEveryKind = ofAll + ofOpenID

    private static let ofAll: [Setting<ClientDraft>] = [
        Setting("id", .optional(.clientID), \.id, "The client_id of the app at the provider."),
        Setting(
            "secret", .optional(.clientSecret), \.secret, isSecret: true,
            "The client secret; LATCHKEY_ZENKEY_CLIENTS may give it instead."),
        Setting(
            "token_endpoint_auth_method", .optional(.choice), \.method,
            "How the client authenticates at the token endpoint. The default for a client without a secret is "
                + "private_key_jwt if it has a private key, else tls_client_auth if it has a certificate, or "
                + "self_signed_tls_client_auth if the certificate is self-signed; otherwise it is client_secret_basic. "
                + "none is for a public client, which has "
                + "neither, of an oauth2 provider; there it is the default for a client without both."),
        Setting(
            "client_secret_basic_encoding", .optional(.choice), \.basicEncoding,
            "How id and secret are written in client_secret_basic: form_urlencoded, as RFC 6749 demands and by "
                + "default; or plain, for a provider that does not decode them."),
        Setting(
            "certificate_file", .optional(.path), \.certificateFile,
            "A PEM file of the client's TLS certificate (RFC 8705), followed by its intermediates. The client "
                + "authenticates with it, or its tokens are bound to it."
        ).reloaded(.value),
        Setting(
            "certificate_key", .optional(.certificateKey), \.certificateKey, isSecret: true,
            "The private key of the certificate, in PEM without a passphrase."
        ).reloaded(.value),
        Setting(
            "private_key", .optional(.clientKey), \.privateKey.key, isSecret: true,
            "The private key for private_key_jwt, signed authorization requests and backchannel authentication, in "
                + "PEM or as a JSON Web Key: RSA of at least 2048 bits (RS256 or PS256), P-256 (ES256), or Ed25519 "
                + "(EdDSA)."),
        Setting(
            "private_key_id", .optional(.keyID), \.privateKey.id,
            "The kid of the private key at the provider; a JSON Web Key may have its own. Otherwise it is the key's "
                + "thumbprint (RFC 7638)."),
        Setting(
            "private_key_alg", .optional(.choice(of: ClientKey.algorithms)), \.privateKey.algorithm,
            "What the private key signs with; a JSON Web Key may have its own. The default is RS256 for RSA and EdDSA "
                + "for Ed25519."),
        Setting(
            "other_private_key", .optional(.clientKey), \.otherPrivateKey.key, isSecret: true,
            "A second private key, which signs nothing: /.well-known/jwks.json has its public half before it replaces "
                + "private_key, and after it was replaced."
        ).reloaded(.value),
        Setting(
            "other_private_key_id", .optional(.keyID), \.otherPrivateKey.id,
            "The kid of other_private_key, as private_key_id."
        ).reloaded(.value),
        Setting(
            "other_private_key_alg", .optional(.choice(of: ClientKey.algorithms)), \.otherPrivateKey.algorithm,
            "What other_private_key signs with, as private_key_alg."
        ).reloaded(.value),
        Setting(
            "assertion_audience", .optional(.choice), \.assertionAudience,
            "The audience of a private_key_jwt. issuer: the provider's issuer, the default for OpenID providers; "
                + "token_endpoint: its token endpoint, the default for carriers and for oauth2; endpoint: the endpoint "
                + "that the request goes to, the default for mobile operators and Telco Finder."),
        Setting(
            "signed_secret.issuer", .optional(.shownName), \.secretIssuer,
            "The iss of a client secret that is a JWT signed with private_key; for Sign in with Apple the team id."),
        Setting(
            "signed_secret.audience", .optional(.carrierURL), \.secretAudience,
            "The aud of such a client secret; for Sign in with Apple https://appleid.apple.com."),
        Setting(
            "redirect_uris", .list(of: .redirectURI, "a list of redirect URIs"), \.rules.redirectURIs,
            "The redirect URIs that a sign-in may name. Without any, a sign-in with a code may name each one, and no "
                + "sign-in by redirect can start."),
        Setting(
            "redirect_uri", .optional(.choice), \.rules.sdkRedirectURI,
            "For codes that a provider's SDK gets in the app: what the token request has in place of a redirect_uri "
                + "that the sign-in does not name. none: no such parameter; empty: an empty one; postmessage: "
                + "this word."
        ),
        Setting(
            "client_types", .clientTypes, \.rules.clientTypes,
            "The kinds of frontend that a redirect URI is for, by redirect URI; by default ios and android for an "
                + "app's own scheme, web and popup for https, and all but spa for http on this machine."),
        Setting(
            "require_code_challenge", .flag(), \.rules.requiresCodeChallenge,
            "Whether a sign-in by redirects needs a code_challenge, unless its session is in a cookie (web)."),
        Setting("scopes", .list(of: .scope, "a list of scopes"), \.rules.scopes, "The scopes that the app requests."),
        Setting(
            "allowed_origins", .list(of: .origin, "a list of origins"), \.rules.allowedOrigins,
            "The origins of the app's web frontends, which may call the API from a browser without an API key, for "
                + "this client only."),
        Setting(
            "pkce", .choice, \.rules.pkce,
            "required: a sign-in must have a code verifier; optional: it may have one, and has no retry without."
        ),
        Setting(
            "authorization_parameters", .authorizationParameters, \.rules.parameters.fixed,
            "Parameters of the client's authorization requests, as the provider's. They win over those."
        ).of(.oidc, .oauth2),
        Setting(
            "request_parameters", .list(of: .requestParameter, "a list of parameters"), \.rules.parameters.fromApps,
            "The parameters of authorization requests that the app may send, besides the provider's."
        ).of(.oidc, .oauth2),
        Setting(
            "trusted_audiences", .list(of: .clientID, "a list of audiences"), \.rules.trustedAudiences,
            "Further audiences that the client's ID tokens may have, besides the provider's trusted_audiences."
        ).of(.oidc),
        Setting(
            "nonce", .choice, \.rules.nonce,
            "client: the app makes its own nonce; issued: only a nonce that this server has issued is accepted, once."),
        Setting(
            "native_audiences", .list(of: .clientID, "a list of audiences"), \.rules.native.audiences,
            "The audiences that ID tokens of native sign-ins may have: the client ids or bundle ids with which the "
                + "device or a provider's SDK gets them. Without any, there is no native sign-in."
        ).of(.oidc, .oauth2),
        Setting(
            "native_nonce", .choice, \.rules.native.nonce,
            "Of native sign-ins and of Firebase's tokens. issued: only a nonce that this server has issued is "
                + "accepted, once; client: the app makes its own nonce; none: it need not have one. The default is "
                + "issued, and for firebase_pnv none."
        ).withoutDefault().of(.oidc, .oauth2, .firebasePNV),
        Setting(
            "native_code", .choice, \.rules.native.code,
            "What happens to the authorization code of a native sign-in. ignore: nothing; redeem: it is exchanged for "
                + "the tokens that store_tokens keeps, with redirect_uri, or none."
        ).of(.oidc, .oauth2),
        Setting(
            "access_token", .choice, \.rules.accessToken.form,
            "The session tokens of this client's sessions. opaque: services ask whose they are; jwt: services can "
                + "verify them by themselves (RFC 9068), until they expire, which is after 10 minutes by default."),
        Setting(
            "access_token_audience", .list(of: .clientID, "a list of audiences"), \.rules.accessToken.audience,
            "The services that the client's JWTs are for: their aud."),
        Setting(
            "dpop_bound_tokens", .choice, \.rules.boundTokens,
            "Whether the session's tokens are bound to a key of the app (DPoP, RFC 9449). off: proofs are ignored; "
                + "optional: an app that sends a proof gets bound tokens; required: no other app gets a session."),
    ]

    /// Of ID tokens, userinfo and signed responses.
    private static let ofOpenID: [Setting<ClientDraft>] = [
        Setting(
            "id_token_signed_response_alg", .optional(.choice), \.rules.idTokenSigningAlgorithm,
            "The only algorithm that the client's ID tokens and logout tokens may be signed with. By default RS256 and "
                + "ES256 are accepted, as far as the provider's metadata lists them."),
        Setting(
            "id_token_encrypted_response_alg", .optional(.choice), \.idTokens.algorithm,
            "How the client's ID tokens are encrypted: RSA-OAEP-256 with an RSA decryption_key, ECDH-ES with one of "
                + "P-256. Then no other is accepted. By default none is encrypted."),
        Setting(
            "id_token_encrypted_response_enc", .optional(.choice), \.idTokens.encryption,
            "How the content of encrypted ID tokens is encrypted. The default is A256GCM."),
        Setting(
            "decryption_key", .optional(.decryptionKey), \.decryptionKey.key, isSecret: true,
            "The private key that decrypts ID tokens and userinfo, in PEM or as a JSON Web Key: RSA of at least 2048 "
                + "bits, or P-256. /.well-known/jwks.json has its public half."),
        Setting(
            "decryption_key_id", .optional(.keyID), \.decryptionKey.id,
            "The kid of decryption_key, as private_key_id."),
        Setting(
            "other_decryption_key", .optional(.decryptionKey), \.otherDecryptionKey.key, isSecret: true,
            "A second key that decrypts, too, and is not published: the next decryption_key, or the one before."),
        Setting(
            "other_decryption_key_id", .optional(.keyID), \.otherDecryptionKey.id,
            "The kid of other_decryption_key, as private_key_id."),
        Setting(
            "userinfo_signed_response_alg", .optional(.choice), \.rules.userInfoSigningAlgorithm,
            "The algorithm that userinfo responses must be signed with. By default a response may be plain JSON, or "
                + "signed with RS256 or ES256."),
        Setting(
            "userinfo_encrypted_response_alg", .optional(.choice), \.userInfo.algorithm,
            "How userinfo responses are encrypted for the client, as id_token_encrypted_response_alg. Then no other is "
                + "accepted. By default none is encrypted."),
        Setting(
            "userinfo_encrypted_response_enc", .optional(.choice), \.userInfo.encryption,
            "How the content of encrypted userinfo responses is encrypted. The default is A256GCM."),
        Setting(
            "authorization_signed_response_alg", .choice, \.rules.responseSigningAlgorithm,
            "The algorithm that authorization responses must be signed with, where the provider's response_mode is a "
                + "jwt. The default is RS256."
        ).withoutDefault(),
    ]

    private static let ofSessions: [Setting<ClientDraft>] = [
        Setting(
            "sessions.access_lifetime", .optional(.seconds(1...31_536_000)), \.rules.sessions.access,
            "Replaces the general value for this client's sessions."),
        Setting(
            "sessions.refresh_lifetime", .optional(.seconds(1...315_360_000)), \.rules.sessions.refresh,
            "Replaces the general value for this client's sessions."),
        Setting(
            "sessions.idle_timeout", .optional(.seconds(60...315_360_000)), \.rules.sessions.idle,
            "Replaces the general value for this client's sessions."),
        Setting(
            "sessions.absolute_timeout", .optional(.seconds(60...315_360_000)), \.rules.sessions.absolute,
            "Replaces the general value for this client's sessions."),
    ]
}
