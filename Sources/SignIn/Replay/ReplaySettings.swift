package import OpenIDConnect
import Primitives

/// What a sign-in of a capsule is judged by.
package struct ReplaySettings: Sendable {
    var signIn: SignInConfiguration
    /// Nil if the provider is not configured.
    var relyingParty: RelyingParty.Configuration?

    /// - Parameters:
    ///   - signIn: With the provider of the capsule.
    ///   - relyingParty: That of the provider; nil if it is not configured.
    package init(_ signIn: SignInConfiguration, _ relyingParty: RelyingParty.Configuration?) {
        self.signIn = signIn
        self.relyingParty = relyingParty
    }
}

extension CapsuleReplay {
    /// The longest times of a configuration, in seconds: a year.
    private static let times: ClosedRange<Int64> = 0...31_622_400
    /// The most words of one setting.
    private static let maximumWords = 64

    private typealias Client = SignInConfiguration.Client

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
        guard let id = ClientID(clientID), var client = settings.signIn.providers[provider]?.clients[id] else {
            return settings
        }
        // The tokens of a capsule were decrypted.
        client.idTokenDecryption = nil
        if let names = Self.words(shown?["signing_algorithms"]) {
            let algorithms = Set(names.compactMap(SigningAlgorithm.init(rawValue:)))
            client.idTokenSigningAlgorithm = nil
            client.usualSigningAlgorithms = algorithms
            settings.relyingParty?.signingAlgorithms.formUnion(algorithms)
        }
        client.pkce = shown?["pkce"]?.string.flatMap { Client.PKCE(rawValue: $0) } ?? client.pkce
        client.nonce = shown?["nonce"]?.string.flatMap { Client.Nonce(rawValue: $0) } ?? client.nonce
        client.scopes = Self.words(shown?["scopes"]) ?? client.scopes
        settings.signIn.providers[provider]?.clients[id] = client
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
