import Primitives
import SignIn

/// The schemas that have a name.
extension APISchema {
    static let components: [(name: String, schema: APISchema)] = [
        ("Error", error), ("PageSession", pageSession), ("Empty", object("Nothing to say.", [])),
        ("TokenResponse", tokenResponse),
        ("RegistrationNeeded", registrationNeeded), ("User", user), ("Session", session), ("Identity", identity),
        ("LinkedIdentity", linkedIdentity),
        ("Provider", provider), ("Introspection", introspection), ("ApprovedTransaction", approvedTransaction),
        ("RedeemedReceipt", redeemedReceipt), ("KeySet", keySet),
        ("BackchannelAuthenticationStarted", backchannelAuthenticationStarted),
        ("BackchannelAuthenticationWaiting", backchannelAuthenticationWaiting),
    ]

    private static let error = object("Why a call was refused.", errorFields())

    private static func errorFields(code: APISchema? = nil) -> [Field] {
        [
            .required("error", code ?? text("For programs: a code of OAuth, of the carrier, or of Latchkey.")),
            .required("error_description", text("For developers: what was wrong and what to do.")),
            .required("message", text("For the person who uses the app: short, without technical terms.")),
            .required(
                "error_type",
                text(
                    "The kind of error, by which an app decides what to show.",
                    choices: ErrorType.allCases.map(\.rawValue))),
            .optional("correlation_id", correlationID),
            .required("request_id", text("As in `X-Request-Id`.")),
        ]
    }

    static let correlationID = text(
        "What the sign-in is called in the logs here and at the carrier: the client's own, or one that the server made.",
        pattern: #"^[!#-\[\]-~]+$"#, lengths: 1...128, example: APIExample.correlationID)

    private static let token = text("256 random bits, to be kept secret.", example: APIExample.token)

    private static let tokenResponse = object(
        "A session of Latchkey's own; nothing in it is the carrier's.",
        [
            .required("token", token),
            .required("refresh_token", text("For `POST /auth/token`, once.", example: APIExample.refreshToken)),
            .required("token_type", always(.string("bearer"), "To be sent as `Authorization: Bearer`.")),
            .required("expires", span("How long `token` is good", example: 3600)),
            .required("new_user", flag("Whether the user was made by this very sign-in.")),
            .required("correlation_id", correlationID),
        ])

    private static let pageSession = object(
        "A session whose tokens are in cookies, where no script can read them.",
        [
            .required("expires", span("How long the session token is good", example: 3600)),
            .required("new_user", flag("Whether the user was made by this very sign-in.")),
            .required("correlation_id", correlationID),
        ])

    private static let registrationNeeded = object(
        "The carrier vouches for the user, who is not registered here: go on with `POST /users`.",
        errorFields(code: always(.string("user_not_registered"), "That is why.")) + [
            .required("zenkey_attributes", attributes),
            .required("state_key", text("Stands for the verified identity; good once.", example: APIExample.handle)),
            .required("missing", list("Attributes that the registration has to bring.", of: text("A field's name"))),
            .required("expires_in", span("How long `state_key` is good", example: 600)),
        ])

    private static let attributes = object(
        "What the carrier tells of the user, for the form.",
        [
            .required("sub", text("The same as `state_key`: the carrier's own subject is never shown.")),
            .optional(
                "name",
                object(
                    "The name",
                    [
                        .optional("value", text("Whole")), .optional("given_name", text("Given name")),
                        .optional("family_name", text("Family name")),
                    ])),
            .optional("email", object("The e-mail address", [.required("value", text("As the carrier has it"))])),
            .optional("phone", object("The phone number", [.required("value", text("As the carrier has it"))])),
            .optional("postal_code", object("The postal code", [.required("value", text("As the carrier has it"))])),
        ])

    private static let userID = integer("The user's number: below 2^53, and never given twice.", from: 1, example: 7)

    private static let user = object(
        "The signed-in user.",
        [
            .required("user_id", userID), .required("username", text("Of the user's own choice").orNull),
            .required("name", text("The whole name").orNull), .required("email", text("The e-mail address").orNull),
            .required("postal_code", text("The postal code").orNull),
            .required("phone_number", text("The phone number").orNull),
            .required("zenkey_sub", text("The user's public id: random, and not the carrier's subject.")),
            .required("created_at", seconds("When the user was made")),
        ])

    private static let session = object(
        "One of the user's sessions.",
        [
            .required("id", text("For `DELETE /users/me/sessions/{id}`.")),
            .required("client_id", text("The app it was made for.")),
            .required("device", text("A guess such as `Firefox on Windows`.").orNull),
            .required("created_at", seconds("When it was made")),
            .required("last_seen_at", seconds("When it was last used, to five minutes")),
            .required("expires_at", seconds("When it ends unless it is refreshed before")),
            .required("current", flag("Whether it is the one that asks.")),
        ])

    private static let identity = object(
        "One of the ways the user signs in.",
        [
            .required("id", text("For `DELETE /users/me/identities/{id}`.")),
            .required("issuer", text("Who vouches for it.", example: "https://op1.att.com")),
            .required("created_at", seconds("Since when")),
        ])

    private static let linkedIdentity = object(
        "A way to sign in that was added.",
        [
            .required("id", text("For `DELETE /users/me/identities/{id}`.")),
            .required("issuer", text("Who vouches for it.", example: "https://login.acme.example")),
            .required("created_at", seconds("Since when")), .required("correlation_id", correlationID),
        ])

    private static let provider = object(
        "A way to sign in.",
        [
            .required("id", text("What stands for `{provider}` in paths.", example: "zenkey")),
            .required("name", text("For people.", example: "ZenKey")),
            .required(
                "kind",
                text("Carriers, an OpenID provider, or one of OAuth 2.", choices: ["zenkey", "oidc", "oauth2"])),
            .required("start_url", text("Where a browser begins.")),
        ])

    private static let introspection = object(
        "Of a token that is good all of this; of any other `active` alone.",
        [
            .required("active", flag("Whether the token is good.")),
            .optional("token_type", always(.string("bearer"), "Of session tokens.")),
            .optional("exp", seconds("When a session token ends")),
            .optional("client_id", text("The app that the session is for.")),
            .optional("sub", text("The user's public id: `zenkey_sub` of `GET /users/me`.")),
            .optional("user_id", userID), .optional("username", text("If the user has chosen one.")),
            .optional("auth_time", seconds("When the user signed in")),
            .optional("session_id", text("As in the list of sessions.")),
        ])

    private static let receiptClaims: [Field] = [
        .required("context", text("What the user approved.")),
        .required("acr", text("How sure that is.", example: "a3")),
        .required("auth_time", seconds("When the user approved it")),
    ]

    private static let approvedTransaction = object(
        "The carrier has confirmed that the user approved it.",
        [.required("authorized", always(.bool(true), "Always."))] + receiptClaims + [
            .required("receipt", text("A JWT for your service, which redeems it once.")),
            .required("expires_in", span("How long the receipt is good", example: 300)),
            .required("correlation_id", correlationID),
        ])

    private static let redeemedReceipt = object(
        "The claims of a receipt that is spent now.",
        [
            .required("redeemed", always(.bool(true), "Always.")),
            .required("iss", text("`public_url`, or `latchkey`.")),
            .required("sub", text("The user's public id: `zenkey_sub` of `GET /users/me`.")),
            .required("aud", text("The `client_id` of the app.")), .required("jti", text("Of this receipt alone.")),
            .required("iat", seconds("When it was given")), .required("exp", seconds("When it ends")),
        ] + receiptClaims)

    private static let keySet = object(
        "A JSON Web Key Set (RFC 7517 section 5).",
        [
            .required(
                "keys",
                list(
                    "All that receipts may be signed with.",
                    of: object(
                        "A public key",
                        [
                            .required("kty", always(.string("EC"), "")), .required("crv", always(.string("P-256"), "")),
                            .required("x", text("In base64url")), .required("y", text("In base64url")),
                            .required("use", always(.string("sig"), "")),
                            .required("alg", always(.string("ES256"), "")),
                            .required("kid", text("As in a receipt's header.")),
                        ])))
        ])

    private static let backchannelHandle = text(
        "The server's own handle; good for this API key only.", example: APIExample.handle)

    private static let backchannelAuthenticationStarted = object(
        "The user is being asked.",
        [
            .required("auth_req_id", backchannelHandle),
            .required("expires_in", span("How long the user has", example: 300)),
            .required("correlation_id", correlationID),
        ])

    private static let backchannelAuthenticationWaiting = object(
        "The user has not answered yet: ask again in a second or more.", [.required("auth_req_id", backchannelHandle)])
}
