import Logging
import OpenIDConnect
import Primitives
import StorageModel

/// Account migration: a user whom one carrier vouches for and nobody here knows may have been known under another
/// carrier, which vouches for that by a port token (the guides' section “Account Migration”).
struct AccountMigration: Sendable {
    let store: any IdentityStore

    /// Whom former carriers vouch that the user was, in the order of the port tokens; nobody if the user is known as they
    /// are.
    ///
    /// A port token that is not good is told to the log and otherwise passed over. Only for those that name somebody on
    /// record is a former carrier asked for its keys.
    /// - Parameter ignored: Is told of each port token that moves no account.
    func formerIdentities(
        of verified: VerifiedSignIn, for clientID: ClientID, _ relyingParty: RelyingParty,
        ignored: (IgnoredPortToken) -> Void
    ) async throws(SignInError) -> [PortedIdentity] {
        // Carriers vouch for each other's users; of any other provider such a token says nothing.
        guard !verified.portTokens.isEmpty, relyingParty.isOfCarriers else { return [] }
        let read = relyingParty.read(portTokens: verified.portTokens, for: clientID)
        let tokens = read.compactMap { try? $0.get() }
        let identities = [verified.identity] + tokens.map { Identity(issuer: $0.issuer, subject: $0.subject) }
        let statuses = try await stored(await store.statuses(of: identities))
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

    /// Why an account is not moved from an identity, whatever the signature is worth; nil if it may be. The store looks
    /// again when it moves the account.
    private static func obstacle(to former: IdentityStatus, becoming present: IdentityStatus) -> String? {
        guard case .live(let user) = former else { return "not_on_record" }
        if case .moved(let owner) = present, owner != user { return "another_user" }
        return nil
    }

    /// An identity that an account was moved from signs nobody in, and may not register either.
    func refuseIfMoved(_ identity: Identity) async throws(SignInError) {
        if case .moved = try await status(of: identity) { throw .identityMoved }
    }

    func status(of identity: Identity) async throws(SignInError) -> IdentityStatus {
        let statuses = try await stored(await store.statuses(of: [identity]))
        return statuses.first ?? .unknown
    }
}

/// A port token that moves no account, and why, as the log tells it: without a subject.
struct IgnoredPortToken: Sendable {
    let reason: String
    let issuer: String?
    let level: Logger.Level
}

extension IgnoredPortToken {
    fileprivate init(_ refusal: PortTokenRefusal) {
        self.init(reason: refusal.check.rawValue, issuer: refusal.issuer, level: .warning)
    }
}

extension Logger {
    /// - Parameter metadata: Of the sign-in.
    func write(_ ignored: IgnoredPortToken, _ metadata: Logger.Metadata) {
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
