import Primitives

extension TokenResponse {
    /// Reads the token endpoint's answer.
    ///
    /// - Throws: ``OIDCError/Code/carrierRefused`` or ``OIDCError/Code/clientRefused`` if the answer is an error of
    ///   RFC 6749 section 5.2; ``OIDCError/Code/unusableResponse`` if it is neither that nor what section 5.1 and OpenID
    ///   Connect Core section 3.1.3.3 prescribe. The code may be spent in every case.
    init(_ response: OutboundResponse, limits: OutboundLimits, needsIDToken: Bool = true) throws(OIDCError) {
        guard let object = ProviderResponse.object(response, maximumBytes: limits.tokenBytes) else {
            throw Self.unusable("The token endpoint did not answer with a JSON object.")
        }
        guard response.status == 200 else { throw Self.refusal(object, status: response.status) }
        if object["access_token"] == nil, object["error"] != nil { throw Self.refusal(object, status: 400) }
        guard let accessToken = object["access_token"]?.string, Self.isBearerToken(accessToken) else {
            throw Self.unusable("The token endpoint's answer has no access token that can be sent.")
        }
        // RFC 6749 section 5.1: required, and compared without regard to case.
        guard object["token_type"]?.string?.lowercased() == "bearer" else {
            throw Self.unusable("The token endpoint's answer is not of token type Bearer.")
        }
        self.accessToken = Secret(accessToken)
        idToken = needsIDToken ? try Self.idToken(object) : nil
        expiresIn = try Self.seconds(object["expires_in"])
        refreshToken = object["refresh_token"]?.string.flatMap { $0.isEmpty ? nil : Secret($0) }
        scope = object["scope"]?.string
    }

    private static func idToken(_ object: JSONObject) throws(OIDCError) -> Secret {
        guard let idToken = object["id_token"]?.string, !idToken.isEmpty else {
            throw unusable("The token endpoint's answer has no ID token.")
        }
        return Secret(idToken)
    }

    /// A number, or one in a text as some carriers write it; absent or null is nil.
    private static func seconds(_ value: JSONValue?) throws(OIDCError) -> Int64? {
        switch value {
        case nil, .null: return nil
        case .string(let text):
            if text.utf8.allSatisfy({ (48...57).contains($0) }), let seconds = Int64(text) { return seconds }
        case .some(let number):
            if let seconds = number.integer, seconds >= 0 { return seconds }
        }
        throw unusable("The token endpoint's answer has an expires_in that is no number of seconds.")
    }

    /// The characters a Bearer header can carry (RFC 6750 section 2.1), any visible ones among them.
    private static func isBearerToken(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }

    private static func refusal(_ object: JSONObject, status: Int) -> OIDCError {
        let code = object["error"]?.string
        guard let code, (400...499).contains(status) else {
            return OIDCError(
                .unusableResponse, carrierError: code, codeMayBeSpent: true,
                reason: "The token endpoint answered with neither tokens nor a proper error.")
        }
        guard !ProviderResponse.concernsClient(code) else {
            return OIDCError(
                .clientRefused, carrierError: code, codeMayBeSpent: true,
                reason: "The token endpoint does not accept this client: check its id, secret and registration.")
        }
        return OIDCError(
            .carrierRefused, carrierError: code, codeMayBeSpent: true, reason: "The token endpoint refused the code.")
    }

    private static func unusable(_ reason: String) -> OIDCError {
        OIDCError(.unusableResponse, codeMayBeSpent: true, reason: reason)
    }
}
