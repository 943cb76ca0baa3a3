import Crypto
package import OpenIDConnect
import Primitives

/// Signs a user in whose browser is sent to the carrier, or to another provider, and back: for web frontends, secondary
/// devices, and apps that use a browser session.
///
/// `RedirectSignIn+Start.swift` begins, `RedirectSignIn+Authorization.swift` sends the browser to the provider, and
/// `RedirectSignIn+Callback.swift` continues with what the browser brings back.
///
/// `state`, `nonce` and the code verifier are made and kept here. Each `state` is good once, for ten minutes.
package struct RedirectSignIn: Sendable {
    /// How long a browser may be away, in seconds.
    package static let lifetime: Int64 = 600

    let configuration: SignInConfiguration
    let relyingParties: [String: RelyingParty]
    let signIn: SignInWithCode
    let linkIdentity: LinkIdentity
    let verifyPhoneNumber: VerifyPhoneNumber
    let oneTimeStore: EncryptedOneTimeStore
    let sessionCode: OneTimeSessionCode
    /// The sign-ins that this process has started and that have not come back.
    let pendingStarts: OneTimeRecordQuota
    /// The records of codes that browsers brought.
    let answeredCodes: OneTimeRecordQuota
    let clock: WallClock
    let random: RandomSource

    var rules: RedirectRules { RedirectRules(configuration: configuration, relyingParties: relyingParties) }

    /// How many sign-ins are under way.
    package var pendingCount: Int { pendingStarts.count }

    /// How many sign-ins were refused or displaced because too many are under way.
    package var startStatistics: OneTimeRecordQuota.Statistics { pendingStarts.statistics }

    /// The providers that users can sign in with, sorted by their names in paths. One with several operators is there
    /// once, as one of them.
    package var providers: [(id: String, provider: SignInConfiguration.Provider)] {
        let all = configuration.providers.filter { relyingParties[$0.key] != nil }
            .map { (configuration.path(ofProvider: $0.key), $0.value) }
        return Dictionary(all, uniquingKeysWith: { first, _ in first }).sorted { $0.key < $1.key }
            .map { (id: $0.key, provider: $0.value) }
    }

    /// Whether a name in paths stands for a provider with mobile operators.
    package func hasOperators(_ name: String) -> Bool {
        configuration.hasProvider(inPaths: name) && configuration.providers[name] == nil
    }

    /// - Throws: `not_found` if a name in paths stands for no provider.
    package func checkProvider(_ name: String) throws(SignInError) {
        guard configuration.hasProvider(inPaths: name) else { throw .unknownProvider(in: configuration) }
    }

    /// The redirect URI of a frontend that names none: the client's first one that is for this kind of frontend, for
    /// apps preferably with a scheme of their own; otherwise the first of all. Nil without a client or redirect URIs.
    package func usualRedirectURI(at provider: String, clientID: ClientID?, _ clientType: ClientType) -> String? {
        guard let client = configuration.providers[provider]?.client(clientID) else { return nil }
        let allowed = client.redirectURIs.filter { client.allows(clientType, at: $0) }
        return allowed.first { (AppRedirectURI.origin(of: $0) != nil) == clientType.isBoundToBrowser }
            ?? allowed.first ?? client.redirectURIs.first
    }

    static func hash(_ browser: Secret) -> String {
        Base64URL.encode(Array(SHA256.hash(data: Array(browser.exposed.utf8))))
    }
}
