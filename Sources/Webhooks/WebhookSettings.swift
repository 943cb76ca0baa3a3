package import LatchkeyConfiguration
package import Primitives

/// `webhooks`: who gets which events.
package struct WebhookSettings: FeatureSettings, Hashable {
    /// The most endpoints.
    static let mostEndpoints = 16
    /// Retries end with the audit log, which must be longer than the longest weekend.
    private static let shortestRetention = Duration.seconds(3 * 86_400)

    package var endpoints: [WebhookEndpoint] = []

    package init() {}

    package static let settings = [
        Setting(
            "webhooks", .list(of: .webhook, "a list of webhooks"), \WebhookSettings.endpoints, isSecret: true,
            "The endpoints that get signed events of accounts and sessions, each a group of url, events and secret.")
    ]

    package func contradictions(
        in configuration: Configuration
    ) -> [(key: String, reason: String, remedy: String)] {
        var found: [(key: String, reason: String, remedy: String)] = []
        if endpoints.count > Self.mostEndpoints {
            found.append(
                ("webhooks", "has more than \(Self.mostEndpoints) endpoints", "have one receiver pass events on"))
        }
        for (index, endpoint) in endpoints.enumerated() {
            let key = "webhooks[\(index)]"
            if endpoints[..<index].contains(where: { $0.name == endpoint.name }) {
                found.append((key, "has the name of another endpoint", "give it a name of its own"))
            }
            if endpoint.secrets.count > 2 {
                found.append(
                    ("\(key).secret", "has more than two secrets", "give the new one, and the old until it is replaced")
                )
            }
            let unrecorded = WebhookType.allCases.filter { $0.needsSignIns && endpoint.types.contains($0) }
            if !configuration.auditsSignIns, let type = unrecorded.first {
                found.append(
                    (
                        "\(key).events", "has \(type.rawValue), which only audit.sign_ins records",
                        "set audit.sign_ins to true, or list events without it"
                    ))
            }
        }
        return found
    }

    package func warnings(in configuration: Configuration) -> [(key: String, reason: String, remedy: String)] {
        guard !endpoints.isEmpty else { return [] }
        var found: [(key: String, reason: String, remedy: String)] = []
        if configuration.auditRetention < Self.shortestRetention {
            found.append(
                (
                    "audit.retention",
                    "ends the retries of webhooks: events are lost when a receiver is down for so long",
                    "keep the audit log for three days or longer"
                ))
        }
        let plain = endpoints.map(\.url).filter { !EndpointURL.Policy.allowLoopbackHTTP.allows($0) }
        if !plain.isEmpty {
            let warning = Configuration.warning(ofPlainHTTPTo: plain.map(\.host), exposing: "the events")
            found.append(("webhooks", warning.reason, warning.remedy))
        }
        return found
    }
}

/// One receiver of events.
package struct WebhookEndpoint: Sendable, Hashable {
    /// Under which the database knows how far it is.
    package let name: String
    package let url: EndpointURL
    package let types: Set<WebhookType>
    /// One, or two during a rotation. Each signs.
    package let secrets: [Secret]

    package init(name: String? = nil, url: EndpointURL, types: Set<WebhookType>, secrets: [Secret]) {
        self.name = name ?? String(url.text.prefix { $0 != "?" })
        self.url = url
        self.types = types
        self.secrets = secrets
    }
}

/// The events that an item of `events` selects.
struct WebhookSelection: Sendable, Hashable {
    let text: String
    let types: Set<WebhookType>

    static let all = WebhookSelection(text: "*", types: Set(WebhookType.allCases))

    /// The name of an event, `*`, or the beginning of names and `.*`.
    init?(_ text: String) {
        let types = WebhookType.allCases.filter { type in
            text == "*" || type.rawValue == text || text.hasSuffix(".*") && type.rawValue.hasPrefix(text.dropLast())
        }
        guard !types.isEmpty else { return nil }
        self.init(text: text, types: Set(types))
    }

    private init(text: String, types: Set<WebhookType>) {
        self.text = text
        self.types = types
    }
}

/// An item of `webhooks`, while it is read.
struct WebhookDraft: GroupDraft {
    var place = GroupPlace()
    var name: String?
    var url: EndpointURL?
    var events = [WebhookSelection.all]
    var secrets: [Secret] = []

    static let settings: [Setting<WebhookDraft>] = [
        Setting(
            "name", .optional(.webhookName), \.name,
            "The name under which the database knows how far the endpoint is; by default its url without a query. "
                + "With a name, the url can change."),
        Setting(
            "url", .optional(.carrierURL), \.url, "Where events are posted to. Redirects are not followed."
        ).required(),
        Setting(
            "events", .list(of: .webhookSelection, "a list of events"), \.events,
            "The events that are sent: names such as user.created, user.* or *."),
        Setting(
            "secret", .list(of: .webhookSecret, "a secret, or two during a rotation"), \.secrets, isSecret: true,
            "Signs the events: whsec_ and 24 to 64 bytes in base64. During a rotation the new secret and the old one, "
                + "each of which signs."
        ).required("give secret or secret_file"),
    ]
}

extension ValueType where Value == WebhookEndpoint {
    static var webhook: ValueType {
        .keys(
            "a group of url, events and secret", of: "webhook", WebhookDraft.settings, defaults: WebhookDraft(),
            show: { $0.name }
        ) { draft in
            draft.url.map { url in
                WebhookEndpoint(
                    name: draft.name, url: url, types: draft.events.reduce(into: []) { $0.formUnion($1.types) },
                    secrets: draft.secrets)
            }
        }
    }
}

extension ValueType where Value == String {
    fileprivate static var webhookName: ValueType {
        .parsed("a name", show: { $0 }, "is not a name", "give 1 to 64 letters, digits and . _ -") { text in
            let isName = text.utf8.allSatisfy { $0.isASCIILetterOrDigit || "._-".utf8.contains($0) }
            return isName && (1...64).contains(text.utf8.count) ? text : nil
        }
    }
}

extension ValueType where Value == WebhookSelection {
    fileprivate static var webhookSelection: ValueType {
        .parsed(
            "the name of an event", show: { $0.text }, "is not the name of an event",
            "give *, or some of \(WebhookType.allCases.map(\.rawValue).joined(separator: ", "))",
            WebhookSelection.init)
    }
}

extension ValueType where Value == Secret {
    fileprivate static var webhookSecret: ValueType {
        .parsed(
            "a secret of webhooks", show: { _ in "‹redacted›" }, "is not a secret of webhooks",
            "give whsec_ and 24 to 64 random bytes in base64, such as those of: openssl rand -base64 32"
        ) { text in
            let secret = Secret(text)
            return WebhookSignature.key(of: secret) == nil ? nil : secret
        }
    }
}
