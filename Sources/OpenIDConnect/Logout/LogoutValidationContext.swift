import Primitives

/// A logout token's claims and what they are checked against: what ``claimRules`` look at.
struct LogoutValidationContext: MessageValidationContext {
    static let type = TokenType.logoutToken

    let claims: JSONObject
    let requirements: MessageRequirements

    /// The rules for the claims of a logout token (OpenID Connect Back-Channel Logout sections 2.4 and 2.6), in the
    /// order in which it is refused by them.
    static let claimRules: [TokenRule<LogoutTokenCheck, Self>] = [
        .init(.issuer, { $0.hasIssuer }, found: { $0.foundIssuer }),
        .init(.audience, { $0.client != nil }, found: { $0.foundAudience }),
        .init(.issuedAt, { $0.wasIssuedJustNow }, found: { $0.foundIssue }),
        // Older providers leave the expiry out.
        .init(.expiry, { $0.isNotExpiredIfStated }, found: { $0.foundTime("exp") }),
        .init(.notBefore, { $0.isValidAlready }, found: { $0.foundTime("nbf") }),
        .init(
            .tokenID, { $0.claims["jti"]?.visibleText != nil },
            found: { "jti is \(DisplayText.shape($0.claims["jti"]))" }),
        .init(.event, { $0.hasEvent }, found: { $0.foundEvent }),
        .init(.nonce, { $0.claims["nonce"] == nil }, found: { "nonce is \(DisplayText.shape($0.claims["nonce"]))" }),
        .init(
            .subject, { $0.hasSubject },
            found: { "sub is \(DisplayText.shape($0.claims["sub"])); sid is \(DisplayText.shape($0.claims["sid"]))" }),
    ]

    var hasEvent: Bool { claims["events"]?.object?[LogoutToken.event]?.object != nil }

    /// One of the two at least, and both valid.
    var hasSubject: Bool {
        let stated = [
            claims["sub"].map { $0.visibleText != nil }, claims["sid"].map { $0.sessionIDText != nil },
        ].compactMap(\.self)
        return !stated.isEmpty && stated.allSatisfy(\.self)
    }

    /// What the token says. The rules make sure that nothing is missing.
    func logout() throws(LogoutTokenError) -> LogoutToken {
        guard let issuedAt else { throw .failed(.issuedAt) }
        guard let id = claims["jti"]?.visibleText else { throw .failed(.tokenID) }
        // An expiry, which older providers leave out, can only make it earlier.
        return LogoutToken(
            issuer: claims["iss"]?.string ?? issuer, subject: claims["sub"]?.visibleText,
            sessionID: claims["sid"]?.sessionIDText, id: id,
            refusedFrom: issuedAt.advanced(bySeconds: rules.maximumAgeSeconds + rules.clockSkewSeconds + 1))
    }
}

// What an explanation shows of the claims: of subject, session and the token's own id, the length alone.
extension LogoutValidationContext {
    var foundAudience: String {
        let named = "aud is \(DisplayText.value(claims["aud"]))"
        let ours = requirements.clients.keys.map { "«\($0.text)»" }.sorted().joined(separator: ", ")
        return client != nil ? named : "\(named); our clients: \(ours)"
    }

    var foundEvent: String {
        guard let events = claims["events"] else { return "events is absent" }
        guard let object = events.object else { return "events is \(DisplayText.value(events))" }
        guard let event = object[LogoutToken.event] else { return "events has no member \(LogoutToken.event)" }
        return event.object == nil ? "the event is \(DisplayText.value(event))" : "the event is there"
    }
}
