package import LatchkeyConfiguration
package import OpenIDConnect
package import Primitives
import SignIn

/// The form of a provider's event tokens. The raw values are those of the configuration.
package enum EventTransmitter: String, Sendable, Hashable, CaseIterable {
    /// The provider sends none.
    case off
    /// As OpenID Shared Signals Framework 1.0 says.
    case ssf
    /// Google's Cross-Account Protection.
    case google
    /// The server-to-server notifications of Sign in with Apple.
    case apple

    /// Google and Apple do not mark their tokens.
    var tokenType: TokenType { .media("secevent+jwt", orStandard: self == .google || self == .apple) }

    /// Whether a token may have an `exp`. Elsewhere it must not, so that no ID token passes as an event token (Shared
    /// Signals Framework section 4.1.7).
    var mayExpire: Bool { self == .apple }
}

/// `events` of a provider.
package struct EventRules: Sendable, Hashable {
    /// The form of its tokens.
    package var transmitter = EventTransmitter.off
    /// The issuer of event tokens; nil for that of ID tokens.
    package var issuer: EndpointURL?
    /// The keys of event tokens; nil for those of ID tokens.
    package var jwksURI: EndpointURL?
    /// The audiences of event tokens besides the clients.
    package var audiences: [ClientID] = []
    /// How long ago a token may have been issued. A provider that could not deliver one tries again for days.
    package var maximumAge = Duration.seconds(7 * 86_400)
    /// What the administrator has decided of events.
    package var actions: [EventName: EventAction] = [:]
    /// What pushed events must have as `Authorization`; nil for nothing.
    package var authorization: Secret?
    /// Where events are polled; nil where they are pushed.
    package var pollEndpoint: EndpointURL?
    /// What polls have as `Authorization`; nil for nothing.
    package var pollAuthorization: Secret?
    /// The time from one poll to the next, while there are no events.
    package var pollInterval = Duration.seconds(60)

    /// No events.
    package init() {}

    /// What an event leads to.
    package func action(of event: EventName) -> EventAction { actions[event] ?? event.usualAction }

    fileprivate static let settings: [Setting<ProviderDraft>] = [
        Setting(
            "events.transmitter", .choice, \.events.transmitter,
            "Security events that the provider sends of its users. ssf: as OpenID Shared Signals Framework says; "
                + "google: Google's Cross-Account Protection; apple: Apple's server-to-server notifications; off: none "
                + "is accepted. The default is off."
        ).withoutDefault(),
        Setting(
            "events.issuer", .optional(.issuer), \.events.issuer,
            "The iss of event tokens, if it is not issuer. The users that they name are those of issuer all the same."),
        Setting(
            "events.jwks_uri", .optional(.carrierURL), \.events.jwksURI,
            "The URL of the keys that sign event tokens, if they are not those of ID tokens."),
        Setting(
            "events.audiences", .list(of: .clientID, "a list of audiences"), \.events.audiences,
            "The aud of event tokens, besides the ids of the provider's clients, such as Apple's primary App ID."),
        Setting(
            "events.max_age", .duration(60...30 * 86_400), \.events.maximumAge,
            "How long ago an event token may have been issued. So long its id is kept, and a repeated one has no "
                + "effect. The default is 7d."
        ).withoutDefault(),
        Setting(
            "events.actions", .actions, \.events.actions,
            "What events lead to, by their names, where it is not as docs/security-events.md says: ignore; record, in "
                + "the audit log; end_sessions, those that the identity signed in; forget_tokens, those stored of the "
                + "identity; end_access, both."),
        Setting(
            "events.authorization", .optional(.authorization), \.events.authorization, isSecret: true,
            "What the provider sends as Authorization with pushed events, such as Bearer and a token; without it, the "
                + "signature of the events alone proves where they are from."),
        Setting(
            "events.poll_endpoint", .optional(.carrierURL), \.events.pollEndpoint,
            "Where events are polled (RFC 8936); without it they are pushed."),
        Setting(
            "events.poll_authorization", .optional(.authorization), \.events.pollAuthorization, isSecret: true,
            "What is sent as Authorization with polls, such as Bearer and a token."),
        Setting(
            "events.poll_interval", .duration(5...86_400), \.events.pollInterval,
            "The time from one poll to the next. The default is 1m."
        ).withoutDefault(),
    ].map { $0.of(.oidc) }
}

extension ProviderDraft {
    static let eventKinds: ProviderKinds = (readers: [:], settings: EventRules.settings, lists: [])

    fileprivate var events: EventRules {
        get { self[EventRules.self] ?? EventRules() }
        set { self[EventRules.self] = newValue }
    }
}

extension Configuration.Provider {
    /// Its security events.
    package var events: EventRules {
        get { self[EventRules.self] ?? EventRules() }
        set { self[EventRules.self] = newValue }
    }

    /// The issuer of its event tokens. Google's has a slash at its end.
    package var eventIssuer: String {
        events.issuer?.text ?? (events.transmitter == .google ? issuer.text + "/" : issuer.text)
    }
}

/// Has no keys: those of `events` are keys of providers.
package struct SecurityEventSettings: FeatureSettings {
    package init() {}

    /// What of a provider's `events` has no effect, or cannot have any.
    package func contradictions(
        in configuration: Configuration
    ) -> [(key: String, reason: String, remedy: String)] {
        configuration.providers.flatMap { provider in
            let rules = provider.events
            let faults: [(isPresent: Bool, reason: String, remedy: String)] = [
                (
                    rules.transmitter == .off && rules != EventRules(), "is given, but no event is accepted",
                    "set events.transmitter to ssf, google or apple, or remove the other keys of events"
                ),
                (
                    rules.transmitter == .apple && rules.pollEndpoint != nil,
                    "has poll_endpoint, but Apple pushes its events", "remove it"
                ),
                (
                    rules.authorization != nil && rules.pollEndpoint != nil,
                    "has authorization, which is of pushed events, and poll_endpoint",
                    "give poll_authorization in its place, or remove poll_endpoint"
                ),
                (
                    rules.pollAuthorization != nil && rules.pollEndpoint == nil,
                    "has poll_authorization, but no poll_endpoint", "give it"
                ),
                (
                    rules.transmitter != .off && provider.rules.tenants != nil && rules.issuer == nil,
                    "has no issuer, and that of the provider has a placeholder", "give events.issuer"
                ),
            ]
            return faults.filter(\.isPresent).map { ("providers.\(provider.id).events", $0.reason, $0.remedy) }
        }
    }
}

extension ValueType {
    fileprivate static var actions: ValueType<[EventName: EventAction]> {
        .group("a group of event: action") {
            "\($0.rawValue)=\($1.rawValue)"
        } key: { (name) throws(InvalidValueError) in
            guard let event = EventName(rawValue: name) else {
                let names = EventName.allCases.map(\.rawValue).joined(separator: ", ")
                throw InvalidValueError("there is no such event", "give one of \(names)")
            }
            return event
        } element: { entry, context in
            ValueType<EventAction>.choice.read(entry.node, &context)
        }
    }

    /// The value of the field `Authorization`.
    fileprivate static var authorization: ValueType<Secret> {
        .parsed(
            "the value of the header field Authorization", show: { _ in "‹redacted›" },
            "is not the value of Authorization",
            "give 1 to 1024 ASCII characters, such as Bearer and a token, without a space at an end"
        ) { text in
            let isText = text.utf8.allSatisfy(\.isPrintableASCII) && !text.hasPrefix(" ") && !text.hasSuffix(" ")
            return isText && (1...1024).contains(text.utf8.count) ? Secret(text) : nil
        }
    }
}
