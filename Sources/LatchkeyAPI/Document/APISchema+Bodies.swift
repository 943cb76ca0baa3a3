import Primitives

/// What bodies have in them: the fields that the decoders read. The app kits' own names of some are taken, too.
extension APISchema {
    static let bodies: [(name: String, schema: APISchema)] = [
        ("SignIn", object("A sign-in with a code.", signInFields())),
        (
            "TransactionApproval",
            object("A sign-in with a code for a transaction.", signInFields(isTransaction: true))
        ),
        ("IdentityToLink", object("A sign-in with a code, to be added to the user.", linkFields)),
        ("LinkStart", linkStart),
        (
            "SignOut",
            object(
                "Where it ends.",
                [
                    .required(
                        "post_logout_redirect_uri",
                        visible(
                            "One of the client's redirect URIs. Also `redirect_uri`.", upTo: 2048,
                            example: "https://web.example/signed-out"))
                ])
        ),
        (
            "BackchannelLogout",
            object("A logout.", [.required("logout_token", visible("A JWT.", upTo: 16_384))])
        ),
        ("Registration", registration), ("Refresh", refresh), ("OneTimeSessionCode", oneTimeSessionCode),
        ("ProfileEdit", profileEdit), ("TokenQuestion", tokenQuestion), ("ReceiptToRedeem", receiptToRedeem),
        (
            "BackchannelAuthentication",
            object("Whom to ask, and what for.", backchannelAuthenticationFields, oneGroupOf: networks)
        ),
        ("BackchannelNotification", backchannelNotification), ("AuthorizationAnswer", authorizationResponse),
    ]

    private static let networks = [["mccmnc"], ["mcc", "mnc"]]

    private static let networkFields: [Field] = [
        .optional(
            "mccmnc",
            anyOf(
                "The user's network, which picks the carrier: required where carriers are asked. Or send `mcc` and `mnc`.",
                [
                    text("Leading zeros count.", pattern: "^[0-9]{5,6}$", example: "310410"),
                    integer("The same as a number.", from: 10_000, example: 310_410),
                ])),
        .optional("mcc", digits("The country's part of `mccmnc`.", "^[0-9]{3}$", "310")),
        .optional("mnc", digits("The network's part of `mccmnc`.", "^[0-9]{2,3}$", "410")),
    ]

    private static func digits(_ description: String, _ pattern: String, _ example: String) -> APISchema {
        text(description, pattern: pattern, example: example)
    }

    private static let clientID = text(
        "The app, as the carriers know it. Also `clientId`.", pattern: "^[ -~]+$", lengths: 1...255,
        example: "ccid-example")

    private static func redirectURI(_ description: String) -> APISchema {
        visible(description + " Also `redirectURI`, `redirectUri`.", upTo: 2048, example: "com.example.app://callback")
    }

    static let codeVerifier = text(
        "The verifier whose challenge went with the authorization request, or with the start (RFC 7636). Also "
            + "`codeVerifier`.",
        pattern: "^[A-Za-z0-9._~-]+$", lengths: 43...128, example: APIExample.verifier)

    static let acrValues = words(
        "The levels of assurance that were asked for; the ID token's `acr` must be one. Also `acrValues`.", upTo: 255,
        example: "a1 a3")

    static let context = text("What the user is shown: at most 280 characters. The ID token must have the same.")

    private static func signInFields(isTransaction: Bool = false) -> [Field] {
        [
            .required("client_id", clientID),
            .required(
                "code",
                text(
                    "The authorization code.", pattern: "^[ -~]+$", lengths: 1...4096,
                    example: "SplxlOBeZQQYbYS6WxSbIA")),
            .required("redirect_uri", redirectURI("As in the authorization request, to the byte.")),
            .optional("code_verifier", codeVerifier),
            .optional(
                "nonce",
                text("As in the authorization request; then the ID token must have it.", example: "n-0S6_WzA2Mj")),
            Field(name: "acr_values", schema: acrValues, isRequired: isTransaction),
            Field(name: "context", schema: context, isRequired: isTransaction),
            .optional("scope", words("The scopes that were asked for.", upTo: 1024, example: "openid email")),
            .optional("state", text("Taken, and not looked at: the app has compared it.")),
            .optional("correlation_id", correlationID),
        ] + networkFields
    }

    private static let linkFields: [Field] =
        [.required("provider", text("A way to sign in: an `id` of `GET /auth/providers`.", example: "zenkey"))]
        + signInFields()

    private static let linkStart = object(
        "A link by redirects: what a start takes.",
        [
            .required("client_type", text("Also `clientType`.", choices: ["web", "popup"])),
            .required(
                "redirect_uri",
                visible("Where it ends: one of the client's.", upTo: 2048, example: "https://web.example/done")
            ),
            .optional("client_id", clientID),
            .optional("scope", words("Words of the client's `scopes`.", upTo: 1024, example: "openid email")),
            .optional("acr_values", acrValues), .optional("context", context),
            .optional("prompt", words("As in OpenID Connect.", upTo: 64, example: "login")),
            .optional("login_hint", text("Who is expected.")),
            .optional("tracking_id", visible("Comes back in the outcome.", upTo: 128, example: "t-1")),
            .optional(
                "code_challenge",
                text("Taken as by a start; nothing is exchanged here.", pattern: "^[A-Za-z0-9_-]{43}$")),
            .optional("code_challenge_method", text("With `code_challenge`.", choices: ["S256"])),
            .optional("correlation_id", correlationID),
        ] + networkFields)

    private static let clientType = text(
        "For a page of this server's own origin, which shows no key: then it gets cookies instead of tokens. Also "
            + "`clientType`.", choices: ["web"])

    private static let registration = object(
        "What the user filled in. What is left out is taken from the carrier.",
        [
            .required(
                "state_key",
                visible(
                    "The handle of the answer `user_not_registered`. Also `zenkey_sub`.", upTo: 512,
                    example: APIExample.handle)),
            .optional("code_verifier", codeVerifier), .optional("username", text("At most 64 bytes.")),
            .optional("name", text("The whole name.")),
            .optional("given_name", text("The given name.")), .optional("family_name", text("The family name.")),
            .optional("email", text("An e-mail address.", example: "jane@example.com")),
            .optional("phone", text("A phone number. Also `phone_number`.", example: "+12025550123")),
            .optional("postal_code", text("The postal code.", example: "90210")),
            .optional("client_type", clientType), .optional("correlation_id", correlationID),
        ])

    private static let refresh = object(
        "A refresh (RFC 6749 section 6).",
        [
            .required(
                "grant_type", text("Always the same. Also `grantType`.", choices: ["refresh_token"])),
            .optional(
                "refresh_token",
                visible(
                    "Of the latest answer: required of all but pages, which have it in a cookie. Also `refreshToken`.",
                    upTo: 512, example: APIExample.refreshToken)),
            .optional("client_type", clientType),
            .optional("client_id", visible("Then it must be the session's. Also `clientId`.", upTo: 255)),
            .optional("correlation_id", correlationID),
        ])

    private static let oneTimeSessionCode = object(
        "What the app was redirected with.",
        [
            .required("session_id", visible("Also `sessionId`.", upTo: 64, example: APIExample.handle)),
            .optional("code_verifier", codeVerifier), .optional("client_type", clientType),
        ])

    private static let profileEdit = object(
        "What is left out stays; null or an empty text clears.",
        [
            .optional("username", text("At most 64 bytes.").orNull), .optional("name", text("The whole name.").orNull),
            .optional("given_name", text("The given name.").orNull),
            .optional("family_name", text("The family name.").orNull),
            .optional("email", text("An e-mail address.", example: "jane@example.com").orNull),
            .optional("phone_number", text("A phone number. Also `phone`.", example: "+12025550123").orNull),
            .optional("postal_code", text("The postal code.", example: "90210").orNull),
        ])

    private static let tokenQuestion = object(
        "A token of a session.",
        [
            .required("token", text("It.", lengths: 1...4096, example: APIExample.token)),
            .optional(
                "token_type_hint",
                text("`refresh_token`, or anything else for session tokens.", example: "access_token")),
        ])

    private static let receiptToRedeem = object(
        "A receipt.", [.required("receipt", visible("A JWT.", upTo: 8192, example: "eyJhbGciOiJFUzI1NiJ9.e30.c2ln"))])

    private static let backchannelAuthenticationFields: [Field] =
        [
            .required("client_id", clientID),
            .required(
                "login_hint",
                visible(
                    "The user's phone number, or the carrier's subject. Also `loginHint`.", upTo: 255,
                    example: "+12025550123")),
            .required("scope", words("`openid` and what else is wanted.", upTo: 1024, example: "openid email")),
            .required("redirect_uri", redirectURI("One of the client's.")),
            .optional("acr_values", acrValues), .optional("context", context),
            .optional(
                "prompt", words("`none`, or `login` and `consent`.", upTo: 64, example: "login")),
            .optional("options", text("Handed on to the carrier.", pattern: "^[ -~]*$", lengths: 0...255)),
            .optional("correlation_id", correlationID),
        ] + networkFields

    private static let backchannelNotification = object(
        "How a server-initiated sign-in ended: `id_token`, or `error`.",
        [
            .required("auth_req_id", visible("The carrier's own.", upTo: 512, example: "carrier-request-1")),
            .optional("state", text("That of the request.")),
            .optional("error", text("Why not.", example: "access_denied")),
            .optional("id_token", visible("The ID token.", upTo: 32_768)),
            .optional("access_token", visible("For userinfo.", upTo: 8192)),
        ], oneGroupOf: [["id_token"], ["error"]])

    private static let authorizationResponse = object(
        "What the carrier sends with the browser.", authorizationResponseFields.map { .optional($0.name, $0.schema) })

    static let authorizationResponseFields: [(name: String, schema: APISchema)] = [
        ("state", visible("Which sign-in it is.", upTo: 256)),
        ("code", text("The authorization code.", pattern: "^[ -~]*$", lengths: 0...4096)),
        ("error", text("Why there is no code.", example: "access_denied")),
        ("iss", text("Who answers (RFC 9207).", example: "https://op1.att.com")),
        ("mccmnc", digits("The carrier that was chosen.", "^[0-9]{5,6}$", "310410")),
        ("login_hint_token", visible("Of the choice of the carrier, on a secondary device.", upTo: 4096)),
    ]
}
