import Primitives

extension ProviderMetadata {
    /// How an operator token becomes tokens, as far as the operator's metadata tells: by a JWT, unless the operator
    /// lists grant types without it and has backchannel authentication in the mode poll.
    package var takesOperatorTokensByBackchannel: Bool {
        guard let backchannelAuthentication, backchannelAuthentication.mayDeliver(by: .poll) else { return false }
        return !(grantTypes?.contains(.jwtBearer) ?? true)
    }
}

/// The JWT that stands for a user's device at the token endpoint, and for the client itself (RFC 7523 section 2.1, with
/// the claims of the CAMARA Security and Interoperability Profile r4.2, section "JWT Bearer Flow").
enum AuthorizationAssertion {
    /// In seconds. The profile allows 300 at most.
    static let lifetime: Int64 = 60

    /// A TS.43 temporary token, which an app gets from the operator by the SIM of the device, as the hint for a user
    /// (CAMARA Security and Interoperability Profile r4.2, section "Format of login_hint").
    static func hint(_ operatorToken: Secret) -> String { "operatortoken:" + operatorToken.exposed }

    /// - Parameters:
    ///   - scopes: With exactly one purpose.
    ///   - endpoint: The URL that the request goes to, which is the audience.
    ///   - id: Unique: an operator refuses a second use.
    /// - Throws: ``OIDCError/Code/clientRefused`` if the client has no key, or its key cannot sign.
    static func make(
        of operatorToken: Secret, for client: ClientCredentials, scopes: [String], to endpoint: EndpointURL, id: String,
        now: Timestamp
    ) throws(OIDCError) -> Secret {
        guard case .privateKeyJWT(let key, _) = client.authentication else {
            throw OIDCError(.clientRefused, reason: "An operator token needs a client with private_key_jwt.")
        }
        var claims = JSONObjectWriter()
        claims.add("iss", client.clientID.text)
        claims.add("sub", hint(operatorToken))
        claims.add("aud", endpoint.text)
        claims.add("jti", id)
        claims.add("iat", now.secondsSinceEpoch)
        claims.add("exp", now.advanced(bySeconds: lifetime).secondsSinceEpoch)
        claims.add("scope", scopes.joined(separator: " "))
        return try key.token(claims: claims.finish())
    }
}

/// Why an API of an operator is called: a purpose of the W3C Data Privacy Vocabulary, as one of the scopes (CAMARA
/// Security and Interoperability Profile r4.2, section "Purpose as a scope").
///
/// A request has exactly one, so a configuration has one for each provider, and apps give none.
public struct Purpose: Sendable, Hashable {
    /// `dpv:` and the name of the purpose.
    public let scope: String

    /// The prefix of all purposes.
    public static let prefix = "dpv:"

    /// A purpose, or nil unless the text is `dpv:` and 1 to 60 letters and digits that begin with a letter.
    public init?(_ text: String) {
        let name = text.dropFirst(Self.prefix.count).utf8
        guard text.hasPrefix(Self.prefix), (1...60).contains(name.count), name.allSatisfy(\.isASCIILetterOrDigit),
            let first = name.first, first.isASCIILetter
        else { return nil }
        scope = text
    }
}
