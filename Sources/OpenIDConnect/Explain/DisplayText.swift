import Primitives

/// Values of a token as an explanation shows them: on one line, and cut off if they are long.
package enum DisplayText {
    private static let maximumCharacters = 120

    /// A text between guillemets; the kind of any other value.
    static func value(_ value: JSONValue?) -> String {
        switch value {
        case nil: "absent"
        case .string(let text): "«\(line(text))»"
        case .integer, .number: "a number"
        case .bool: "true or false"
        case .null: "null"
        case .object: "an object"
        case .array(let elements): list(elements)
        }
    }

    /// The kind of a value and its length, for values that are personal.
    static func shape(_ value: JSONValue?) -> String {
        guard case .string(let text) = value else { return value == nil ? "absent" : Self.value(value) }
        return text.utf8.count == 1 ? "1 byte long" : "\(text.utf8.count) bytes long"
    }

    package static func line(_ text: String) -> String { text.onOneLine(upTo: maximumCharacters) }

    private static func list(_ elements: [JSONValue]) -> String {
        let shown = elements.prefix(3).map { element in
            if case .array(let inner) = element { return "an array of \(inner.count)" }
            return value(element)
        }
        let rest = elements.count > shown.count ? ", …" : ""
        return "an array of \(elements.count)" + (shown.isEmpty ? "" : ": \(shown.joined(separator: ", "))\(rest)")
    }
}

// What an explanation shows of the issuer and the times.
extension IssuedClaims {
    var foundIssuer: String {
        let named = "iss is \(DisplayText.value(claims["iss"]))"
        return hasIssuer ? named : "\(named); the provider's issuer is «\(DisplayText.line(issuer))»"
    }

    var foundIssue: String {
        "\(foundTime("iat")); at most \(rules.maximumAgeSeconds) s ago, and \(rules.clockSkewSeconds) s of clock skew, "
            + "are allowed"
    }

    /// `exp is 2026-11-21T01:02:03Z, 360 s ago`
    func foundTime(_ name: String) -> String {
        guard let value = claims[name] else { return "\(name) is absent" }
        guard let moment = value.numericDate else {
            return "\(name) is not a NumericDate: \(DisplayText.value(value))"
        }
        let (difference, overflow) = moment.secondsSinceEpoch.subtractingReportingOverflow(now.secondsSinceEpoch)
        let text = "\(name) is \(UTCTime.text(moment))"
        if overflow { return text }
        return difference > 0 ? "\(text), in \(difference) s" : "\(text), \(difference.magnitude) s ago"
    }
}

// What an explanation shows of the other claims: of subject, nonce and context, the length alone.
extension ClaimValidationContext {
    func foundClient(_ name: String) -> String {
        let named = "\(name) is \(DisplayText.value(claims[name]))"
        return (name == "aud" ? hasAudience : isClient(claims[name]?.string))
            ? named : "\(named); the client is «\(expectation.clientID.text)»"
    }

    var foundIDTokenClaims: String {
        guard claims["events"] == nil else { return "the token has events, as logout tokens have" }
        guard type == .accessToken else { return "typ is not that of access tokens" }
        let evidence = ["nonce", "acr", "auth_time"] + Self.accessTokenClaims
        let present = evidence.filter { claims[$0] != nil }
        return "typ is that of access tokens; of \(evidence.joined(separator: ", ")) the token has "
            + (present.isEmpty ? "none" : present.joined(separator: ", "))
    }

    var foundExpiry: String {
        let found = "\(foundTime("exp")); \(rules.clockSkewSeconds) s of clock skew are allowed"
        guard let expiresAt, let issuedAt, expiresAt <= issuedAt else { return found }
        return found + "; exp is not after iat"
    }

    var foundAuthTime: String {
        var found = foundTime("auth_time")
        if let since = expectation.demand.since {
            found += "; the user had to authenticate again, after \(since.secondsSinceEpoch)"
        }
        guard let maximum = expectation.demand.maximumAge else {
            return "\(found); no maximum age was requested"
        }
        return "\(found); at most \(maximum) s ago, and \(rules.clockSkewSeconds) s of clock skew, are allowed"
    }

    var foundNonce: String {
        let found = "nonce is \(DisplayText.shape(claims["nonce"]))"
        guard let expected = expectation.nonce else { return "\(found); no expected nonce was given" }
        return "\(found); the expected one is \(expected.utf8.count)"
    }

    var foundACR: String {
        let found = "acr is \(DisplayText.value(claims["acr"]))"
        guard !expectation.demand.acrValues.isEmpty else { return "\(found); none was requested" }
        return "\(found); requested: \(DisplayText.line(expectation.demand.acrValues.joined(separator: " ")))"
    }

    var foundAccessTokenHash: String {
        let found = claims["at_hash"] == nil ? "at_hash is absent" : "at_hash is there"
        return expectation.accessToken == nil ? "\(found); no access token was given to compare with" : found
    }

    var foundContext: String {
        let found = "context is \(DisplayText.shape(claims["context"]))"
        guard let expected = expectation.demand.context else { return "\(found); none was requested" }
        return "\(found); the expected one is \(expected.utf8.count)"
    }
}
