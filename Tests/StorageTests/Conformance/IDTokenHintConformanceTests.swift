import Primitives
import Storage
import StorageModel
import Testing

@testable import OpenIDConnect
@testable import ProviderLogout
@testable import Registration

@Suite("Any store: ID tokens of sessions")
struct IDTokenHintConformanceTests {
    private static let idToken = SealedIDToken(content: [0, 1, 255], sessionKey: [2, 0])

    private func session() throws -> NewSession {
        var session = try Records.session()
        session.idToken = Self.idToken
        return session
    }

    @Test("One is stored with its session, and found for that session alone", arguments: StoreKind.all)
    func stored(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        let (kept, plain) = (try session(), try Records.session())
        let user = try #require(await store.signIn(Records.signIn(session: kept))).user.id
        let other = try #require(await store.signIn(Records.signIn(session: plain))).user.id
        #expect(try await store.idToken(ofSession: kept.id, of: user) == Self.idToken)
        #expect(try await store.idToken(ofSession: plain.id, of: other) == nil)
        #expect(try await store.idToken(ofSession: kept.id, of: other) == nil)
        #expect(try await store.idToken(ofSession: "unknown", of: user) == nil)
        withExtendedLifetime(holding) {}
    }

    @Test("A rotation replaces its key for the session token, and nothing else", arguments: StoreKind.all)
    func rotated(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        let (old, other, plain) = (try session(), try session(), try Records.session())
        let user = try #require(await store.signIn(Records.signIn(session: old))).user.id
        let others = try #require(await store.signIn(Records.signIn(session: other))).user.id
        _ = try await store.signIn(Records.signIn(session: plain))
        let next = try Records.session()
        var rotation = try Records.rotation(of: old.refreshTokenHash, to: next)
        rotation.idTokenKey = [7]
        #expect(try await store.rotate(rotation))
        let replaced = SealedIDToken(content: Self.idToken.content, sessionKey: [7])
        #expect(try await store.idToken(ofSession: old.id, of: user) == replaced)
        #expect(try await store.idToken(ofSession: other.id, of: others) == Self.idToken)
        // As a version does that knows no ID tokens.
        #expect(try await store.rotate(Records.rotation(of: next.refreshTokenHash, to: Records.session())))
        #expect(try await store.idToken(ofSession: old.id, of: user) == replaced)
        var without = try Records.rotation(of: plain.refreshTokenHash, to: Records.session())
        without.idTokenKey = [7]
        #expect(try await store.rotate(without))
        withExtendedLifetime(holding) {}
    }

    @Test("It is deleted with its session, however that ends", arguments: StoreKind.all)
    func deleted(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        for name in ["sign-out", "others", "expiry", "erasure", "logout by the provider"] {
            let (kept, present) = (try session(), try session())
            let identity = Records.identity()
            let user = try #require(await store.signIn(Records.signIn(identity, session: kept))).user.id
            _ = try await store.signIn(Records.signIn(identity, session: present))
            let event = AuditEvent(at: Records.now, AuditEvent.Kind("session.ended"), user: user, by: .user)
            switch name {
            case "sign-out": _ = try await store.revokeSession(id: kept.id, of: user, in: nil, recording: nil)
            case "others": _ = try await store.revokeSessions(of: user, except: present.id, recording: event)
            case "expiry": _ = try await store.purgeExpired(at: kept.refreshExpiresAt, limit: 100)
            case "erasure": _ = try await store.deleteUser(user)
            default:
                _ = try await store.endSessions(
                    LogoutToken(
                        issuer: identity.issuer, subject: identity.subject, sessionID: nil,
                        id: RandomSource.system.token(), refusedFrom: kept.expiresAt), at: Records.now, requestID: nil)
            }
            #expect(try await store.idToken(ofSession: kept.id, of: user) == nil, "\(name)")
            let stays = name == "sign-out" || name == "others"
            #expect((try await store.idToken(ofSession: present.id, of: user) != nil) == stays, "\(name)")
        }
        withExtendedLifetime(holding) {}
    }

    @Test("A registration stores one with the new session", arguments: StoreKind.all)
    func registered(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        let (pending, handle) = (try Records.pending(), Records.hash())
        try await store.addPendingRegistration(pending)
        let record = OneTimeRecord(
            handle: handle, purpose: "waiting", content: [1], expiresAt: Records.now.advanced(bySeconds: 600))
        _ = try await store.addOneTimeRecord(record, insteadOf: [])
        let session = try Records.session()
        let waiting = WaitingProviderTokens(handle: handle, purpose: "waiting") { content in
            content == [1] ? (tokens: nil, idToken: Self.idToken) : nil
        }
        let result = try await store.register(
            handle: pending.handle, profile: Profile(), session: session, publicID: "p", tokens: waiting,
            at: Records.now)
        guard case .success(let user) = result else {
            Issue.record("not registered")
            return
        }
        #expect(try await store.idToken(ofSession: session.id, of: user.id) == Self.idToken)
        withExtendedLifetime(holding) {}
    }
}
