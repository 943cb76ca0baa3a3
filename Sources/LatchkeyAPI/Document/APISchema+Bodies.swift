/// The request bodies: the fields that the decoders read. Some fields are also accepted under the app kits' names.
extension APISchema {
    static let bodies: KeyValuePairs<String, APISchema> = [
        "SignIn": object(
            "A sign-in with a `code`; at a provider of kind `camara` with an `operator_token` in its place, and at one "
                + "of kind `firebase_pnv` with a `token`.",
            codeOrTokenFields + pageFields + networkFields),
        "Refresh": object(
            "A refresh (RFC 6749 section 6).",
            ["grant_type": text("Always the same. Also `grantType`.", choices: ["refresh_token"])],
            optional: [
                "refresh_token": visible(
                    "From the latest response. Pages leave it out: theirs is in a cookie. Also `refreshToken`.",
                    upTo: 512, example: APIExample.refreshToken), "client_type": pageClientType,
                "client_id": visible("If sent, it must be the session's. Also `clientId`.", upTo: 255),
                "correlation_id": correlationID,
            ]),
        "ProfileEdit": object(
            "A field that is left out stays; null or an empty text clears it.",
            profileFields("phone_number", also: "phone").map(\.orNull)),
    ]

    package static let networkFields = fields(optional: [
        "mccmnc": anyOf(
            "The user's network, which selects the carrier: required for carriers, except in a start by redirects, "
                + "where the user can choose. Or send `mcc` and `mnc`.",
            [
                text("Leading zeros count.", pattern: "^[0-9]{5,6}$", example: "310410"),
                integer("The same as a number.", from: 10_000, example: 310_410),
            ]), "mcc": text("The country's part of `mccmnc`.", pattern: "^[0-9]{3}$", example: "310"),
        "mnc": text("The network's part of `mccmnc`.", pattern: "^[0-9]{2,3}$", example: "410"),
    ])

    package static let clientID = text(
        "The app, as the providers know it; required if the provider has several clients. Also `clientId`.",
        pattern: "^[ -~]+$", lengths: 1...255, example: "ccid-example")

    package static let codeVerifier = text(
        "The verifier of the challenge in the authorization request, or in the start (RFC 7636). Also `codeVerifier`.",
        pattern: "^[A-Za-z0-9._~-]+$", lengths: 43...128, example: APIExample.verifier)

    private static let acrValuesMeaning =
        "The requested levels of assurance; the ID token's `acr` must be one of them. Also `acrValues`."

    package static let acrValues = words(acrValuesMeaning, upTo: 255, example: "a1 a3")

    package static let maximumAge = integer(
        "How long ago the user may have authenticated at the provider, in seconds, up to 31536000. The ID token must "
            + "have an `auth_time` that is as recent. Also `maxAge`.", from: 0, example: 300)

    package static let context = text(
        "The text shown to the user: at most 280 characters. The ID token must repeat it.")

    package static func redirectURI(_ description: String) -> APISchema {
        visible(description + " Also `redirectURI`, `redirectUri`.", upTo: 2048, example: "com.example.app://callback")
    }

    package static func signInFields(isTransaction: Bool = false) -> [Field] {
        fields(
            [
                "code": text(
                    "The authorization code.", pattern: "^[ -~]+$", lengths: 1...16_384, example: APIExample.code)
            ],
            optional: [
                "client_id": clientID,
                "redirect_uri": redirectURI(
                    "Byte for byte as in the authorization request; required unless the client has exactly one, or its "
                        + "`redirect_uri` is set."),
                "code_verifier": codeVerifier,
                "nonce": text(
                    "As in the authorization request. If sent, the ID token must have it.", example: APIExample.nonce),
                "scope": words("The scopes that were asked for.", upTo: 1024, example: "openid email"),
                "state": text("Accepted and not used: the app has compared it."),
                "correlation_id": correlationID,
            ]) + [
                Field(name: "acr_values", schema: acrValues, isRequired: isTransaction),
                Field(name: "context", schema: context, isRequired: isTransaction),
            ]
    }

    /// Generators make several types of a choice between groups, so the texts say that one of the two is required.
    package static let codeOrTokenFields =
        signInFields().map { $0.name == "code" ? $0.ifPresent : $0 }
        + numberTokenFields
        + fields(optional: ["sign_in_id": visible("Of a sign-in with a digital credential that was begun.", upTo: 64)])
        + credentialFields.filter { $0.name != "code" }
        + fields(optional: [
            "operator": operatorName, "phone_number": phoneNumber,
            "user": text(
                "What Apple gives beside a user's first code, as text: only its name is used, and nothing confirms it.",
                example: #"{"name": {"firstName": "Ada", "lastName": "Lovelace"}}"#),
        ])

    /// The fields of a start by redirects, in a body or in a query. A query has all but `phone_number`.
    package static func startFields(
        of types: [String], end description: String, _ redirectURI: String, inQuery: Bool = false
    ) -> [Field] {
        func words(_ description: String, upTo longest: Int, example: String) -> APISchema {
            inQuery
                ? Self.wordsInQuery(description, upTo: longest, example: example)
                : Self.words(description, upTo: longest, example: example)
        }
        return fields(
            [
                "client_type": text(
                    "The kind of frontend: one that `redirect_uri` is for. Also `clientType`.", choices: types),
                "redirect_uri": visible(description, upTo: 2048, example: redirectURI),
            ],
            optional: [
                "client_id": clientID,
                "scope": words("Words of the client's `scopes`.", upTo: 1024, example: "openid email"),
                "acr_values": words(acrValuesMeaning, upTo: 255, example: "a1 a3"), "context": context,
                "prompt": words(
                    "Words of `login`, `consent` and `select_account`, or `none` alone. After `login`, the ID token's "
                        + "`auth_time` must not be before the start.", upTo: 64, example: "login"),
                "max_age": maximumAge, "login_hint": text("The expected user."),
                "tracking_id": visible("In a success; by default the correlation id.", upTo: 128, example: "t-1"),
                "operator": operatorName,
                "code_challenge": text(
                    "Of a verifier for `POST /auth/session`; required for `spa`. A link does not use it.",
                    pattern: "^[A-Za-z0-9_-]{43}$", example: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"),
                "code_challenge_method": text("With `code_challenge`.", choices: ["S256"]),
                "correlation_id": correlationID,
            ]) + networkFields + (inQuery ? [] : fields(optional: ["phone_number": phoneNumber]))
    }

    private static let pageFields = fields(optional: [
        "client_type": text(
            "At `/auth/{provider}/sign-in`, for a page of this server's own origin, which sends no key and gets "
                + "cookies instead of tokens. Also `clientType`.", choices: ["web"])
    ])

    package static let phoneNumber = visible(
        "By which Telco Finder finds the mobile operator, at a provider of kind `camara` that has one, if neither "
            + "`operator` nor `mccmnc` is sent. `+` and digits. Also `phoneNumber`.", upTo: 16, example: "+12025550123")

    package static let operatorToken = visible(
        "A TS.43 temporary token, which the app got from the operator by the SIM of the device. Also `operatorToken`.",
        upTo: 16_384)

    /// What proves a phone number in place of a code or a browser.
    package static let numberTokenFields = fields(optional: [
        "method": text(
            "How a phone number is proven; by default as the other fields show.",
            choices: ["redirect", "digital_credential", "operator_token", "firebase_pnv"]),
        "operator_token": operatorToken,
        "token": visible(
            "A token of Firebase Phone Number Verification, which Google's library gave the app, at a provider of kind "
                + "`firebase_pnv`.", upTo: 4096),
    ])

    /// What proves a phone number at a start with a digital credential.
    package static let strategyField = fields(optional: [
        "strategy": text(
            "Of a start at a provider of kind `aggregator`; by default that of the network. `desktop` is for "
                + "verifications.", choices: strategies)
    ])

    private static let strategies = ["ts43", "link", "desktop"]

    /// What ends a session at an aggregator.
    package static let credentialFields = fields(optional: [
        "vp_token": anyOf(
            "The wallet's, with one presentation of up to 16 kB.",
            [object("By the id of the query.", [:], isOpen: true), text("The presentation, or the object as JSON.")]),
        "data": anyOf(
            "In place of `vp_token`: that of the platform's whole response.",
            [object("With `vp_token`.", [:], isOpen: true), text("The object as JSON.")]),
        "code": visible("In place of `vp_token`: that which the browser of a link has brought.", upTo: 2048),
    ])

    /// What an app needs for the phone.
    package static let preparedCredential = fields(
        [
            "strategy": text(
                "`ts43`: the app asks the phone's wallet with `request`; `link`: it opens `authorization_url` over the "
                    + "mobile network; `desktop`: it shows `qr_code`.", choices: strategies),
            "expires_in": span("Time left", example: 300),
        ],
        optional: [
            "request": object(
                "For Credential Manager, or for `navigator.credentials.get`.",
                [
                    "protocol": text("Of the request.", example: "openid4vp-v1-unsigned"),
                    "data": object("The OpenID4VP request.", [:], isOpen: true),
                ]),
            "authorization_url": text("Its browser ends at `redirect_uri` with `code`."),
            "qr_code": text("The text of the code."),
        ])

    package static let operatorName = visible(
        "The mobile operator of a provider of kind `camara`, in place of `mccmnc`; required if it has several.",
        upTo: 32, example: "northwind")

    package static let pageClientType = text(
        "For a page of this server's own origin, which sends no key and gets cookies instead of tokens. Also "
            + "`clientType`.", choices: ["web"])

    package static func profileFields(_ phone: String, also alias: String? = nil) -> [Field] {
        fields(optional: [
            "username": text("At most 64 bytes."), "name": text("The full name."),
            "given_name": text("The given name."), "family_name": text("The family name."),
            "email": text("An email address.", example: "jane@example.com"),
            phone: text("A phone number." + (alias.map { " Also `\($0)`." } ?? ""), example: "+12025550123"),
            "postal_code": text("The postal code.", example: "90210"),
        ])
    }
}
