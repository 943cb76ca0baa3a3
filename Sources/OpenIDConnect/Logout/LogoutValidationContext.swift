import Primitives

/// A logout token's claims and what they are checked against: what a ``LogoutRule`` looks at.
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

    /// One audience only, as of an ID token.
    var hasAudience: Bool {
        guard let audience = claims.onlyAudience else { return false }
        return clients.contains { audience.hasSameBytes(as: $0.text) }
    }

    var hasEvent: Bool { claims["events"]?.object?[Self.event]?.object != nil }

    /// One of the two at least, and both valid.
    var hasSubject: Bool {
        let named = ["sub", "sid"].filter { claims[$0] != nil }
        return !named.isEmpty && named.allSatisfy { visibleText($0) != nil }
    }

    /// A claim of 1 to 255 visible ASCII characters.
    func visibleText(_ name: String) -> String? { claims[name]?.visibleText }
}

extension JSONValue {
    /// A text of 1 to 255 visible ASCII characters.
    var visibleText: String? { string.flatMap { $0.isVisibleASCII(upTo: 255) ? $0 : nil } }
}

extension JSONObject {
    /// The `aud` claim if it names one audience, as a text or as an array of one text (RFC 7519 section 4.1.3).
    var onlyAudience: String? {
        switch self["aud"] {
        case .string(let audience): audience
        case .array(let several) where several.count == 1: several.first?.string
        default: nil
        }
    }
}

// What an explanation shows of the claims: of subject, session and the token's own id, the length alone.
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
