import Primitives

/// A logout token's claims beside all that they are held against: what a ``LogoutRule`` looks at.
struct LogoutValidationContext: IssuedClaims {
    static let event = "http://schemas.openid.net/event/backchannel-logout"

    let claims: JSONObject
    let rules: IDTokenRules
    let issuer: String
    let now: Timestamp
    let issuedAt: Timestamp?
    private let clients: Set<ClientID>

    init(_ claims: JSONObject, _ requirements: UnverifiedLogoutToken.Requirements) {
        self.claims = claims
        rules = requirements.rules
        issuer = requirements.issuer
        now = requirements.now
        issuedAt = ClaimValidationContext.numericDate(claims["iat"])
        clients = requirements.clients
    }

    /// As of an ID token: one audience only.
    var hasAudience: Bool {
        var audience = claims["aud"]
        if case .array(let several) = audience { audience = several.count == 1 ? several.first : nil }
        guard let audience = audience?.string else { return false }
        return clients.contains { audience.hasSameBytes(as: $0.text) }
    }

    /// Older providers leave the expiry out.
    var isNotExpired: Bool {
        guard let claim = claims["exp"] else { return true }
        guard let expiry = ClaimValidationContext.numericDate(claim) else { return false }
        return now < expiry.advanced(bySeconds: rules.clockSkewSeconds)
    }

    var hasEvent: Bool { claims["events"]?.object?[Self.event]?.object != nil }

    /// One of the two at least, and none that is not a text.
    var hasSubject: Bool {
        let named = ["sub", "sid"].filter { claims[$0] != nil }
        return !named.isEmpty && named.allSatisfy { visibleText($0) != nil }
    }

    /// A claim of 1 to 255 visible ASCII characters.
    func visibleText(_ name: String) -> String? { claims[name].flatMap(Self.visibleText) }

    static func visibleText(_ value: JSONValue) -> String? {
        guard let text = value.string, (1...255).contains(text.utf8.count),
            text.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else { return nil }
        return text
    }
}

// What an explanation tells of the claims. Subject, session and the token's own id are told by their length alone.
extension LogoutValidationContext {
    var foundAudience: String {
        let named = "aud is \(DisplayText.value(claims["aud"]))"
        let ours = clients.map { "«\($0.text)»" }.sorted().joined(separator: ", ")
        return hasAudience ? named : "\(named); our clients: \(ours)"
    }

    var foundEvent: String {
        guard let events = claims["events"] else { return "events is absent" }
        guard let object = events.object else { return "events is \(DisplayText.value(events))" }
        guard let event = object[Self.event] else { return "events has no member \(Self.event)" }
        return event.object == nil ? "the event is \(DisplayText.value(event))" : "the event is there"
    }
}
