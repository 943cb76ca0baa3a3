import LatchkeyAPI

extension APISchema {
    static let ofRedirects: KeyValuePairs<String, APISchema> = [
        "LinkStart": object(
            "A link by redirects: the fields of a start.",
            startFields(
                of: ["web", "popup"], end: "Where the link ends: one of the client's.", "https://web.example/done")),
        "AppStart": object(
            "A start of an app.",
            startFields(
                of: ["ios", "android"], end: "Where the sign-in ends: one of the client's.",
                "com.example.app://callback")),
        "OneTimeSessionCode": object(
            "What the app was redirected with.",
            ["session_id": visible("Also `sessionId`.", upTo: 64, example: APIExample.handle)],
            optional: ["code_verifier": codeVerifier, "client_type": pageClientType]),
        "LoginInitiation": object("A third party's request to sign in.", loginInitiationFields),
        "AuthorizationResponse": object(
            "What the provider sends with the browser.",
            authorizationResponseFields
                + fields(optional: [
                    "sent_again": text("Set by the page that sends the form again.", example: "true")
                ])),
    ]

    static let loginInitiationFields =
        fields([
            "iss": visible("The provider's issuer.", upTo: 2048, example: "https://acme.example")
        ])
        + fields(optional: [
            "login_hint": text("The expected user.", example: "jane@example.com"),
            "target_link_uri": visible(
                "Where the sign-in ends: one of the client's `redirect_uris` for pages; by default the first one.",
                upTo: 2048, example: "https://web.example/done"),
        ])

    static let authorizationResponseFields = fields(optional: [
        "state": visible("Identifies the sign-in.", upTo: 256),
        "code": text("The authorization code.", pattern: "^[ -~]*$", lengths: 0...4096),
        "error": text("Why there is no code.", example: "access_denied"),
        "iss": text("The issuer of the response (RFC 9207).", example: "https://op1.att.com"),
        "mccmnc": text("The carrier that was chosen.", pattern: "^[0-9]{5,6}$", example: "310410"),
        "login_hint_token": visible("From the choice of the carrier, on a secondary device.", upTo: 4096),
        "response": visible("In place of all others: a signed JWT that has them (JARM).", upTo: 16_384),
    ])

    private static func startFields(
        of types: [String], end description: String, _ redirectURI: String
    ) -> [Field] {
        fields(
            [
                "client_type": text("Also `clientType`.", choices: types),
                "redirect_uri": visible(description, upTo: 2048, example: redirectURI),
            ],
            optional: [
                "client_id": clientID,
                "scope": words("Words of the client's `scopes`.", upTo: 1024, example: "openid email"),
                "acr_values": acrValues, "context": context,
                "prompt": words("As in a start.", upTo: 64, example: "login"), "max_age": maximumAge,
                "login_hint": text("The expected user."),
                "tracking_id": visible("In a success; by default the correlation id.", upTo: 128, example: "t-1"),
                "operator": operatorName, "phone_number": phoneNumber,
                "code_challenge": text(
                    "Of a verifier for `POST /auth/session`; a link does not use it.", pattern: "^[A-Za-z0-9_-]{43}$"),
                "code_challenge_method": text("With `code_challenge`.", choices: ["S256"]),
                "correlation_id": correlationID,
            ]) + networkFields
    }
}
