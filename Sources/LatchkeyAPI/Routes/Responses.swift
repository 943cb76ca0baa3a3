public import HTTPServer
public import HTTPTypes
import OpenIDConnect
public import Primitives
package import SignIn
package import StorageModel

extension Response {
    private static let jsonHeaders: HTTPFields = [
        .contentType: "application/json; charset=utf-8", .cacheControl: "no-store",
    ]

    /// A JSON response that must not be stored.
    package static func json(_ status: HTTPResponse.Status, _ body: [UInt8]) -> Response {
        Response(status: status, headers: jsonHeaders, body: body)
    }

    /// A JSON object that must not be stored.
    /// - Parameter capacity: Bytes to reserve.
    public static func json(
        _ status: HTTPResponse.Status, capacity: Int, _ write: (inout JSONObjectWriter) -> Void
    ) -> Response {
        var json = JSONObjectWriter(capacity: capacity)
        write(&json)
        // Consumed, or the end of the text would be appended to a copy.
        return .json(status, (consume json).finish())
    }

    /// `{}`
    package static let emptyObject = json(.ok, Array("{}".utf8))

    /// 303, which turns a POST into a GET, and sends no referrer.
    package static func redirect(to location: String) -> Response {
        Response(
            status: .seeOther,
            headers: [.location: location, .cacheControl: "no-store", .referrerPolicy: "no-referrer"])
    }
}

extension SignedIn {
    /// The token response; without tokens for a page, whose tokens are in cookies. `token` and `expires` are for the
    /// example apps, `access_token` and `expires_in` with the same values for OAuth clients (RFC 6749 section 5.1).
    package func response(
        _ status: HTTPResponse.Status, withTokens: Bool = true,
        _ more: (inout JSONObjectWriter, SignedIn) -> Void = { _, _ in }
    ) -> Response {
        .json(status, capacity: 384) { json in
            if withTokens {
                json.add("token", tokens.token.exposed)
                json.add("access_token", tokens.token.exposed)
                json.add("refresh_token", tokens.refreshToken.exposed)
                json.add("token_type", "bearer")
            }
            json.add("expires", tokens.expiresIn)
            json.add("expires_in", tokens.expiresIn)
            json.add("new_user", isNew)
            json.add("correlation_id", correlationID.text)
            more(&json, self)
        }
    }
}

extension NonceIssuer.Issued {
    var response: Response {
        .json(.ok, capacity: 128) { json in
            json.add("nonce", nonce.exposed)
            json.add("state", state.exposed)
            json.add("expires_in", expiresIn)
        }
    }
}

extension User {
    /// The response of `GET /users/me`; `created_at` in seconds since 1970. `zenkey_sub`, which the example apps
    /// require, is the user's public id, not the provider's subject; `sub` is the same for clients that read a userinfo
    /// response (OpenID Connect Core section 5.3.2).
    /// - Parameter claims: The further claims that the user consented to share with the session's client.
    func response(_ claims: ClientClaims?, _ compatibility: Compatibility) -> Response {
        compatibility.android ? androidResponse(claims) : response(claims)
    }

    private func response(_ claims: ClientClaims?) -> Response {
        .json(.ok, capacity: 512) { json in
            json.add("user_id", id.number)
            json.add("username", orNull: profile[.username])
            json.add("name", orNull: profile[.name])
            json.add("email", orNull: profile[.email])
            json.add("postal_code", orNull: profile[.postalCode])
            json.add("phone_number", orNull: profile[.phoneNumber])
            json.add("zenkey_sub", publicID)
            json.add("sub", publicID)
            json.add("created_at", createdAt.secondsSinceEpoch)
            addVerifications(to: &json)
            guard let claims else { return }
            claims.claims.write(to: &json)
            json.add("claims_by", claims.issuer)
        }
    }

    /// Whether, when and by whom the e-mail address and the phone number were verified.
    package func addVerifications(to json: inout JSONObjectWriter) {
        if let email = assertions?.email {
            json.add("email_verified", true)
            json.add("email_verified_at", email.time.secondsSinceEpoch)
            json.add("email_verified_by", email.issuer)
        } else {
            json.add(members: #""email_verified":false,"email_verified_at":null,"email_verified_by":null"#)
        }
        if let phoneNumber = assertions?.phoneNumber {
            json.add("phone_number_verified", true)
            json.add("phone_number_verified_at", phoneNumber.time.secondsSinceEpoch)
            json.add("phone_number_verified_by", phoneNumber.issuer)
        } else {
            json.add(
                members:
                    #""phone_number_verified":false,"phone_number_verified_at":null,"phone_number_verified_by":null"#)
        }
    }

    /// As the published Android example's `UserResponse` decodes it: attributes are objects with a `value`.
    private func androidResponse(_ claims: ClientClaims?) -> Response {
        .json(.ok, capacity: 512) { json in
            json.add("user_id", id.number)
            json.add("username", orNull: profile[.username])
            if profile[.name] != nil || profile[.givenName] != nil || profile[.familyName] != nil {
                json.add("name", object: profile.writeName)
            }
            for (name, attribute) in Self.androidAttributes {
                if let text = profile[attribute] { json.add(name, object: { $0.add("value", text) }) }
            }
            if let claims {
                claims.claims.writeObjects(to: &json)
                json.add("claims_by", claims.issuer)
            }
            json.add("zenkey_sub", publicID)
            json.add("sub", publicID)
            json.add("created_at", createdAt.secondsSinceEpoch)
            addVerifications(to: &json)
        }
    }

    private static let androidAttributes: [(StaticString, UserAttribute)] = [
        ("email", .email), ("postal_code", .postalCode), ("phone_number", .phoneNumber),
    ]
}

extension Profile {
    fileprivate func writeName(to json: inout JSONObjectWriter) {
        json.add("value", ifPresent: self[.name])
        json.add("given_name", ifPresent: self[.givenName])
        json.add("family_name", ifPresent: self[.familyName])
    }
}

extension ConsentedClaims {
    /// The claims in the form of the carriers' userinfo response: objects with a `value`.
    fileprivate func writeObjects(to json: inout JSONObjectWriter) {
        for claim in present {
            guard let value = self[claim] else { continue }
            json.add(named: claim.rawValue) { $0.add("value", json: value.json) }
        }
    }
}

extension RegistrationOffer {
    func write(to json: inout JSONObjectWriter) {
        json.add("zenkey_attributes", object: writeAttributes)
        json.add("state_key", handle.exposed)
        json.add("missing", missing.map(\.rawValue))
        json.add("expires_in", expiresIn)
    }

    /// The provider's attributes in the form of its userinfo response. `sub`, which the apps read, is the handle.
    private func writeAttributes(to json: inout JSONObjectWriter) {
        json.add("sub", handle.exposed)
        if profile[.name] != nil || profile[.givenName] != nil || profile[.familyName] != nil {
            json.add("name", object: profile.writeName)
        }
        if let email = profile[.email] { json.add("email", object: { $0.add("value", email) }) }
        if let phone = profile[.phoneNumber] { json.add("phone", object: { $0.add("value", phone) }) }
        if let code = profile[.postalCode] { json.add("postal_code", object: { $0.add("value", code) }) }
        claims.writeObjects(to: &json)
    }
}

/// Where responses follow the published example API rather than docs/.
public struct Compatibility: Sendable, Hashable {
    /// Responses are as the published Android example expects them: `unlinked_user` for an unknown user, and a profile
    /// whose attributes are objects with a `value`.
    public var android = false

    /// All off.
    public init() {}
}
