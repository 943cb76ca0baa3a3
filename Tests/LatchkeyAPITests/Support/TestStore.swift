import Primitives
import Storage
import StorageModel
import Synchronization
import TestSupport

/// An SQLite store of one test that can be made to fail, and that counts and delays the reading of sessions.
final class TestStore: Store {
    /// What is to fail.
    enum Call: Sendable, Hashable {
        case any
        case signIn
        case recentSignIn
    }

    private struct State {
        var failures: [Call: StorageError] = [:]
        var recentSignInReads = 0
        var beforeRecentSignInRead: Gate?
        var sessionReads = 0
        var afterSessionRead: Gate?
        var afterRefreshTokenRead: Gate?
        var losesRotations = false
        var checks = 0
        var apiKeyReads = 0
        var beforeCheck: Gate?
    }

    private let directory: TemporaryDirectory
    private let store: SQLiteStore
    private let state = Mutex(State())
    let isShared: Bool

    /// - Parameter isShared: Whether it is said to have other copies, as PostgreSQL has.
    init(isShared: Bool = false) throws {
        self.isShared = isShared
        directory = try TemporaryDirectory()
        var configuration = SQLiteConfiguration(path: directory.path + "/test.db")
        configuration.synchronous = .normal
        store = try SQLiteStore(configuration: configuration)
    }

    /// Fails every call of a kind from now on; nil ends that.
    func fail(_ call: Call = .any, with failure: StorageError?) { state.withLock { $0.failures[call] = failure } }

    /// How often a sign-in of before was looked for.
    var recentSignInReads: Int { state.withLock { $0.recentSignInReads } }

    /// Holds that question until the gate is open.
    func holdRecentSignIns(at gate: Gate?) { state.withLock { $0.beforeRecentSignInRead = gate } }

    /// How often a session was looked for.
    var sessionReads: Int { state.withLock { $0.sessionReads } }

    /// Holds what was read of a session back until the gate is open.
    func holdSessions(at gate: Gate?) { state.withLock { $0.afterSessionRead = gate } }

    /// Holds what was read of a refresh token back until the gate is open.
    func holdRefreshTokens(at gate: Gate?) { state.withLock { $0.afterRefreshTokenRead = gate } }

    /// Rotations are done and then told as failed.
    func loseRotations(_ loses: Bool) { state.withLock { $0.losesRotations = loses } }

    /// How often it was asked whether it works.
    var checks: Int { state.withLock { $0.checks } }

    /// Holds that question until the gate is open.
    func holdChecks(at gate: Gate?) { state.withLock { $0.beforeCheck = gate } }

    func using<Value>(
        _ kind: Call = .any, _ call: (SQLiteStore) async throws(StorageError) -> Value
    ) async throws(StorageError) -> Value {
        if let failure = state.withLock({ $0.failures[.any] ?? $0.failures[kind] }) { throw failure }
        return try await call(store)
    }

    func signIn(_ signIn: SignInRecord) async throws(StorageError) -> SignedInUser? {
        try await using(.signIn) { store async throws(StorageError) in try await store.signIn(signIn) }
    }

    func recentSignIn(_ fingerprint: [UInt8], at now: Timestamp) async throws(StorageError) -> RecentSignIn? {
        let gate = state.withLock { state in
            state.recentSignInReads += 1
            return state.beforeRecentSignInRead
        }
        await gate?.pass()
        return try await using(.recentSignIn) { store async throws(StorageError) in
            try await store.recentSignIn(fingerprint, at: now)
        }
    }

    func statuses(of identities: [Identity]) async throws(StorageError) -> [IdentityStatus] {
        try await using { store async throws(StorageError) in try await store.statuses(of: identities) }
    }

    func addSession(
        _ session: NewSession, besides earlier: GivenSession
    ) async throws(StorageError) -> SessionAddition {
        try await using { store async throws(StorageError) in
            try await store.addSession(session, besides: earlier)
        }
    }

    func session(_ token: TokenHash, at now: Timestamp) async throws(StorageError) -> SessionAndUser? {
        let gate = state.withLock { state in
            state.sessionReads += 1
            return state.afterSessionRead
        }
        let found = try await using { store async throws(StorageError) in try await store.session(token, at: now) }
        await gate?.pass()
        return found
    }

    func addOneTimeRecord(_ note: OneTimeRecord) async throws(StorageError) -> Bool {
        try await using { store async throws(StorageError) in try await store.addOneTimeRecord(note) }
    }

    func takeOneTimeRecord(_ handle: TokenHash, purpose: String, at now: Timestamp) async throws(StorageError)
        -> [UInt8]?
    {
        try await using { store async throws(StorageError) in
            try await store.takeOneTimeRecord(handle, purpose: purpose, at: now)
        }
    }

    func revokeSession(_ token: TokenHash) async throws(StorageError) -> Bool {
        try await using { store async throws(StorageError) in try await store.revokeSession(token) }
    }

    func revokeSession(
        id: String, of user: UserID, recording event: AuditEvent
    ) async throws(StorageError) -> Bool {
        try await using { store async throws(StorageError) in
            try await store.revokeSession(id: id, of: user, recording: event)
        }
    }

    func revokeSessions(
        of user: UserID, except id: String, recording event: AuditEvent
    ) async throws(StorageError) -> Int {
        try await using { store async throws(StorageError) in
            try await store.revokeSessions(of: user, except: id, recording: event)
        }
    }

    func sessions(of user: UserID, at now: Timestamp, limit: Int) async throws(StorageError) -> [SessionSummary] {
        try await using { store async throws(StorageError) in
            try await store.sessions(of: user, at: now, limit: limit)
        }
    }

    func recordLastSeen(_ sightings: [SessionLastSeen]) async throws(StorageError) {
        try await using { store async throws(StorageError) in try await store.recordLastSeen(sightings) }
    }

    func refreshToken(_ token: RefreshTokenHashes, at now: Timestamp) async throws(StorageError) -> RefreshTokenState {
        let gate = state.withLock { $0.afterRefreshTokenRead }
        let found = try await using { store async throws(StorageError) in try await store.refreshToken(token, at: now) }
        await gate?.pass()
        return found
    }

    func rotate(_ rotation: RefreshTokenRotation) async throws(StorageError) -> Bool {
        let done = try await using { store async throws(StorageError) in try await store.rotate(rotation) }
        // The answer is lost after the commit.
        if state.withLock({ $0.losesRotations }) { throw StorageError(.unavailable, reason: "scripted") }
        return done
    }

    func editProfile(
        of user: UserID, _ change: ProfileChange, recording event: AuditEvent
    ) async throws(StorageError) -> User? {
        try await using { store async throws(StorageError) in
            try await store.editProfile(of: user, change, recording: event)
        }
    }

    func identities(of user: UserID) async throws(StorageError) -> [LinkedIdentity] {
        try await using { store async throws(StorageError) in try await store.identities(of: user) }
    }

    func link(_ link: IdentityLink) async throws(StorageError) -> IdentityLinking {
        try await using { store async throws(StorageError) in try await store.link(link) }
    }

    func end(_ logout: ProviderLogout) async throws(StorageError) -> ProviderLogoutResult {
        try await using { store async throws(StorageError) in try await store.end(logout) }
    }

    func removeIdentity(
        id: String, of user: UserID, keeping session: String?,
        recording event: @escaping @Sendable (Identity) -> AuditEvent
    ) async throws(StorageError) -> IdentityRemoval {
        try await using { store async throws(StorageError) in
            try await store.removeIdentity(id: id, of: user, keeping: session, recording: event)
        }
    }

    func deleteUser(_ user: UserID, recording event: AuditEvent?) async throws(StorageError) -> Bool {
        try await using { store async throws(StorageError) in try await store.deleteUser(user, recording: event) }
    }

    func apiKeys(limit: Int) async throws(StorageError) -> [StoredAPIKey] {
        state.withLock { $0.apiKeyReads += 1 }
        return try await using { store async throws(StorageError) in try await store.apiKeys(limit: limit) }
    }

    /// As an operator does.
    func addAPIKey(_ key: StoredAPIKey) async throws(StorageError) -> APIKeyAddition {
        let event = AuditEvent(at: key.createdAt, AuditEvent.Kind("api_key.created"), user: nil, by: .operating("pat"))
        return try await store.addAPIKey(key, limit: 10, recording: event)
    }

    func revokeAPIKey(_ name: String, at now: Timestamp) async throws(StorageError) -> Bool {
        let event = AuditEvent(at: now, AuditEvent.Kind("api_key.revoked"), user: nil, by: .operating("pat"))
        return try await store.revokeAPIKey(name, at: now, recording: event)
    }

    /// How often the API keys were read.
    var apiKeyReads: Int { state.withLock { $0.apiKeyReads } }

    func addPendingRegistration(_ registration: PendingRegistration) async throws(StorageError) {
        try await using { store async throws(StorageError) in try await store.addPendingRegistration(registration) }
    }

    func register(
        handle: TokenHash, profile: Profile, session: NewSession, publicID: String, tokens: WaitingProviderTokens?,
        at now: Timestamp
    ) async throws(StorageError) -> RegistrationResult {
        try await using { store async throws(StorageError) in
            try await store.register(
                handle: handle, profile: profile, session: session, publicID: publicID, tokens: tokens, at: now)
        }
    }

    func pendingRegistration(
        _ handle: TokenHash, at now: Timestamp
    ) async throws(StorageError) -> PendingRegistration? {
        try await using { store async throws(StorageError) in try await store.pendingRegistration(handle, at: now) }
    }

    func countChange(
        of user: UserID, within allowance: ChangeAllowance, at now: Timestamp
    ) async throws(StorageError) -> Int64? {
        try await using { store async throws(StorageError) in
            try await store.countChange(of: user, within: allowance, at: now)
        }
    }

    func addIssuedNonce(_ attempt: IssuedNonceRecord) async throws(StorageError) {
        try await using { store async throws(StorageError) in try await store.addIssuedNonce(attempt) }
    }

    func takeIssuedNonce(nonce: TokenHash, provider: String, at now: Timestamp) async throws(StorageError) -> Bool {
        try await using { store async throws(StorageError) in
            try await store.takeIssuedNonce(nonce: nonce, provider: provider, at: now)
        }
    }

    func addAuditEvent(_ event: AuditEvent) async throws(StorageError) {
        try await using { store async throws(StorageError) in try await store.addAuditEvent(event) }
    }

    func auditEvents(_ query: AuditQuery) async throws(StorageError) -> [RecordedAuditEvent] {
        try await using { store async throws(StorageError) in try await store.auditEvents(query) }
    }

    func purgeAuditEvents(from before: Timestamp, limit: Int) async throws(StorageError) -> Int {
        try await using { store async throws(StorageError) in
            try await store.purgeAuditEvents(from: before, limit: limit)
        }
    }

    func addBackchannelAuthentication(
        _ record: BackchannelAuthenticationRecord, limits: BackchannelAuthenticationLimits, at now: Timestamp
    ) async throws(StorageError) -> BackchannelAuthenticationAdmission {
        try await using { store async throws(StorageError) in
            try await store.addBackchannelAuthentication(record, limits: limits, at: now)
        }
    }

    func backchannelAuthentication(handle: TokenHash, at now: Timestamp) async throws(StorageError)
        -> BackchannelAuthenticationRecord?
    {
        try await using { store async throws(StorageError) in
            try await store.backchannelAuthentication(handle: handle, at: now)
        }
    }

    func backchannelAuthentication(notification: TokenHash, at now: Timestamp) async throws(StorageError)
        -> BackchannelAuthenticationRecord?
    {
        try await using { store async throws(StorageError) in
            try await store.backchannelAuthentication(notification: notification, at: now)
        }
    }

    func replaceBackchannelAuthentication(_ record: BackchannelAuthenticationRecord) async throws(StorageError) -> Bool
    {
        try await using { store async throws(StorageError) in try await store.replaceBackchannelAuthentication(record) }
    }

    func endBackchannelAuthentication(
        _ record: BackchannelAuthenticationRecord, with signIn: SignInRecord
    ) async throws(StorageError) -> BackchannelAuthenticationEnding {
        try await using { store async throws(StorageError) in
            try await store.endBackchannelAuthentication(record, with: signIn)
        }
    }

    func check() async throws(StorageError) {
        let gate = state.withLock { state in
            state.checks += 1
            return state.beforeCheck
        }
        await gate?.pass()
        try await using { store async throws(StorageError) in try await store.check() }
    }

    func purgeExpired(at now: Timestamp, limit: Int) async throws(StorageError) -> Int {
        try await using { store async throws(StorageError) in try await store.purgeExpired(at: now, limit: limit) }
    }
}
