package import OpenIDConnect
import Primitives

/// What the token of a capsule is judged by.
package struct ReplaySettings: Sendable {
    /// Nil if the provider is not configured.
    var clients: [ClientID: SignInConfiguration.Client]?
    /// Nil if the provider is not configured.
    var relyingParty: RelyingParty.Configuration?

    /// The settings of the capsule's provider, if there is one.
    package init(_ clients: [SignInConfiguration.Client]?, _ relyingParty: RelyingParty.Configuration?) {
        self.clients = clients.map {
            Dictionary($0.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        }
        self.relyingParty = relyingParty
    }
}

extension CapsuleReplay {
    /// The longest times of a configuration, in seconds: a year.
    private static let times: ClosedRange<Int64> = 0...31_622_400
    /// The most words of one setting.
    private static let maximumWords = 64

    /// These settings with what the capsule recorded in their place.
    /// - Throws: ``Refusal`` if what it recorded is no setting.
    func recorded(in settings: ReplaySettings) throws(Refusal) -> ReplaySettings {
        var settings = settings
        let shown = content["settings"]?.object
        if var rules = settings.relyingParty?.idTokenRules {
            rules.clockSkewSeconds = try Self.seconds(shown?["clock_skew"]) ?? rules.clockSkewSeconds
            rules.maximumAgeSeconds = try Self.seconds(shown?["max_age_of_issue"]) ?? rules.maximumAgeSeconds
            if let names = Self.words(shown?["id_token_types"]) {
                rules.types = names.compactMap(IDTokenType.init(rawValue:))
            }
            settings.relyingParty?.idTokenRules = rules
        }
        if let id = ClientID(clientID), let names = Self.words(shown?["signing_algorithms"]) {
            settings.clients?[id]?.idTokenSigningAlgorithm = nil
            settings.clients?[id]?.usualSigningAlgorithms = Set(
                names.compactMap(SigningAlgorithm.init(rawValue:)))
        }
        return settings
    }

    private static func seconds(_ shown: JSONValue?) throws(Refusal) -> Int64? {
        guard let seconds = shown?.integer else { return nil }
        guard times.contains(seconds) else {
            throw Refusal(.unreadable, "a time in its settings is none of a configuration")
        }
        return seconds
    }

    private static func words(_ shown: JSONValue?) -> [String]? {
        shown?.array.map { $0.prefix(maximumWords).compactMap(\.string) }
    }
}
