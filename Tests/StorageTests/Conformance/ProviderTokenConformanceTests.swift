import Primitives
import Storage
import StorageModel
import TestSupport
import Testing

@testable import ProviderResources

@Suite("Providers' tokens")
struct ProviderTokenConformanceTests {
    private static let client = "ccid-app"

    /// Tokens whose encrypted form is their text.
    private func tokens(
        _ content: String, provider: String = "zoom", client: String = client, endingAt end: Timestamp? = nil
    ) -> NewProviderTokens {
        NewProviderTokens(provider: provider, clientID: client) { _, _ in
            SealedTokens(keyID: "k1", content: Array(content.utf8), expiresAt: end)
        }
    }

    @discardableResult
    private func signIn(
        _ identity: Identity, _ tokens: NewProviderTokens?, in store: SQLStore, at seconds: Int64 = 0
    ) async throws -> UserID {
        let session = try Records.session()
        let later = NewSession(
            id: session.id, tokenHash: session.tokenHash, refreshTokenHash: session.refreshTokenHash,
            clientID: session.clientID, createdAt: Records.now.advanced(bySeconds: seconds),
            expiresAt: session.expiresAt, refreshExpiresAt: session.refreshExpiresAt)
        let record = SignInRecord(
            identity: identity, profile: nil, session: later, newcomers: Records.newcomers(), tokens: tokens)
        return try #require(try await store.signIn(record)).user.id
    }

    private func found(
        _ user: UserID, in store: SQLStore, provider: String = "zoom", client: String = client
    ) async throws -> ProviderTokenRecord? {
        try await store.providerTokens(of: user, provider: provider, clientID: client)
    }

    @Test("Tokens are encrypted for their binding, and one row holds the latest", arguments: StoreKind.all)
    func place(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        let identity = Records.identity()
        let user = try await signIn(identity, tokens("first"), in: store)
        let first = try #require(try await found(user, in: store))
        #expect(
            first.binding
                == TokenBinding(user: user, identity: identity, provider: "zoom", clientID: Self.client))
        #expect(first.sealed == SealedTokens(keyID: "k1", content: Array("first".utf8), expiresAt: nil))
        let replacing = NewProviderTokens(provider: "zoom", clientID: Self.client) { binding, earlier in
            #expect(binding == first.binding)
            #expect(earlier == first)
            return SealedTokens(keyID: "k2", content: Array("second".utf8), expiresAt: Records.now)
        }
        try await signIn(identity, replacing, in: store)
        let second = try #require(try await found(user, in: store))
        #expect(second.serial == first.serial && second.version > first.version)
        #expect(second.sealed.keyID == "k2" && second.sealed.expiresAt == Records.now)
        try await signIn(identity, nil, in: store)
        #expect(try await found(user, in: store) == second)
        #expect(try await found(user, in: store, provider: "other") == nil)
        #expect(try await found(user, in: store, client: "ccid-other") == nil)
        let other = try await signIn(Records.identity(), tokens("other"), in: store)
        #expect(try await found(other, in: store)?.sealed.content == Array("other".utf8))
        for (provider, client) in [("other", Self.client), ("zoom", "ccid-other")] {
            try await signIn(identity, tokens("\(provider) \(client)", provider: provider, client: client), in: store)
        }
        #expect(try await found(user, in: store) == second, "those of others are rows of their own")
        for (provider, client) in [("other", Self.client), ("zoom", "ccid-other")] {
            let content = try await found(user, in: store, provider: provider, client: client)?.sealed.content
            #expect(content == Array("\(provider) \(client)".utf8))
        }
        withExtendedLifetime(holding) {}
    }

    private static let ended = AuditEvent(at: Records.now, .init("provider_grant.ended"), user: nil, by: .latchkey)

    /// Users whose rows have the versions from the first one on, each with a lease.
    private func leasedRows(_ versions: Int, in store: SQLStore) async throws -> [(UserID, ProviderTokenRecord)] {
        var rows: [(UserID, ProviderTokenRecord)] = []
        for number in 0..<versions {
            let identity = Records.identity()
            var user = UserID(0)
            for _ in 0...number { user = try await signIn(identity, tokens("a"), in: store) }
            let row = try #require(try await found(user, in: store))
            let request = ProviderTokenRecord.Request(refreshToken: Records.hash(), startedAt: Records.now)
            #expect(
                try await store.leaseProviderTokens(
                    row.serial, version: row.version, to: "c", sending: request, until: Records.now))
            rows.append((user, try #require(try await found(user, in: store))))
        }
        return rows
    }

    @Test("A lease and its request are written at the row's present version only", arguments: StoreKind.engines)
    func leases(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        let identity = Records.identity()
        let user = try await signIn(identity, tokens("first"), in: store)
        let row = try #require(try await found(user, in: store))
        let others = try await leasedRows(7, in: store)
        #expect(others.map(\.1.version) == (1...7).map { row.version + $0 })
        #expect(row.lease == nil && row.request == nil)
        let request = ProviderTokenRecord.Request(refreshToken: Records.hash(), startedAt: Records.now)
        func lease(_ version: Int64, by holder: String) async throws -> Bool {
            try await store.leaseProviderTokens(
                row.serial, version: version, to: holder, sending: request, until: Records.now)
        }
        #expect(try await lease(row.version, by: "a"))
        #expect(try await !lease(row.version, by: "b"), "seen before the lease")
        var now = try #require(try await found(user, in: store))
        #expect(now.version == row.version + 1)
        #expect(now.lease == .init(holder: "a") && now.request == request)
        #expect(try await lease(now.version, by: "b"), "taken over")
        let sealed = SealedTokens(keyID: "k1", content: [1], expiresAt: nil)
        #expect(try await !store.replaceProviderTokens(row.serial, version: now.version, with: sealed))
        try await store.endProviderTokenLease(row.serial, version: now.version, keepingRequest: false)
        now = try #require(try await found(user, in: store))
        #expect(now.lease == .init(holder: "b"), "not ended by the former holder")
        try await store.endProviderTokenLease(row.serial, version: now.version, keepingRequest: true)
        now = try #require(try await found(user, in: store))
        #expect(now.lease == nil && now.request == request)
        // A sign-in keeps the lease and the request: its tokens may contain the same refresh token.
        #expect(try await lease(now.version, by: "a"))
        try await signIn(identity, tokens("second"), in: store)
        now = try #require(try await found(user, in: store))
        #expect(now.lease == .init(holder: "a") && now.request == request)
        #expect(now.version == row.version + 4)
        try await store.endProviderTokenLease(row.serial, version: now.version, keepingRequest: false)
        now = try #require(try await found(user, in: store))
        #expect(now.lease == nil && now.request == nil)
        #expect(try await lease(now.version, by: "a"))
        #expect(try await store.replaceProviderTokens(row.serial, version: now.version + 1, with: sealed))
        now = try #require(try await found(user, in: store))
        #expect(now.sealed == sealed && now.lease == nil && now.request == nil)
        for (other, row) in others { #expect(try await found(other, in: store) == row) }
        withExtendedLifetime(holding) {}
    }

    @Test("A row is deleted at its present version only, together with an audit event", arguments: StoreKind.engines)
    func deletion(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        let others = try await leasedRows(1, in: store)
        let identity = Records.identity()
        let user = try await signIn(identity, tokens("first"), in: store)
        let row = try #require(try await found(user, in: store))
        try await signIn(identity, tokens("second"), in: store)
        #expect(try await !store.deleteProviderTokens(row.serial, version: row.version, recording: Self.ended))
        #expect(try await store.auditEvents(AuditQuery()).isEmpty)
        #expect(try await store.deleteProviderTokens(row.serial, version: row.version + 1, recording: Self.ended))
        #expect(try await store.auditEvents(AuditQuery()).map(\.event) == [Self.ended])
        #expect(try await found(user, in: store) == nil)
        for (other, row) in others { #expect(try await found(other, in: store) == row) }
        try await signIn(identity, tokens("again"), in: store)
        let again = try #require(try await found(user, in: store))
        #expect(again.serial != row.serial)
        withExtendedLifetime(holding) {}
    }

    @Test("A lease of an earlier version, which names no process, is one of another process", arguments: [nil, "a"])
    func earlierVersion(holder: String?) async throws {
        let (store, holding) = try StoreKind.unshared.open()
        let user = try await signIn(Records.identity(), tokens("first"), in: store)
        try await store.writes.submit { db in
            let name = holder.map { "'\($0)'" } ?? "NULL"
            try db.execute("UPDATE provider_tokens SET claimed_until = 1, refresh_holder = \(name)")
        }
        #expect(try await found(user, in: store)?.lease == .init(holder: holder))
        withExtendedLifetime(holding) {}
    }

    @Test("Tokens that cannot be refreshed are removed when they expire", arguments: StoreKind.all)
    func purged(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        let end = Records.now.advanced(bySeconds: 60)
        let ending = try await signIn(Records.identity(), tokens("a", endingAt: end), in: store)
        let staying = try await signIn(Records.identity(), tokens("b"), in: store)
        _ = try await store.purgeExpired(at: end.advanced(bySeconds: -1), limit: 100)
        #expect(try await found(ending, in: store) != nil)
        _ = try await store.purgeExpired(at: end, limit: 100)
        #expect(try await found(ending, in: store) == nil)
        #expect(try await found(staying, in: store) != nil)
        withExtendedLifetime(holding) {}
    }

    @Test("Tokens are removed with the user", arguments: StoreKind.all)
    func erased(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        let user = try await signIn(Records.identity(), tokens("a"), in: store)
        #expect(try await store.deleteUser(user))
        #expect(try await found(user, in: store) == nil)
        withExtendedLifetime(holding) {}
    }

    @Test("A sign-in whose tokens cannot be encrypted fails", arguments: StoreKind.all)
    func notSealed(kind: StoreKind) async throws {
        struct Failure: Error {}
        let (store, holding) = try kind.open()
        let identity = Records.identity()
        let failing = NewProviderTokens(provider: "zoom", clientID: Self.client) { _, _ in throw Failure() }
        await #expect(throws: StorageError.self) { try await signIn(identity, failing, in: store) }
        #expect(try await store.statuses(of: [identity]) == [.unknown])
        withExtendedLifetime(holding) {}
    }
}
