package import LatchkeyConfiguration
package import LatchkeyService
import Logging
import OpenIDConnect
import Primitives
package import SignIn
import StorageModel

/// `zenkey.port_tokens`
extension PortTokenRules: FeatureSettings {
    package static let settings = [
        Setting(
            "zenkey.port_tokens.require_type", .flag(), \PortTokenRules.requiresType,
            "Whether the typ of port tokens must be port_token+jwt; otherwise it may also be absent.")
    ]

    package func warnings(
        in configuration: Configuration
    ) -> [(key: String, reason: String, remedy: String)] {
        guard !requiresType else { return [] }
        return [
            (
                "zenkey.port_tokens.require_type",
                "a signed token of a carrier without typ may move an account, and its claims alone show what it is for",
                "set it to true unless a carrier's port tokens have no typ"
            )
        ]
    }
}

/// Account migration (docs/accounts.md): a user who changes carriers keeps the account, if the former carrier vouches
/// for that with a port token.
package struct AccountMigrationFeature: Feature {
    let rules: PortTokenRules
    let store: any IdentityStore
    let clock: WallClock

    package init(_ rules: PortTokenRules, in context: FeatureContext) {
        self.rules = rules
        store = context.store
        clock = context.clock
    }

    package var formerIdentities: FormerIdentitySource? { formerIdentities(of:in:) }
}

/// Account migration: a user who is unknown under one carrier may have an account under a former carrier, which vouches
/// for that with a port token (the guides' section “Account Migration”).
extension AccountMigrationFeature {
    /// The user's identities at former carriers, in the order of the port tokens; none if the user is known.
    ///
    /// An invalid port token is logged and otherwise ignored. A former carrier is asked for its keys only if the token
    /// names a stored identity.
    func formerIdentities(
        of user: VerifiedSignIn, in signIn: any UserVerification
    ) async throws(SignInError) -> [PortedIdentity] {
        let relyingParty = signIn.relyingParty
        // Only carriers vouch for each other's users.
        guard !user.portTokens.isEmpty, relyingParty.usesNetworkDiscovery else { return [] }
        let verifier = PortTokenVerifier(relyingParty: relyingParty, rules: rules, clock: clock)
        let read = verifier.read(user.portTokens, for: signIn.client.id)
        let tokens = read.compactMap { try? $0.get() }
        let identities = [user.identity] + tokens.map(\.identity)
        let statuses = try await mappingStoreErrors(await store.statuses(of: identities))
        let present = statuses.first ?? .unknown
        if case .live = present { return [] }
        for case .failure(let refusal) in read { signIn.noteIgnored(refusal) }
        var candidates: [UnverifiedPortToken] = []
        for (token, former) in zip(tokens, statuses.dropFirst()) {
            if let reason = Self.obstacle(to: former, becoming: present) {
                signIn.noteIgnoredPortToken(reason, issuer: token.identity.issuer, level: .info)
            } else {
                candidates.append(token)
            }
        }
        guard !candidates.isEmpty else { return [] }
        let verified = await verifier.verify(candidates)
        for case .failure(let refusal) in verified { signIn.noteIgnored(refusal) }
        return verified.compactMap { try? $0.get() }
    }

    /// Why an account is not moved from an identity, whatever the signature; nil if it may be. The store checks again
    /// when it moves the account.
    private static func obstacle(to former: IdentityStatus, becoming present: IdentityStatus) -> String? {
        guard case .live(let user) = former else { return "not_on_record" }
        if case .moved(let owner) = present, owner != user { return "another_user" }
        return nil
    }
}

extension UserVerification {
    fileprivate func noteIgnored(_ refusal: PortTokenError) {
        noteIgnoredPortToken(refusal.check.rawValue, issuer: refusal.issuer, level: .warning)
    }

    /// Logs a port token that moves no account, and why, without a subject.
    fileprivate func noteIgnoredPortToken(_ reason: String, issuer: String?, level: Logger.Level) {
        var details: Logger.Metadata = ["reason": "\(reason)"]
        if let issuer { details["issuer"] = "\(issuer)" }
        note("port token ignored", details, at: level)
    }
}
