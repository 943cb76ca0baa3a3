import OpenIDConnect
import Primitives
import StorageModel

/// What a provider reports of a user, of the profiles RISC and CAEP (OpenID Shared Signals) and of Google's and
/// Apple's own forms. The raw value is the name in the configuration: the last part of the event's URI.
package enum EventName: String, Sendable, Hashable, CaseIterable {
    case sessionRevoked = "session-revoked"
    case sessionsRevoked = "sessions-revoked"
    case credentialChange = "credential-change"
    case credentialChangeRequired = "account-credential-change-required"
    case credentialCompromise = "credential-compromise"
    case accountDisabled = "account-disabled"
    case accountEnabled = "account-enabled"
    case accountPurged = "account-purged"
    case identifierChanged = "identifier-changed"
    case identifierRecycled = "identifier-recycled"
    case recoveryActivated = "recovery-activated"
    case recoveryInformationChanged = "recovery-information-changed"
    case assuranceLevelChange = "assurance-level-change"
    case tokenClaimsChange = "token-claims-change"
    case tokenRevoked = "token-revoked"
    case tokensRevoked = "tokens-revoked"
    case consentRevoked = "consent-revoked"
    case accountDeleted = "account-deleted"
    case emailEnabled = "email-enabled"
    case emailDisabled = "email-disabled"

    /// What follows if the configuration does not say otherwise.
    package var usualAction: EventAction {
        switch self {
        case .sessionRevoked, .sessionsRevoked, .credentialCompromise, .accountDisabled: .endSessions
        case .accountPurged, .accountDeleted, .consentRevoked, .tokensRevoked: .endAccess
        case .credentialChange, .credentialChangeRequired, .accountEnabled, .identifierChanged, .identifierRecycled,
            .recoveryActivated, .recoveryInformationChanged:
            .record
        case .assuranceLevelChange, .tokenClaimsChange, .tokenRevoked, .emailEnabled, .emailDisabled: .ignore
        }
    }

    /// The URIs of event types are these and the name.
    private static let prefixes = ["risc", "caep", "oauth"].map {
        "https://schemas.openid.net/secevent/\($0)/event-type/"
    }

    /// Nil for an event that is not known.
    init?(type: String) {
        guard let prefix = Self.prefixes.first(where: type.hasPrefix) else { return nil }
        self.init(rawValue: String(type.dropFirst(prefix.count)))
    }

    /// Of Apple's notifications, whose older documents have another name for the deletion.
    init?(appleType: String) {
        if appleType == "account-delete" { self = .accountDeleted } else { self.init(rawValue: appleType) }
    }
}

/// What an event leads to. The raw values are those of the configuration.
package enum EventAction: String, Sendable, Hashable, CaseIterable {
    /// Nothing.
    case ignore
    /// It is in the audit log of the user.
    case record
    /// All sessions that the identity signed in end, too.
    case endSessions = "end_sessions"
    /// The stored tokens of the identity at the provider are removed, too.
    case forgetTokens = "forget_tokens"
    /// Both of them.
    case endAccess = "end_access"

    var endsSessions: Bool { self == .endSessions || self == .endAccess }
    var forgetsTokens: Bool { self == .forgetTokens || self == .endAccess }
}

/// One event of a token.
struct SecurityEvent: Sendable {
    enum Kind: Sendable {
        case ofUser(EventName, EventSubject)
        /// The answer to a request for one: the stream works. With the `state` of the request.
        case verification(state: String?)
        /// The provider enabled, paused or disabled its stream.
        case streamUpdated(status: String?)
        case unknown
    }

    let kind: Kind
}

/// Whom an event is about (RFC 9493), as far as this server knows users by it.
enum EventSubject: Sendable, Hashable {
    case identity(Identity)
    /// An e-mail address, a phone number, a device, another provider's user.
    case other

    /// - Parameter provider: The provider of the event, whose users alone it may be about.
    /// - Returns: Nil for a malformed identifier.
    init?(_ value: JSONValue?, at provider: EventIssuers, mayNest: Bool = true) {
        guard let object = value?.object else { return nil }
        switch object["format"]?.string ?? object["subject_type"]?.string {
        case "iss_sub", "iss-sub":
            guard let issuer = object["iss"]?.string, let subject = object["sub"]?.visibleText else { return nil }
            self = provider.subject(issuer, subject)
        // Google's own form: claims of an ID token, of which the subject may be missing.
        case "id_token_claims":
            guard let issuer = object["iss"]?.string, let subject = object["sub"]?.visibleText else {
                self = .other
                return
            }
            self = provider.subject(issuer, subject)
        case "opaque":
            guard let id = object["id"]?.visibleText else { return nil }
            self = provider.subject(provider.identities, id)
        case "aliases" where mayNest:
            guard let several = object["identifiers"]?.array, (1...Self.mostAliases).contains(several.count) else {
                return nil
            }
            let subjects = several.map { EventSubject($0, at: provider, mayNest: false) }
            guard subjects.allSatisfy({ $0 != nil }) else { return nil }
            self = subjects.lazy.compactMap(\.self).first { $0 != .other } ?? .other
        // Shared Signals: a user, with a session or a device. An older form has no format.
        case "complex" where mayNest, nil where mayNest && Self.parts.contains { object[$0] != nil }:
            guard let user = object["user"] else {
                self = .other
                return
            }
            guard let subject = EventSubject(user, at: provider, mayNest: false) else { return nil }
            self = subject
        case "aliases", "complex", nil: return nil
        default: self = .other
        }
    }

    /// How many identifiers a subject may have.
    private static let mostAliases = 16
    private static let parts = ["user", "session", "device", "tenant", "org_unit", "group"]
}

/// The issuers of a provider's events and of its users.
struct EventIssuers: Sendable {
    /// Of event tokens.
    let events: String
    /// Of ID tokens, and so of identities.
    let identities: String
    let relyingParty: RelyingParty

    /// The provider's user of an issuer, which may also be spelled as that of events; another provider's is none.
    func subject(_ issuer: String, _ subject: String) -> EventSubject {
        if relyingParty.isIssuer(issuer, of: identities) {
            return .identity(Identity(issuer: issuer, subject: subject))
        }
        guard issuer.hasSameBytes(as: events) else { return .other }
        return .identity(Identity(issuer: identities, subject: subject))
    }
}
