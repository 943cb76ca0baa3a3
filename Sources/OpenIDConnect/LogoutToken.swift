public import Primitives

/// A logout token (OpenID Connect Back-Channel Logout 1.0 section 2.4) that has passed every check: the provider says that
/// a session, or all of a user's sessions, are over.
///
/// The subject is personal: neither `print` nor interpolation nor reflection shows it.
public struct LogoutToken: Sendable, Hashable {
    public let issuer: String
    /// Whose sessions are over; nil if only ``sessionID`` says which.
    public let subject: String?
    /// The provider's id of the session that is over; nil for all of the subject's.
    public let sessionID: String?
    /// Unique within the issuer: the token is good once.
    public let id: String
    /// When the token is worth nothing any more, whoever brings it.
    public let refusedFrom: Timestamp
}

extension LogoutToken: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "LogoutToken(issuer: \(issuer))" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: ["issuer": issuer]) }
}

/// The checks a logout token must pass (Back-Channel Logout section 2.6), in the order in which they are made: those that
/// need no keys come first. The raw values are stable names for error answers and logs.
public enum LogoutTokenCheck: String, Sendable, Hashable, CaseIterable {
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
    case event
    case nonce
    case subject
    case key
    case signature

    /// What the check demands, as a sentence for an error answer.
    public var demand: String {
        switch self {
        case .format: "The logout token must be a signed JWT in compact form, of at most the allowed size."
        case .criticalHeader: "The logout token's header must not have extensions (crit, b64)."
        case .type: "The logout token's header, if it names a type, must name logout+jwt."
        case .algorithm: "The logout token must be signed with an allowed algorithm."
        case .claims: "The logout token's claims must be a strict JSON object."
        case .issuer: "The logout token must be issued by this provider."
        case .audience: "The logout token must be meant for one of this provider's clients, and for no other."
        case .issuedAt: "The logout token must have been issued just now."
        case .expiry: "The logout token's expiry time must not be over."
        case .notBefore: "The logout token must be valid already."
        case .tokenID: "The logout token must have a jti of 1 to 255 visible ASCII characters."
        case .event: "The logout token's events must have the back-channel logout event, an object."
        case .nonce: "The logout token must not have a nonce."
        case .subject: "The logout token must have a sub or a sid, of 1 to 255 visible ASCII characters."
        case .key: "The logout token must be signed with one of the provider's current signing keys."
        case .signature: "The logout token's signature must hold."
        }
    }
}

/// Why a logout token ends nothing.
public enum LogoutTokenRefusal: Error, Sendable {
    case failed(LogoutTokenCheck)
    /// It cannot be told whether it is good: metadata or keys are not to be had.
    case unknown(OIDCError)
}

/// A logout token whose signature nobody has looked at yet. Made without network and keys, so that junk costs nothing.
struct UnverifiedLogoutToken: Sendable {
    static let event = "http://schemas.openid.net/event/backchannel-logout"

    let token: SignedToken
    let logout: LogoutToken

    struct Requirements: Sendable {
        let issuer: String
        let clients: Set<String>
        let rules: IDTokenRules
        let now: Timestamp
    }

    init(_ text: Secret, _ requirements: Requirements) throws(LogoutTokenRefusal) {
        let rules = requirements.rules
        do throws(OIDCError) {
            token = try SignedToken(
                text, maximumBytes: rules.maximumBytes, type: .logoutToken, allows: rules.algorithms.contains)
        } catch {
            throw .failed(error.check.flatMap { LogoutTokenCheck(rawValue: $0.rawValue) } ?? .format)
        }
        guard let claims = (try? JSONValue(parsing: token.payload))?.object else { throw .failed(.claims) }
        guard claims["iss"]?.string?.hasSameBytes(as: requirements.issuer) == true else { throw .failed(.issuer) }
        guard let audience = Self.audience(claims), requirements.clients.contains(where: audience.hasSameBytes(as:))
        else { throw .failed(.audience) }
        let refusedFrom = try Self.end(claims, rules, requirements.now)
        guard let id = claims["jti"].flatMap(Self.visibleText) else { throw .failed(.tokenID) }
        guard claims["events"]?.object?[Self.event]?.object != nil else { throw .failed(.event) }
        guard claims["nonce"] == nil else { throw .failed(.nonce) }
        let (subject, sessionID) = (claims["sub"].flatMap(Self.visibleText), claims["sid"].flatMap(Self.visibleText))
        guard (subject != nil) == (claims["sub"] != nil), (sessionID != nil) == (claims["sid"] != nil),
            subject != nil || sessionID != nil
        else { throw .failed(.subject) }
        logout = LogoutToken(
            issuer: requirements.issuer, subject: subject, sessionID: sessionID, id: id, refusedFrom: refusedFrom)
    }

    /// As of an ID token: one audience only.
    private static func audience(_ claims: JSONObject) -> String? {
        guard case .array(let several) = claims["aud"] else { return claims["aud"]?.string }
        return several.count == 1 ? several.first?.string : nil
    }

    /// The moment from which on the token is too old. An expiry, which older providers leave out, can only make it earlier.
    private static func end(
        _ claims: JSONObject, _ rules: IDTokenRules, _ now: Timestamp
    ) throws(LogoutTokenRefusal) -> Timestamp {
        let skew = rules.clockSkewSeconds
        guard let issued = ClaimEvidence.numericDate(claims["iat"]), issued <= now.advanced(bySeconds: skew) else {
            throw .failed(.issuedAt)
        }
        let tooOld = issued.advanced(bySeconds: rules.maximumAgeSeconds + skew)
        guard now <= tooOld else { throw .failed(.issuedAt) }
        if let claim = claims["exp"] {
            guard let expiry = ClaimEvidence.numericDate(claim), now < expiry.advanced(bySeconds: skew) else {
                throw .failed(.expiry)
            }
        }
        if let claim = claims["nbf"] {
            guard let start = ClaimEvidence.numericDate(claim), start <= now.advanced(bySeconds: skew) else {
                throw .failed(.notBefore)
            }
        }
        return tooOld.advanced(bySeconds: 1)
    }

    static func visibleText(_ value: JSONValue) -> String? {
        guard let text = value.string, (1...255).contains(text.utf8.count),
            text.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else { return nil }
        return text
    }
}
