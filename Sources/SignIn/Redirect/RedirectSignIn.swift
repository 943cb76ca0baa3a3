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

    let providers: Providers
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

    var capsules: CapsuleRecorder? { signIn.runner.capsules }

    /// How many sign-ins are under way.
    package var pendingCount: Int { pendingStarts.count }

    /// How many sign-ins were refused or displaced because too many are under way.
    package var startStatistics: OneTimeRecordQuota.Statistics { pendingStarts.statistics }

    /// The redirect URI of a frontend that names none: the client's first one that is for this kind of frontend, for
    /// apps preferably with a scheme of their own; otherwise the first of all. Nil without a client or redirect URIs.
    package func usualRedirectURI(at provider: String, clientID: ClientID?, _ clientType: ClientType) -> String? {
        guard let client = providers[provider]?.server?.client(clientID) else { return nil }
        let allowed = client.redirectURIs.filter { client.allows(clientType, at: $0) }
        return allowed.first { (AppRedirectURI.origin(of: $0) != nil) == clientType.isBoundToBrowser }
            ?? allowed.first ?? client.redirectURIs.first
    }

    static func hash(_ browser: Secret) -> String {
        Base64URL.encode(Array(SHA256.hash(data: Array(browser.exposed.utf8))))
    }
}
