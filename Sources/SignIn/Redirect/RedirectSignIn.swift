import Crypto
public import OpenIDConnect
import Primitives

/// Signs a user in whose browser is sent to the carrier, or to another provider, and back: for web frontends, secondary
/// devices, and apps that use a browser session.
///
/// It begins in `RedirectSignIn+Start.swift`, sends the browser on in `RedirectSignIn+Asking.swift`, and goes on with what
/// the browser brings back in `RedirectSignIn+Callback.swift`.
///
/// `state`, `nonce` and the code verifier are made and kept here; each `state` is good once, for ten minutes.
public struct RedirectSignIn: Sendable {
    /// How long a browser may be away, in seconds.
    public static let lifetime: Int64 = 600

    let configuration: SignInConfiguration
    let relyingParties: [String: RelyingParty]
    let signIn: SignInWithCode
    let link: LinkIdentity
    let notes: EncryptedOneTimeStore
    let handover: OneTimeSessionCode
    let starts: StartRate
    let clock: WallClock
    let random: RandomSource

    /// The providers that users can sign in with, in the order of their names in paths.
    public var providers: [(id: String, provider: SignInConfiguration.Provider)] {
        configuration.providers.filter { relyingParties[$0.key] != nil }.sorted { $0.key < $1.key }
            .map { (id: $0.key, provider: $0.value) }
    }

    /// Where a frontend of a kind ends up that names no redirect URI: for pages the client's first one of http or https,
    /// for apps the first of a scheme of their own; without such a one, the first. Nil if there is none, or no client.
    public func usualRedirectURI(at provider: String, clientID: ClientID?, _ clientType: ClientType) -> String? {
        let clients = configuration.providers[provider]?.clients ?? [:]
        let client = clientID.map { clients[$0] } ?? (clients.count == 1 ? clients.first?.value : nil)
        let uris = client?.redirectURIs ?? []
        return uris.first { (AppRedirectURI.origin(of: $0) != nil) == clientType.isBoundToBrowser } ?? uris.first
    }

    static func hash(_ browser: Secret) -> String {
        Base64URL.encode(Array(SHA256.hash(data: Array(browser.exposed.utf8))))
    }
}
