import Primitives
import SignIn
import Storage
import StorageModel
import Synchronization

@testable import Registration

/// Records to store; they differ unless a parameter says otherwise.
enum Records {
    static let now = Timestamp(secondsSinceEpoch: 1_800_000_000)

    static let issuer = "https://issuer.carrier-one.example"

    static func hash() -> TokenHash { TokenHash(sha256Of: RandomSource.system.token()) }

    private static let phoneNumbers = Atomic<Int64>(4_250_000_000)

    static func phoneNumber() -> String { "+1\(phoneNumbers.add(1, ordering: .relaxed).newValue)" }

    static func session(
        token: TokenHash? = nil, refresh: TokenHash? = nil, at now: Timestamp = now, lifetime: Int64 = 3_600,
        refreshLifetime: Int64 = 86_400
    ) throws -> NewSession {
        NewSession(
            id: RandomSource.system.token(bytes: 16), tokenHash: token ?? hash(),
            refreshTokenHash: refresh ?? hash(), clientID: "ccid-app", createdAt: now,
            expiresAt: now.advanced(bySeconds: lifetime), refreshExpiresAt: now.advanced(bySeconds: refreshLifetime))
    }

    /// A rotation at ``now`` with a grace of 30 seconds; the new tokens are those of `successor`.
    static func rotation(
        of presented: TokenHash, family: TokenHash? = nil, to successor: NewSession, grace: Int64 = 30,
        caller: TokenHash? = nil
    ) throws -> RefreshTokenRotation {
        RefreshTokenRotation(
            of: RefreshTokenHashes(token: presented, family: family ?? presented),
            tokenHash: successor.tokenHash, refreshTokenHash: successor.refreshTokenHash,
            expiresAt: successor.expiresAt, refreshExpiresAt: successor.refreshExpiresAt,
            last: LastRotation(salt: RandomSource.system.bytes(32), caller: caller ?? hash()),
            formerTokenEndsAt: now.advanced(bySeconds: grace))
    }

    static func identity(_ subject: String = "mccmnc-" + RandomSource.system.token(bytes: 12)) -> Identity {
        Identity(issuer: issuer, subject: subject)
    }

    static func newcomers(publicID: String = RandomSource.system.token(bytes: 16)) -> SignInRecord.Newcomers {
        .welcome(publicID: publicID)
    }

    static func signIn(
        _ identity: Identity = identity(), profile: Profile? = nil, session: NewSession? = nil,
        newcomers: SignInRecord.Newcomers = newcomers(), idempotency: IdempotencyRecord? = nil
    ) throws -> SignInRecord {
        var record = SignInRecord(
            identity: identity, profile: profile, session: try session ?? self.session(), newcomers: newcomers)
        record.idempotency = idempotency
        return record
    }

    /// A sign-in that lets its commit wait for a minute.
    static func delayedSignIn() throws -> SignInRecord {
        var record = try signIn()
        record.commitDelay = 60_000_000_000
        return record
    }

    /// An idempotency record of a minute.
    static func idempotency() -> IdempotencyRecord {
        IdempotencyRecord(key: RandomSource.system.bytes(16), endsAt: now.advanced(bySeconds: 61))
    }

    static func pending(
        _ identity: Identity = identity(), profile: Profile = Profile(), lifetime: Int64 = 600
    ) throws -> PendingRegistration {
        PendingRegistration(
            handle: hash(), identity: identity, clientID: "ccid-app", profile: profile,
            expiresAt: now.advanced(bySeconds: lifetime))
    }

    /// A one-time record without content.
    /// Of a nonce that was issued.
    static func nonce(lifetime: Int64 = 600) -> OneTimeRecord {
        IssuedNonce.record(
            of: RandomSource.system.token(), for: "test", until: now.advanced(bySeconds: lifetime), marking: 721)
    }

    static func oneTimeRecord(lifetime: Int64 = 600) -> OneTimeRecord {
        OneTimeRecord(handle: hash(), purpose: "test", content: [], expiresAt: now.advanced(bySeconds: lifetime))
    }
}

extension SessionStore {
    /// A token that is its own family, as every token was before families were introduced.
    func refreshToken(
        _ token: TokenHash, family: TokenHash? = nil, at now: Timestamp
    ) async throws(StorageError) -> RefreshTokenState {
        try await refreshToken(RefreshTokenHashes(token: token, family: family ?? token), at: now)
    }
}

extension UserStore {
    /// Erases a user as an operator does, without an audit event.
    func deleteUser(_ user: UserID) async throws(StorageError) -> Bool {
        try await deleteUser(user, in: nil, recording: nil)
    }
}
