import OpenIDConnect
import Primitives
import SignIn

extension APISchema {
    static let components: KeyValuePairs<String, APISchema> = [
        "Error": object("Why a call was refused.", errorFields()),
        "Problem": object(
            "Why a call was refused, for clients that accept `application/problem+json` (RFC 9457).",
            fields([
                "type": always(.string("about:blank"), "`error` tells the kinds of errors apart."),
                "title": text("The meaning of the status."), "status": integer("The status.", from: 400, example: 401),
                "detail": text("As `error_description`."),
            ]) + errorFields() + offerFields.map(\.ifPresent)),
        "Empty": object("No content.", [:]),
        "PageSession": object(
            "A session whose tokens are in cookies, where no script can read them.", sessionFields),
        "TokenResponse": object("A Latchkey session; nothing in it is the provider's.", tokenFields + sessionFields),
        "RegistrationNeeded": object(
            "The provider vouches for the user, who is not registered here: continue with `POST /users`.",
            errorFields(
                code: text(
                    "The reason; `unlinked_user` with `compat.android`.",
                    choices: ["user_not_registered", "unlinked_user"]))
                + offerFields),
        "User": object(
            "The signed-in user.",
            [
                "user_id": userID, "username": text("The user's own choice").orNull,
                "name": text("The full name").orNull, "email": text("The email address").orNull,
                "postal_code": text("The postal code").orNull, "phone_number": text("The phone number").orNull,
                "zenkey_sub": publicID, "sub": publicID, "created_at": seconds("When the user was created"),
            ], verificationFields(), claimFields { $0 }, claimSource),
        "AndroidUser": object(
            "The signed-in user as the published Android example expects it. Unknown attributes are left out.",
            [
                "user_id": userID, "username": text("The user's own choice").orNull, "zenkey_sub": publicID,
                "sub": publicID, "created_at": seconds("When the user was created"),
            ],
            optional: [
                "name": object(
                    "The name.", [:],
                    optional: [
                        "value": text("The full name."), "given_name": text("The given name."),
                        "family_name": text("The family name."),
                    ]), "email": object("The email address.", ["value": text("The value.")]),
                "postal_code": object("The postal code.", ["value": text("The value.")]),
                "phone_number": object("The phone number.", ["value": text("The value.")]),
            ], verificationFields(), claimFields { object("As the provider sent it.", ["value": $0]) },
            claimSource),
        "Session": object(
            "One of the user's sessions.",
            [
                "id": text("For `DELETE /users/me/sessions/{id}`."),
                "client_id": text("The app that signed in."),
                "device": text("A guess such as `Firefox on Windows`.").orNull,
                "created_at": seconds("When the session was created"),
                "last_seen_at": seconds("When it was last used, accurate to five minutes"),
                "expires_at": seconds("When it ends unless it is refreshed before"),
                "current": flag("Whether this is the calling session."),
            ]),
        "Provider": object(
            "A way to sign in.",
            [
                "id": text("The `{provider}` of paths.", example: "zenkey"),
                "name": text("For people.", example: "ZenKey"),
                "kind": text(
                    "Carriers, an OpenID provider, an OAuth 2 provider, or mobile operators that verify phone numbers.",
                    choices: ["zenkey", "oidc", "oauth2", "camara"]),
                "start_url": text("Where a browser begins."),
            ], optional: ["color": text("Of the button, if it is configured.", pattern: "^#[0-9a-f]{6}$")]),
        "KeySet": object(
            "A JSON Web Key Set (RFC 7517 section 5).",
            ["keys": list("The keys of receipts and of clients.", of: publicKey)]),
    ]

    package static let correlationID = text(
        "The name of the sign-in in the logs here and at the provider: the client's own, or one that the server made.",
        pattern: #"^[!#-\[\]-~]+$"#, lengths: 1...128, example: APIExample.correlationID)

    private static func errorFields(code: APISchema? = nil) -> [Field] {
        fields(
            [
                "error": code ?? text("For programs: a code of OAuth, of the provider, or of Latchkey."),
                "error_description": text("For developers: what was wrong and what to do."),
                "message": text("For the person who uses the app: short, without technical terms."),
                "error_type": text(
                    "The kind of error, by which an app decides what to show.",
                    choices: ErrorType.allCases.map(\.rawValue)), "request_id": text("As in `X-Request-Id`."),
            ], optional: ["correlation_id": correlationID])
    }

    /// What a user who must register gets.
    private static let offerFields = fields([
        "zenkey_attributes": attributes,
        "state_key": text("Represents the verified identity; usable once.", example: APIExample.handle),
        "missing": list("Attributes that the registration must add.", of: text("The name of a field")),
        "expires_in": span("Lifetime of `state_key`", example: 600),
    ])

    /// What the user's provider vouches for.
    package static func verificationFields(areRequired: Bool = true) -> [Field] {
        [("email", "e-mail address"), ("phone_number", "phone number")].flatMap { name, words in
            [
                ("_verified", flag("Whether a provider vouches for the user's \(words).")),
                ("_verified_at", seconds("When the provider first did").orNull),
                ("_verified_by", text("The issuer of the provider that does.").orNull),
            ].map { Field(name: name + $0.0, schema: $0.1, isRequired: areRequired) }
        }
    }

    /// The claims that the user consented to share.
    private static func claimFields(_ form: (APISchema) -> APISchema) -> [Field] {
        ConsentedClaim.allCases.map { claim in
            let schema =
                switch claim {
                case .address: address
                case .birthdate: text("The date of birth, as the provider writes it.", example: "1984-05-17")
                case .last4Social: text("The end of the US social security number.", example: "1234")
                case .isAdult, .isAdult18, .isAdult21, .isOver13: flag("The provider's answer.")
                case .proofing: anyOf("The provider's answer.", [flag("Yes or no."), text("In words.")])
                }
            return Field(name: claim.rawValue, schema: form(schema), isRequired: false)
        }
    }

    private static let claimSource = fields(optional: [
        "claims_by": text("The issuer of the provider that sent the claims above, from `address` on.")
    ])

    private static let address = object(
        "The address (OpenID Connect Core section 5.1.1), if the client's scopes ask for it.",
        ConsentedClaims.AddressMember.allCases.map { member in
            let words = member == .formatted ? "The whole address, with commas between its lines." : "A part of it."
            return Field(name: member.rawValue, schema: text(words), isRequired: false)
        })

    package static let tokenFields = fields([
        "token": text("Opaque to apps: its form may change. Keep it secret.", example: APIExample.token),
        "refresh_token": text("For one `POST /auth/token`.", example: APIExample.refreshToken),
        "access_token": text("The same as `token`.", example: APIExample.token),
        "token_type": text(
            "Send the token as `Authorization: Bearer`, or as `DPoP` with a proof.", choices: ["bearer", "DPoP"]),
    ])

    package static let sessionFields = fields([
        "expires": span("Lifetime of the session token", example: 3600),
        "expires_in": span("The same as `expires`", example: 3600),
        "new_user": flag("Whether this sign-in created the user."), "correlation_id": correlationID,
    ])

    private static let attributes: APISchema = {
        let value = fields(["value": text("The provider's value")])
        return object(
            "The provider's attributes of the user, for the form.",
            ["sub": text("The same as `state_key`: the provider's own subject is never shown.")],
            optional: [
                "name": object(
                    "The name",
                    optional: [
                        "value": text("Full name"), "given_name": text("Given name"),
                        "family_name": text("Family name"),
                    ]),
                "email": object("The email address", value), "phone": object("The phone number", value),
                "postal_code": object("The postal code", value),
            ], claimFields { object("The provider's value", ["value": $0]) })
    }()

    package static let userID = integer("The user's number: below 2^53, and never reused.", from: 1, example: 7)

    package static let publicID = text("The user's public id: random, and not the provider's subject.")

    private static let publicKey = anyOf(
        "A public key",
        [
            object(
                "Of P-256: for signatures, or of clients for encrypted ID tokens",
                [
                    "kty": always(.string("EC"), ""), "crv": always(.string("P-256"), ""), "x": text("In base64url"),
                    "y": text("In base64url"), "use": keyUse,
                    "alg": text("The algorithm.", choices: ["ES256", "ECDH-ES"]),
                    "kid": keyID,
                ]),
            object(
                "RSA, of clients only: for signatures, or for encrypted ID tokens",
                [
                    "kty": always(.string("RSA"), ""), "n": text("In base64url"), "e": text("In base64url"),
                    "use": keyUse, "alg": text("The algorithm.", choices: ["RS256", "PS256", "RSA-OAEP-256"]),
                    "kid": keyID,
                ]),
            object(
                "The self-signed certificates of a client, by which a provider knows it (RFC 8705 section 2.2)",
                [
                    "kty": text("The type of the key.", choices: ["EC", "RSA", "OKP"]), "kid": keyID,
                    "x5t#S256": text("The SHA-256 of the first certificate, in base64url"),
                    "x5c": list("The certificates, in DER and base64", of: text("One of them")),
                ],
                optional: [
                    "crv": text("The curve"), "x": text("In base64url"), "y": text("In base64url"),
                    "n": text("In base64url"), "e": text("In base64url"),
                ]),
            object(
                "Ed25519, of clients only: for signatures",
                [
                    "kty": always(.string("OKP"), ""), "crv": always(.string("Ed25519"), ""),
                    "x": text("In base64url"), "use": always(.string("sig"), ""),
                    "alg": text("The algorithm.", choices: ["EdDSA", "Ed25519"]), "kid": keyID,
                ]),
        ])

    private static let keyUse = text("For signatures, or for encryption.", choices: ["sig", "enc"])

    private static let keyID = text("As in the header of what the key signs, or what is encrypted for it.")
}
