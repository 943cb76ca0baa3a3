package import Logging
package import OpenIDConnect
import Primitives
package import StorageModel

/// Account migration: a user who is unknown under one carrier may have an account under a former carrier, which vouches
/// for that with a port token (the guides' section “Account Migration”).
extension IdentityStore {
    /// The user's identities at former carriers, in the order of the port tokens; none if the user is known.
    ///
    /// An invalid port token is logged and otherwise ignored. A former carrier is asked for its keys only if the token
    /// names a stored identity.
    /// - Parameter ignored: Called with each port token that moves no account.
    package func formerIdentities(
        of verified: VerifiedSignIn, for clientID: ClientID, _ relyingParty: RelyingParty,
        ignored: (IgnoredPortToken) -> Void
    ) async throws(SignInError) -> [PortedIdentity] {
        // Only carriers vouch for each other's users.
        guard !verified.portTokens.isEmpty, relyingParty.usesNetworkDiscovery else { return [] }
        let read = relyingParty.read(portTokens: verified.portTokens, for: clientID)
        let tokens = read.compactMap { try? $0.get() }
        let identities = [verified.identity] + tokens.map { Identity(issuer: $0.issuer, subject: $0.subject) }
        let statuses = try await mappingStoreErrors(await statuses(of: identities))
        let present = statuses.first ?? .unknown
        if case .live = present { return [] }
        for case .failure(let refusal) in read { ignored(IgnoredPortToken(refusal)) }
        var candidates: [UnverifiedPortToken] = []
        for (token, former) in zip(tokens, statuses.dropFirst()) {
            if let reason = Self.obstacle(to: former, becoming: present) {
                ignored(IgnoredPortToken(reason: reason, issuer: token.issuer, level: .info))
            } else {
                candidates.append(token)
            }
        }
        guard !candidates.isEmpty else { return [] }
        return await relyingParty.verify(candidates).compactMap { result in
            switch result {
            case .failure(let refusal):
                ignored(IgnoredPortToken(refusal))
                return nil
            case .success(let token): return PortedIdentity(token)
            }
        }
    }

    /// Why an account is not moved from an identity, whatever the signature; nil if it may be. The store checks again
    /// when it moves the account.
    private static func obstacle(to former: IdentityStatus, becoming present: IdentityStatus) -> String? {
        guard case .live(let user) = former else { return "not_on_record" }
        if case .moved(let owner) = present, owner != user { return "another_user" }
        return nil
    }

    /// An identity that an account was moved away from can neither sign in nor register.
    package func refuseIfMoved(_ identity: Identity) async throws(SignInError) {
        if case .moved = try await status(of: identity) { throw .identityMoved }
    }

    func status(of identity: Identity) async throws(SignInError) -> IdentityStatus {
        let statuses = try await mappingStoreErrors(await statuses(of: [identity]))
        return statuses.first ?? .unknown
    }
}

/// A port token that moves no account, and why, for the log: without a subject.
package struct IgnoredPortToken: Sendable {
    let reason: String
    let issuer: String?
    let level: Logger.Level
}

extension IgnoredPortToken {
    fileprivate init(_ refusal: PortTokenError) {
        self.init(reason: refusal.check.rawValue, issuer: refusal.issuer, level: .warning)
    }
}

extension Logger {
    /// - Parameter metadata: The sign-in's metadata.
    package func write(_ ignored: IgnoredPortToken, _ metadata: Logger.Metadata) {
        var metadata = metadata
        metadata["reason"] = "\(ignored.reason)"
        if let issuer = ignored.issuer { metadata["issuer"] = "\(issuer)" }
        log(level: ignored.level, "port token ignored", metadata: metadata)
    }
}

extension PortedIdentity {
    fileprivate init?(_ token: VerifiedPortToken) {
        guard let hash = TokenHash(token.digest) else { return nil }
        self.init(
            identity: Identity(issuer: token.issuer, subject: token.subject), issuedAt: token.issuedAt, token: hash)
    }
}
