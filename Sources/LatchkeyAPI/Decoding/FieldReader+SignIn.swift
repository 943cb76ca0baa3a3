package import OpenIDConnect
package import Primitives
package import SignIn

extension FieldReader {
    package mutating func correlationID() -> CorrelationID? {
        value(
            "correlation_id", ["correlationId"], limit: 128,
            demand: "must be visible ASCII characters without quotation marks and backslashes", CorrelationID.init)
    }

    package mutating func clientID(required: Bool = false) -> ClientID? {
        value(
            "client_id", ["clientId"], limit: 255, required: required, demand: "must be ASCII characters", ClientID.init
        )
    }

    package mutating func redirectURI(required: Bool = true) -> String? {
        visibleText("redirect_uri", ["redirectURI", "redirectUri"], limit: 2048, required: required)
    }

    /// The client of a sign-in; without the field, the only client of the provider.
    package mutating func clientID(at server: AuthorizationServer) -> ClientID? {
        let before = problems.count
        if let named = clientID() { return named }
        guard problems.count == before else { return nil }
        guard server.clients.count == 1, let only = server.clients.keys.first else {
            return refused("client_id", "is missing, and the provider has several clients")
        }
        return only
    }

    /// The redirect URI of a sign-in; without the field, the only one that is registered for the client.
    /// - Parameter clientID: Nil if it was refused.
    mutating func redirectURI(of clientID: ClientID?, at server: AuthorizationServer) -> String? {
        let before = problems.count
        if let named = redirectURI(required: false) { return named }
        guard problems.count == before else { return nil }
        let registered = clientID.flatMap { server.clients[$0]?.redirectURIs } ?? []
        guard let only = registered.first, registered.count == 1 else {
            let reason = registered.isEmpty ? "" : ", and the client has several"
            return refused("redirect_uri", "is missing" + reason)
        }
        return only
    }

    /// RFC 7636 section 4.1.
    package mutating func codeVerifier() -> CodeVerifier? {
        value(
            "code_verifier", ["codeVerifier"], limit: 128,
            demand: "must be 43 to 128 letters, digits and signs of - . _ ~", CodeVerifier.init)
    }

    /// The network: from `mccmnc`, or from `mcc` and `mnc`.
    package mutating func network() -> MCCMNC? {
        let before = problems.count
        let whole = digits("mccmnc", 5...6)
        let country = digits("mcc", 3...3)
        // 10 and 010 are different networks of one country.
        let network = digits("mnc", 2...3, mayBeNumber: false)
        guard problems.count == before else { return nil }
        switch (whole, country, network) {
        case (let whole?, nil, nil): return MCCMNC(whole)
        case (let whole?, let country?, let network?) where whole == country + network: return MCCMNC(whole)
        case (nil, let country?, let network?): return MCCMNC(country + network)
        case (nil, nil, nil): return refused("mccmnc", "is missing")
        case (nil, nil, _): return refused("mcc", "is missing")
        case (nil, _, nil): return refused("mnc", "is missing")
        default: return refused("mccmnc", "differs from mcc and mnc: send one form")
        }
    }

    package mutating func operatorName() -> String? { visibleText("operator", limit: 32) }

    /// A phone number by which a group of servers finds one of them.
    package mutating func phoneNumber() -> MSISDN? {
        value(
            "phone_number", ["phoneNumber"], limit: 16,
            demand: "must be + and 5 to 15 digits, with the country code and without separators", MSISDN.init)
    }

    /// OpenID Connect Core section 3.1.2.1: `none` excludes other values.
    /// - Parameter known: The values that the kind of sign-in has.
    package mutating func prompt(_ known: [Prompt]) -> [Prompt] {
        let words = words("prompt", limit: 64)
        guard let prompt = Prompt.values(words), prompt.allSatisfy(known.contains) else {
            refuse("prompt", "must be words of \(known.map(\.rawValue).joined(separator: ", ")); none excludes others")
            return []
        }
        return prompt
    }

    /// At most 280 characters, of up to four bytes each.
    package mutating func context(required: Bool = false) -> String? {
        guard let text = text("context", limit: 280 * 4, required: required) else { return nil }
        return text.unicodeScalars.count <= 280 ? text : refused("context", "is longer than 280 characters")
    }
}
