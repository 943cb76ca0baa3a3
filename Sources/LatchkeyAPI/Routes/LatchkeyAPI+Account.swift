import HTTPServer
import HTTPTypes
import OpenIDConnect
package import Primitives
import SignIn
import StorageModel

extension LatchkeyAPI {
    func editUser(_ request: Request, _ caller: SignedInCaller) async throws -> Response {
        let edit = try ProfileEdit(BodyFields(request, from: caller.admission))
        return respond(try await useCases.sessions.edit(edit, for: caller.holder, requestID: request.id), to: caller)
    }

    /// The user consented to share the further claims with one client: another client's session does not show them.
    func respond(_ user: User, to caller: SignedInCaller) -> Response {
        let claims = useCases.claimsVault.claims(of: user, for: caller.holder.session.clientID)
        return compatibility.android ? user.androidResponse(claims) : user.response(claims)
    }

    func eraseUser(_ request: Request, _ caller: SignedInCaller) async throws -> Response {
        let endings = try await features.erasing(caller.holder.user.id, with: useCases)
        try await useCases.sessions.eraseUser(caller.holder, requestID: request.id)
        for ending in endings { _ = await ending() }
        return withoutSession(.emptyObject, request)
    }
}

extension User {
    /// The response of `GET /users/me`; `created_at` in seconds since 1970. `zenkey_sub`, which the example apps
    /// require, is the user's public id, not the provider's subject; `sub` is the same for clients that read a userinfo
    /// response (OpenID Connect Core section 5.3.2).
    /// - Parameter claims: The further claims that the user consented to share with the session's client.
    fileprivate func response(_ claims: ClientClaims?) -> Response {
        .json(.ok, capacity: 512) { json in
            json.add("user_id", id.number)
            // One by one: in a loop, the names are no literals to the compiler.
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
    fileprivate func androidResponse(_ claims: ClientClaims?) -> Response {
        .json(.ok, capacity: 512) { json in
            json.add("user_id", id.number)
            json.add("username", orNull: profile[.username])
            profile.writeName(to: &json)
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
    /// Writes an object with the parts of the name that are known; nothing if none is.
    func writeName(to json: inout JSONObjectWriter) {
        guard self[.name] != nil || self[.givenName] != nil || self[.familyName] != nil else { return }
        json.add("name") { json in
            json.add("value", ifPresent: self[.name])
            json.add("given_name", ifPresent: self[.givenName])
            json.add("family_name", ifPresent: self[.familyName])
        }
    }
}

extension ProfileEdit {
    private static let fixed =
        ["user_id", "zenkey_sub", "sub", "created_at"]
        + ["email", "phone_number"].flatMap { name in ["", "_at", "_by"].map { "\(name)_verified\($0)" } }
        + ConsentedClaim.allCases.map(\.rawValue)
    private static let editable = UserAttribute.allCases.flatMap {
        Set([$0.rawValue, $0.registrationName]).sorted(by: >)
    }

    /// Reads an edit from a body's fields, as a merge patch (RFC 7396): a missing field stays, null clears it. So does
    /// an empty text, because a form has no null.
    /// - Throws: 400 that names every field of the wrong type, and every field that cannot be changed.
    init(_ fields: BodyFields) throws(APIError) {
        var reader = FieldReader(fields)
        self.init()
        for attribute in UserAttribute.allCases {
            let alias = attribute.registrationName
            attributes[attribute] = reader.edit(attribute.rawValue, alias == attribute.rawValue ? nil : alias)
            if alias != attribute.rawValue, reader.raw(attribute.rawValue) != nil {
                attributeNames[attribute] = attribute.rawValue
            }
        }
        for name in Self.fixed where fields.names.contains(name) { reader.refuse(name, "cannot be changed") }
        // Its name is not repeated, because it is input.
        if fields.names.contains(where: { !Self.fixed.contains($0) && !Self.editable.contains($0) }) {
            reader.refuse("a field", "is unknown: send only \(Self.editable.joined(separator: ", "))")
        }
        try reader.check()
    }
}

extension FieldReader {
    /// A text, empty where the field is null; nil where the field is left out.
    fileprivate mutating func edit(_ name: String, _ alias: String? = nil) -> String? {
        let found = [name, alias].compactMap { $0 }.compactMap { name in raw(name).map { (name, $0) } }
        guard let (used, value) = found.first else { return nil }
        guard found.count == 1 else { return refused(name, "is repeated as \(found[1].0): send one of them") }
        if value.isNull { return "" }
        guard let text = value.string else { return refused(used, "must be a string or null") }
        return text.utf8.count <= 1024 ? text : refused(used, "is longer than 1024 bytes")
    }

    /// The attributes of a registration.
    /// - Parameter names: Gets the names of those that were sent under another than their first one.
    package mutating func attributes(
        _ aliases: [UserAttribute: [String]] = [:], names: inout UserAttributes<String>
    ) -> UserAttributes<String> {
        var attributes = UserAttributes<String>()
        for attribute in UserAttribute.allCases {
            let name = attribute.registrationName
            let others = (attribute.rawValue == name ? [] : [attribute.rawValue]) + (aliases[attribute] ?? [])
            attributes[attribute] = text(name, others, limit: 1024)
            names[attribute] = sentNames[name]
        }
        return attributes
    }
}
