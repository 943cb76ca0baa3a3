import OpenIDConnect
import Primitives
import StorageModel

/// The checks that a security event token must pass (RFC 8417, OpenID Shared Signals Framework 1.0 section 4), in the
/// order in which they are made: those that need no keys come first. The raw values are stable names for responses,
/// logs and metrics.
enum EventTokenCheck: String, TokenCheck, CaseIterable {
    case format
    case criticalHeader = "critical_header"
    case type
    case algorithm
    case claims
    case issuer
    case audience
    case issuedAt = "issued_at"
    case expiry
    case notBefore = "not_before"
    case tokenID = "jti"
    case nonce
    case subjectClaim = "sub"
    case event
    case subject
    case key
    case signature

    var demand: String {
        switch self {
        case .format: "The event token must be a signed JWT in compact form, of at most the allowed size."
        case .criticalHeader: "The event token's header must not contain crit or b64."
        case .type: "The event token's typ must be the one of event tokens."
        case .algorithm: "The event token must be signed with an algorithm that is accepted of the provider."
        case .claims: "The event token's claims must be a JSON object without duplicate names."
        case .issuer: "The event token's iss must be the issuer of this provider's events."
        case .audience: "The event token's aud must name one of this provider's clients, or a configured audience."
        case .issuedAt: "The event token was issued too long ago, or in the future, or has no valid iat."
        case .expiry: "The event token must have no exp, or one that is not over, as the provider's form has it."
        case .notBefore: "The event token is not valid yet, or its nbf is not valid."
        case .tokenID: "The event token must have a jti of 1 to 255 visible ASCII characters."
        case .nonce: "The event token must not have a nonce."
        case .subjectClaim: "The event token must not have a sub: the event, or sub_id, names the subject."
        case .event: "The event token's events must be 1 to 16 events, each an object, and no logout."
        case .subject: "The event token must name the subject of each event, in a valid form."
        case .key: "The event token must be signed with one of the provider's current signing keys."
        case .signature: "The event token's signature does not verify."
        }
    }

    /// The code of RFC 8935 section 2.4.
    var code: String {
        switch self {
        case .algorithm, .key, .signature: "invalid_key"
        case .issuer: "invalid_issuer"
        case .audience: "invalid_audience"
        default: "invalid_request"
        }
    }
}

/// Why an event token is refused.
struct EventTokenError: Error, Sendable, Hashable {
    let check: EventTokenCheck
}

/// What is demanded of the event tokens of a provider.
struct EventTokenRules: Sendable {
    let transmitter: EventTransmitter
    let issuers: EventIssuers
    let audiences: Set<String>
    let algorithms: Set<SigningAlgorithm>
    /// For clock skew and age.
    let times: IDTokenRules
    /// The longest token, in bytes. An event is short.
    static let maximumBytes = 16 * 1024
}

/// An event token whose signature is not checked yet. Reading it needs neither network nor keys, so that junk is cheap.
///
/// It has subjects, so only its id is printed.
struct UnverifiedEventToken: Sendable {
    let id: String
    let issuer: String
    /// From then on the token is refused for its age.
    let refusedFrom: Timestamp
    /// To be believed when ``checkSignature(_:)`` has passed.
    let events: [SecurityEvent]
    private let token: SignedToken

    init(_ text: Secret, _ rules: EventTokenRules, now: Timestamp) throws(EventTokenError) {
        do throws(OIDCError) {
            token = try SignedToken(
                text, maximumBytes: EventTokenRules.maximumBytes, type: rules.transmitter.tokenType,
                signedWith: rules.algorithms)
        } catch {
            // All kinds of token have the checks of the header in common.
            throw EventTokenError(check: error.check.flatMap { EventTokenCheck(rawValue: $0.rawValue) } ?? .format)
        }
        guard let claims = JSONObject(claims: token.payload) else { throw EventTokenError(check: .claims) }
        let context = EventClaims(claims: claims, rules: rules, now: now)
        for rule in EventClaims.rules where !rule.isMet(context) { throw EventTokenError(check: rule.check) }
        guard let id = context.id else { throw EventTokenError(check: .tokenID) }
        guard let issuedAt = context.plain.issuedAt else { throw EventTokenError(check: .issuedAt) }
        guard let events = context.events else { throw EventTokenError(check: .event) }
        self.id = id
        issuer = rules.issuers.events
        self.events = try events.map { (event) throws(EventTokenError) in try context.read(event) }
        refusedFrom = issuedAt.advanced(
            bySeconds: rules.times.maximumAgeSeconds + rules.times.clockSkewSeconds + 1)
    }

    func checkSignature(_ keys: JSONWebKeySet) throws(EventTokenError) {
        let context = SignatureValidationContext(token, keys: keys)
        guard !context.candidates.isEmpty else { throw EventTokenError(check: .key) }
        guard context.verifies else { throw EventTokenError(check: .signature) }
    }
}

extension UnverifiedEventToken: Redacted { var shown: [Mirror.Child] { [("issuer", issuer)] } }

/// The claims of an event token and what they are checked against.
private struct EventClaims {
    let claims: JSONObject
    let rules: EventTokenRules
    let plain: PlainClaims

    typealias Event = (type: String, content: JSONObject)

    init(claims: JSONObject, rules: EventTokenRules, now: Timestamp) {
        self.claims = claims
        self.rules = rules
        plain = PlainClaims(claims: claims, rules: rules.times, issuer: rules.issuers.events, now: now)
    }

    /// In the order in which a token is refused by them.
    static let rules: [(check: EventTokenCheck, isMet: @Sendable (Self) -> Bool)] = [
        (.issuer, { $0.claims["iss"]?.string?.hasSameBytes(as: $0.rules.issuers.events) == true }),
        (.audience, { $0.hasAudience }),
        (.issuedAt, { $0.plain.wasIssuedJustNow }),
        (.expiry, { $0.rules.transmitter.mayExpire ? $0.plain.isNotExpiredIfStated : $0.claims["exp"] == nil }),
        (.notBefore, { $0.plain.isValidAlready }),
        (.tokenID, { $0.id != nil }),
        // Every ID token has a sub, and most have a nonce and an exp (Shared Signals Framework section 4.1.3).
        (.nonce, { $0.claims["nonce"] == nil }),
        (.subjectClaim, { $0.claims["sub"] == nil }),
        (.event, { $0.events.map { (1...Self.mostEvents).contains($0.count) } ?? false }),
    ]

    /// Of one token.
    private static let mostEvents = 16

    var id: String? { claims["jti"]?.visibleText }

    /// Of several, one must be ours: a provider may send one token to all receivers that are concerned.
    private var hasAudience: Bool {
        let named = claims["aud"]?.array ?? claims["aud"].map { [$0] } ?? []
        return named.contains { name in
            name.string.map { text in rules.audiences.contains { $0.hasSameBytes(as: text) } } ?? false
        }
    }

    /// The events by their types; nil if they are malformed, or one is a logout.
    var events: [Event]? {
        switch rules.transmitter {
        case .apple:
            // A text that is itself JSON.
            let text = claims["events"]?.string.flatMap { JSONObject(claims: Array($0.utf8)) }
            guard let event = text ?? claims["events"]?.object, let type = event["type"]?.string else { return nil }
            return [(type, event)]
        case .off, .ssf, .google:
            guard let members = claims["events"]?.object?.members else { return nil }
            // A logout token is none (Back-Channel Logout section 2.4).
            let events = members.compactMap { member -> Event? in
                guard member.name != LogoutToken.event else { return nil }
                return member.value.object.map { (member.name, $0) }
            }
            return events.count == members.count ? events : nil
        }
    }

    func read(_ event: Event) throws(EventTokenError) -> SecurityEvent {
        let (type, content) = event
        if rules.transmitter == .apple {
            guard let name = EventName(appleType: type) else { return SecurityEvent(kind: .unknown) }
            guard let subject = content["sub"]?.visibleText else { throw EventTokenError(check: .subject) }
            return SecurityEvent(
                kind: .ofUser(name, rules.issuers.subject(rules.issuers.identities, subject)))
        }
        if Self.verifications.contains(type) {
            return SecurityEvent(kind: .verification(state: content["state"]?.visibleText))
        }
        if type == Self.streams + "stream-updated" {
            return SecurityEvent(kind: .streamUpdated(status: content["status"]?.visibleText))
        }
        guard let name = EventName(type: type) else { return SecurityEvent(kind: .unknown) }
        guard let subject = EventSubject(claims["sub_id"] ?? content["subject"], at: rules.issuers) else {
            throw EventTokenError(check: .subject)
        }
        return SecurityEvent(kind: .ofUser(name, subject))
    }

    private static let streams = "https://schemas.openid.net/secevent/ssf/event-type/"
    /// Google has the one of its draft.
    private static let verifications = [
        streams + "verification", "https://schemas.openid.net/secevent/risc/event-type/verification",
        "https://schemas.openid.net/secevent/sse/event-type/verification",
    ]
}
