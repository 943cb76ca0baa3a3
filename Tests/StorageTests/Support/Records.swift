import Primitives
import Storage
import StorageModel

/// Records to store, unalike unless asked to be alike.
enum Records {
    static let now = Timestamp(secondsSinceEpoch: 1_800_000_000)

    static let issuer = "https://issuer.carrier-one.example"

    static func hash(_ random: RandomSource = .system) throws -> TokenHash {
        guard let hash = TokenHash(random.bytes(32)) else { throw UnexpectedLength() }
        return hash
    }

    struct UnexpectedLength: Error {}

    static func session(
        token: TokenHash? = nil, refresh: TokenHash? = nil, lifetime: Int64 = 3_600, refreshLifetime: Int64 = 86_400
    ) throws -> NewSession {
        NewSession(
            id: RandomSource.system.token(bytes: 16), tokenHash: try token ?? hash(),
            refreshTokenHash: try refresh ?? hash(), clientID: "ccid-app", createdAt: now,
            expiresAt: now.advanced(bySeconds: lifetime), refreshExpiresAt: now.advanced(bySeconds: refreshLifetime))
    }

    /// A rotation at ``now`` with a grace of 30 seconds; the new tokens are those of `successor`.
    static func rotation(
        of presented: TokenHash, family: TokenHash? = nil, to successor: NewSession, grace: Int64 = 30,
        caller: TokenHash? = nil
    ) throws -> RefreshTokenRotation {
        RefreshTokenRotation(
            presented: RefreshTokenHashes(token: presented, family: family ?? presented),
            successor: .init(
                tokenHash: successor.tokenHash, refreshTokenHash: successor.refreshTokenHash,
                expiresAt: successor.expiresAt, refreshExpiresAt: successor.refreshExpiresAt),
            last: LastRotation(salt: RandomSource.system.bytes(32), caller: try caller ?? hash()),
            graceEndsAt: now.advanced(bySeconds: grace))
    }

    static func identity(_ subject: String = "mccmnc-" + RandomSource.system.token(bytes: 12)) -> Identity {
        Identity(issuer: issuer, subject: subject)
    }

    static func newcomers(publicID: String = RandomSource.system.token(bytes: 16)) -> SignInRecord.Newcomers {
        .welcome(publicID: publicID)
    }

    static func signIn(
        _ identity: Identity = identity(), profile: Profile? = nil, session: NewSession? = nil,
        newcomers: SignInRecord.Newcomers = newcomers(), mark: IdempotencyRecord? = nil
    ) throws -> SignInRecord {
        var record = SignInRecord(
            identity: identity, profile: profile, session: try session ?? self.session(), newcomers: newcomers)
        record.mark = mark
        return record
    }

    /// A mark that counts for a minute.
    static func mark() -> IdempotencyRecord {
        IdempotencyRecord(fingerprint: RandomSource.system.bytes(16), endsAt: now.advanced(bySeconds: 61))
    }

    static func pending(
        _ identity: Identity = identity(), profile: Profile = Profile(), lifetime: Int64 = 600
    ) throws -> PendingRegistration {
        PendingRegistration(
            handle: try hash(), identity: identity, clientID: "ccid-app", profile: profile,
            expiresAt: now.advanced(bySeconds: lifetime))
    }

    static func attempt(provider: String = "zenkey", lifetime: Int64 = 600) throws -> IssuedNonceRecord {
        IssuedNonceRecord(nonce: try hash(), provider: provider, expiresAt: now.advanced(bySeconds: lifetime))
    }
}

extension Store {
    /// A token that is its own family, as each was before there were any.
    func refreshToken(
        _ token: TokenHash, family: TokenHash? = nil, at now: Timestamp
    ) async throws(StorageError) -> RefreshTokenState {
        try await refreshToken(RefreshTokenHashes(token: token, family: family ?? token), at: now)
    }
}
