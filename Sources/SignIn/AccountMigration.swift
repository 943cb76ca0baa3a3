import Logging
import OpenIDConnect
import Primitives
import Storage

/// Account migration: somebody whom the carrier vouches for and nobody here knows may have been known under another
/// carrier, which vouches for that by a port token (the guides' section “Account Migration”).
extension SignInWithCode {
    /// Whom former carriers vouch that the user was, in the order of the port tokens; nobody if the user is known as they
    /// are.
    ///
    /// A port token that is not good is told to the log and otherwise passed over. Only for those that name somebody on
    /// record is a former carrier asked for its keys.
    func formerIdentities(
        of verified: VerifiedSignIn, _ attempt: SignInAtCarrier, _ log: inout SignInLog
    ) async throws(SignInError) -> [PortedIdentity] {
        guard !verified.portTokens.isEmpty else { return [] }
        log.begin(.migrate)
        let read = attempt.relyingParty.read(portTokens: verified.portTokens, for: attempt.client.id)
        let tokens = read.compactMap { try? $0.get() }
        let identities = [verified.identity] + tokens.map { Identity(issuer: $0.issuer, subject: $0.subject) }
        let standings = try await storing { () async throws(StorageError) in
            try await store.standings(of: identities)
        }
        let present = standings.first ?? .unknown
        if case .live = present { return [] }
        for case .failure(let refusal) in read { log.ignored(refusal) }
        var candidates: [UnverifiedPortToken] = []
        for (token, former) in zip(tokens, standings.dropFirst()) {
            if let reason = Self.obstacle(to: former, becoming: present) {
                log.ignoredPortToken(reason, issuer: token.issuer, .info)
            } else {
                candidates.append(token)
            }
        }
        return await verify(candidates, attempt, log)
    }

    /// Why an account is not moved from an identity, whatever the signature is worth; nil if it may be. The store looks
    /// again when it moves the account.
    private static func obstacle(to former: IdentityStanding, becoming present: IdentityStanding) -> String? {
        guard case .live(let user) = former else { return "not_on_record" }
        if case .moved(let owner) = present, owner != user { return "another_user" }
        return nil
    }

    private func verify(
        _ tokens: [UnverifiedPortToken], _ attempt: SignInAtCarrier, _ log: SignInLog
    ) async -> [PortedIdentity] {
        guard !tokens.isEmpty else { return [] }
        var identities: [PortedIdentity] = []
        for result in await attempt.relyingParty.verify(tokens) {
            switch result {
            case .failure(let refusal): log.ignored(refusal)
            case .success(let token):
                guard let hash = TokenHash(token.digest) else { continue }
                let identity = Identity(issuer: token.issuer, subject: token.subject)
                identities.append(PortedIdentity(identity: identity, issuedAt: token.issuedAt, token: hash))
            }
        }
        return identities
    }

    /// An identity that an account was moved from signs nobody in, and may not register either.
    func refuseIfMoved(_ identity: Identity) async throws(SignInError) {
        let standings = try await storing { () async throws(StorageError) in
            try await store.standings(of: [identity])
        }
        if configuration.registration.isRequired, standings.first == .unknown { return }
        throw .identityMoved
    }
}

extension SignInLog {
    fileprivate func ignored(_ refusal: PortTokenRefusal) {
        ignoredPortToken(refusal.check.rawValue, issuer: refusal.issuer, .warning)
    }
}
