import Primitives
import Storage
import StorageModel
import Testing

@testable import OpenIDConnect
@testable import ProviderLogout
@testable import Registration

@Suite("Any store: a user's sessions")
struct SessionListConformanceTests {
    @Test("Sessions are listed until they expire, the last seen first, up to a limit", arguments: StoreKind.all)
    func list(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        let identity = Records.identity()
        let lifetimes: [(Int64, Int64)] = [(10, 100), (100, 10), (10, 10), (50, 50)]
        let sessions = try lifetimes.map { try Records.session(lifetime: $0.0, refreshLifetime: $0.1) }
        var user = UserID(0)
        for session in sessions {
            user = try #require(await store.signIn(Records.signIn(identity, session: session))).user.id
        }
        _ = try await store.signIn(Records.signIn())
        let later = Records.now.advanced(bySeconds: 20)
        #expect(
            try await store.sessions(of: user, at: later, limit: 9).map(\.id)
                == [sessions[3].id, sessions[1].id, sessions[0].id])
        for (seconds, count) in [(Int64(9), 4), (10, 3), (49, 3), (50, 2), (99, 2), (100, 0)] {
            let moment = Records.now.advanced(bySeconds: seconds)
            #expect(try await store.sessions(of: user, at: moment, limit: 9).count == count, "\(seconds)")
        }
        try await store.recordLastSeen([
            (sessionID: sessions[0].id, userID: user, time: later),
            (sessionID: sessions[3].id, userID: user, time: Records.now.advanced(bySeconds: -1)),
            (sessionID: "gone", userID: user, time: later),
            (sessionID: sessions[1].id, userID: UserID(user.number + 1), time: later),
        ])
        let listed = try await store.sessions(of: user, at: later, limit: 2)
        #expect(listed.map(\.id) == [sessions[0].id, sessions[3].id])
        #expect(listed.map(\.lastSeenAt) == [later, Records.now])
        #expect(listed.map(\.expiresAt.secondsSinceEpoch) == [100, 50].map { Records.now.secondsSinceEpoch + $0 })
        withExtendedLifetime(holding) {}
    }

    @Test(
        "All sessions of a user but the one that asks are revoked, with an audit event if there were any",
        arguments: StoreKind.all, [nil, 1])
    func revokeOthers(kind: StoreKind, kept: Int?) async throws {
        let (store, holding) = try kind.open()
        let identity = Records.identity()
        let sessions = try (0..<3).map { _ in try Records.session() }
        var user = UserID(0)
        for session in sessions {
            user = try #require(await store.signIn(Records.signIn(identity, session: session))).user.id
        }
        let bystander = try Records.session()
        _ = try await store.signIn(Records.signIn(session: bystander))
        let event = AuditEvent(at: Records.now, AuditEvent.Kind("sessions.ended"), user: user, by: .user)
        let asking = kept.map { sessions[$0].id }
        for count in [kept == nil ? 3 : 2, 0] {
            #expect(try await store.revokeSessions(of: user, except: asking, recording: event) == count)
            #expect(try await store.auditEvents(AuditQuery()).map(\.event) == [event])
        }
        for (index, session) in (sessions + [bystander]).enumerated() {
            let isThere = try await store.session(session.tokenHash, at: Records.now) != nil
            #expect(isThere == (index == kept || index == 3))
        }
        withExtendedLifetime(holding) {}
    }

    /// Identities with the sessions at their provider.
    private static let origins = [("a", "1", "s"), ("a", "1", "t"), ("a", "2", "s"), ("b", "1", "s")].map {
        (issuer, subject, session) in
        let issuer = "https://\(issuer).example"
        return (Identity(issuer: issuer, subject: subject), ProviderSessionHash(issuer: issuer, id: session))
    }

    @Test(
        "A provider's logout ends sessions and pending registrations of its scope, and no others",
        arguments: StoreKind.engines,
        [("1", nil, [0, 1]), (nil, "s", [0, 2]), ("1", "s", [0])] as [(String?, String?, Set<Int>)])
    func providerLogout(
        kind: StoreKind, row: (subject: String?, sessionID: String?, ended: Set<Int>)
    ) async throws {
        let (store, holding) = try kind.open()
        var sessions: [NewSession] = []
        var registrations: [TokenHash] = []
        for (identity, providerSession) in Self.origins {
            let session = try Records.session()
            var record = try Records.signIn(identity, session: session)
            record.providerSession = providerSession
            _ = try await store.signIn(record)
            sessions.append(session)
            var pending = try Records.pending(identity)
            pending.providerSession = providerSession
            _ = try await store.addPendingRegistration(pending)
            registrations.append(pending.handle)
        }
        _ = try await store.endSessions(
            LogoutToken(
                issuer: "https://a.example", subject: row.subject, sessionID: row.sessionID,
                id: RandomSource.system.token(), refusedFrom: Records.now.advanced(bySeconds: 60)), at: Records.now,
            requestID: nil)
        for index in Self.origins.indices {
            let isThere = !row.ended.contains(index)
            #expect((try await store.session(sessions[index].tokenHash, at: Records.now) != nil) == isThere)
            let pending = try await store.pendingRegistration(registrations[index], at: Records.now)
            #expect((pending != nil) == isThere, "\(index)")
        }
        withExtendedLifetime(holding) {}
    }
}
