import OpenIDConnect
import Primitives
import Storage
import StorageModel
import Synchronization
import TestSupport
import Testing

@testable import PostgreSQL
@testable import ProviderResources
@testable import SignIn

/// Refreshes of a provider's tokens by several instances on one database.
@Suite("A provider's tokens, refreshed by several instances")
struct ProviderRefreshTests {
    /// A database that several instances open.
    struct Engine: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let make:
            @Sendable () throws -> (open: @Sendable (@escaping StoreObserver) throws -> SQLStore, holding: any Sendable)

        static let all = [
            Engine(testDescription: "SQLite") {
                let directory = try TemporaryDirectory()
                let configuration = SQLiteConfiguration(path: directory.file("test.db"))
                return ({ try SQLStore(configuration: configuration, observer: $0) }, directory)
            },
            Engine(testDescription: "PostgreSQL") {
                let configuration = PostgresConfiguration(
                    url: Secret(try PostgresCluster.shared().makeSchema()), poolSize: 2)
                return ({ try configuration.open(observer: $0) }, configuration)
            },
        ]
    }

    /// One instance, with clocks of its own.
    struct Instance: Sendable {
        let store: SQLStore
        let resources: FetchResource
        let clock: ManualClock
        let uptime = ManualUptime()
        let log = CapturedLog()
        /// Signals each call of the store.
        let calls = ChangeSignal()
        private let callCount = CallCount()

        private final class CallCount: Sendable {
            private let count = Mutex(0)
            func add() { count.withLock { $0 += 1 } }
            var value: Int { count.withLock { $0 } }
        }

        init(
            on open: (@escaping StoreObserver) throws -> SQLStore, of provider: RotatingProvider,
            secondsAhead: Int64 = 0
        ) throws {
            clock = ManualClock(secondsSinceEpoch: 1_800_000_000 + secondsAhead)
            store = try open { [calls, callCount] _ in
                callCount.add()
                calls.post()
            }
            var configuration = SignInConfiguration()
            configuration.vaultKeys = [try #require(EncryptionKey([UInt8](repeating: 0x1F, count: 32)))]
            let user = UserEndpoint(
                url: try Self.url("https://meetings.example/me"), subject: try #require(UserEndpoint.Member("id")))
            let party = RelyingParty(
                configuration: RelyingParty.Configuration(
                    issuer: try Self.url("https://meetings.example"),
                    authorizationEndpoint: try Self.url("https://meetings.example/authorize"),
                    tokenEndpoint: try Self.url(RotatingProvider.tokenURL), userEndpoint: user),
                http: provider.http, clock: clock.wallClock)
            var rules = ServerRules()
            rules.storesTokens = true
            rules.resources = ["zak": try Self.url(RotatingProvider.resourceURL)]
            let server = AuthorizationServer(party, clients: [try Self.client], rules)
            let useCases = UseCases(
                providers: Providers([Provider(name: "zoom", title: "Zoom", kind: .oauth2(server))]),
                configuration: configuration, store: store, logger: log.logger, clock: clock.wallClock,
                uptime: uptime.uptime)
            resources = FetchResource(
                environment: useCases.environment, store: store, vault: useCases.vault,
                refreshes: TokenRefreshes(random: .system))
        }

        private static func url(_ text: String) throws -> EndpointURL {
            try #require(EndpointURL(text, policy: .httpsOnly))
        }

        private static var client: SignInConfiguration.Client {
            get throws {
                SignInConfiguration.Client(id: try #require(ClientID("client-1")), secret: Secret("CLIENT-secret"))
            }
        }

        /// Signs a user in whose tokens are stored; returns their session.
        func signIn(
            refreshToken: String? = "refresh-0", as identity: Identity = ProviderRefreshTests.identity
        ) async throws -> SessionAndUser {
            let member = refreshToken.map { #","refresh_token":"\#($0)""# } ?? ""
            let json = try #require(JSONValue(parsing: Array(#"{"access_token":"access-0"\#(member)}"#.utf8)).object)
            let token = TokenHash(sha256Of: RandomSource.system.token())
            let session = NewSession(
                id: RandomSource.system.token(bytes: 16), tokenHash: token,
                refreshTokenHash: TokenHash(sha256Of: RandomSource.system.token()), clientID: "client-1",
                createdAt: clock.now, expiresAt: clock.now.advanced(bySeconds: 3_600),
                refreshExpiresAt: clock.now.advanced(bySeconds: 86_400))
            let tokens = try #require(ProviderTokens(json))
            _ = try await store.signIn(
                SignInRecord(
                    identity: identity, profile: nil, session: session,
                    newcomers: .welcome(publicID: RandomSource.system.token(bytes: 16)),
                    tokens: resources.vault.storing(tokens, of: "zoom", for: "client-1")))
            return try #require(try await store.session(token, at: clock.now))
        }

        /// The text of the resource, or the error.
        func fetch(_ user: SessionAndUser) async -> Result<String, SignInError> {
            do throws(SignInError) {
                return .success(String(decoding: try await resources("zak", of: "zoom", for: user), as: UTF8.self))
            } catch {
                return .failure(error)
            }
        }

        /// Waits until the store has been called so many times more.
        func storeCalls(_ count: Int) async throws {
            let goal = callCount.value + count
            try await storeCalls { callCount.value >= goal }
        }

        /// Waits until a condition holds that one of the next calls of the store brings about.
        func storeCalls(until condition: () -> Bool) async throws {
            let came: Bool? = await calls.wait(atMostSeconds: 30) { condition() ? true : nil }
            try #require(came == true)
        }

        func row(of user: SessionAndUser) async throws -> ProviderTokenRecord? {
            try await store.providerTokens(of: user.user.id, provider: "zoom", clientID: "client-1")
        }

        /// The recorded reasons why grants have ended.
        var endings: [String] {
            get async throws {
                try await store.auditEvents(AuditQuery()).filter { $0.event.kind == .providerGrantEnded }
                    .map(\.event.details.json)
            }
        }
    }

    static let identity = Identity(issuer: "https://meetings.example", subject: "jane")
    private static let zak = #"{"token":"zak"}"#
    /// Of a lease, in this configuration.
    private static let leaseTime = Duration.seconds(15)

    private func with(
        _ engine: Engine, secondsAhead: Int64 = 0, _ body: (RotatingProvider, Instance, Instance) async throws -> Void
    ) async throws {
        let (open, holding) = try engine.make()
        let provider = RotatingProvider()
        let one = try Instance(on: open, of: provider)
        let other = try Instance(on: open, of: provider, secondsAhead: secondsAhead)
        try await body(provider, one, other)
        for instance in [one, other] { try await instance.store.close() }
        withExtendedLifetime(holding) {}
    }

    @Test(
        "One sends the refresh token, and the others wait for the result, whatever their clocks say",
        arguments: Engine.all, [-86_400, 0, 86_400] as [Int64])
    func singleFlight(engine: Engine, secondsAhead: Int64) async throws {
        try await with(engine, secondsAhead: secondsAhead) { provider, one, other in
            let user = try await one.signIn()
            // By a clock that is ahead they are over when they come.
            provider.issueTokens(for: 20)
            provider.expireAccessToken()
            let gate = Gate()
            provider.courses(.answered(after: gate))
            async let first = one.fetch(user)
            await gate.untilWaiting()
            async let second = other.fetch(user)
            defer { gate.open() }
            try await other.storeCalls(4)
            other.uptime.advance(by: Self.leaseTime - .seconds(1))
            try await other.storeCalls(2)
            #expect(provider.sent == ["refresh-0"])
            gate.open()
            #expect(try await first.get() == Self.zak)
            #expect(try await second.get() == Self.zak)
            #expect(provider.sent == ["refresh-0"])
            let row = try await one.row(of: user)
            #expect(row?.lease == nil && row?.request == nil)
        }
    }

    @Test(
        "A sign-in without a refresh token meanwhile does not make another instance send the same one",
        arguments: Engine.all)
    func crossed(engine: Engine) async throws {
        try await with(engine) { provider, one, other in
            let user = try await one.signIn()
            provider.expireAccessToken()
            let gate = Gate()
            provider.courses(.answered(after: gate))
            async let first = one.fetch(user)
            await gate.untilWaiting()
            _ = try await other.signIn(refreshToken: nil)
            async let second = other.fetch(user)
            defer { gate.open() }
            try await other.storeCalls(4)
            #expect(provider.sent == ["refresh-0"])
            gate.open()
            #expect(try await first.get() == Self.zak)
            #expect(try await second.get() == Self.zak)
            #expect(provider.sent == ["refresh-0"])
            provider.expireAccessToken()
            #expect(try await other.fetch(user).get() == Self.zak)
            #expect(provider.sent.count == 2 && provider.sent.last != "refresh-0")
        }
    }

    @Test("A sign-in with a new refresh token meanwhile is used at once", arguments: Engine.all)
    func replaced(engine: Engine) async throws {
        try await with(engine) { provider, one, other in
            let user = try await one.signIn()
            provider.expireAccessToken()
            let gate = Gate()
            provider.courses(.answered(after: gate))
            async let first = one.fetch(user)
            await gate.untilWaiting()
            _ = try await other.signIn(refreshToken: "refresh-2")
            async let second = other.fetch(user)
            defer { gate.open() }
            // The answer to the first request is still held back.
            try await other.storeCalls(until: { provider.sent == ["refresh-0", "refresh-2"] })
            #expect(try await second.get() == Self.zak)
            gate.open()
            #expect(try await first.get() == Self.zak)
            #expect(try await one.row(of: user)?.lease == nil)
        }
    }

    @Test(
        "After a crash between the provider's answer and its storage the next instance repeats the request once",
        arguments: Engine.all, [true, false])
    func crash(engine: Engine, acceptsRepetitions: Bool) async throws {
        try await with(engine, secondsAhead: 300) { provider, one, other in
            let user = try await one.signIn()
            provider.expireAccessToken()
            if acceptsRepetitions { provider.acceptRepetitions() }
            // The first instance gets its answer only after the other one has taken over.
            let gate = Gate()
            provider.courses(.answered(after: gate))
            async let first = one.fetch(user)
            await gate.untilWaiting()
            let row = try await other.row(of: user)
            #expect(row?.lease != nil)
            #expect(row?.request?.refreshToken == TokenHash(sha256Of: "refresh-0"))
            #expect(row?.request?.startedAt == one.clock.now)
            async let second = other.fetch(user)
            defer { gate.open() }
            try await other.storeCalls(4)
            #expect(provider.sent.count == 1)
            other.uptime.advance(by: Self.leaseTime)
            let answer = await second
            #expect(provider.sent == ["refresh-0", "refresh-0"])
            if acceptsRepetitions {
                #expect(try answer.get() == Self.zak)
                let stored = try await other.row(of: user)
                gate.open()
                // Its tokens are not stored: others were, later.
                #expect(try await first.get() == Self.zak)
                #expect(try await other.row(of: user) == stored)
                #expect(try await other.endings == [])
            } else {
                let error = try #require(answer.failure)
                #expect(error.code == .grantRevoked)
                #expect(error.description.contains("response to an earlier refresh was lost"))
                #expect(
                    try await other.endings
                        == [#"{"provider":"zoom","client_id":"client-1","reason":"response_lost"}"#])
                gate.open()
                #expect(await first.failure?.code == .grantMissing)
                for instance in [one, other] { #expect(await instance.fetch(user).failure?.code == .grantMissing) }
                #expect(provider.sent.count == 2)
                #expect(try await other.endings.count == 1)
            }
        }
    }

    struct Failed: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let course: RotatingProvider.Course
        /// Whether the request stays on record.
        let isUnknown: Bool
    }

    @Test(
        "After a failed request the lease ends at once, and its request stays on record if its result is not known",
        arguments: Engine.all,
        [
            Failed(testDescription: "response lost", course: .lost, isUnknown: true),
            Failed(testDescription: "not sent", course: .notSent, isUnknown: false),
            Failed(
                testDescription: "refused", course: .refused("unauthorized_client"), isUnknown: false),
        ])
    func failed(engine: Engine, row: Failed) async throws {
        try await with(engine) { provider, one, other in
            let user = try await one.signIn()
            provider.expireAccessToken()
            provider.courses(row.course)
            #expect(await one.fetch(user).failure != nil)
            let stored = try await other.row(of: user)
            #expect(stored?.lease == nil)
            #expect((stored?.request != nil) == row.isUnknown)
            // A request that was not sent does not change what is known of an earlier one.
            provider.courses(.notSent)
            #expect(await other.fetch(user).failure != nil)
            #expect((try await other.row(of: user)?.request != nil) == row.isUnknown)
            provider.revoke()
            let error = try #require(await other.fetch(user).failure)
            #expect(error.code == .grantRevoked)
            #expect(error.description.contains("earlier refresh was lost") == row.isUnknown)
            let reason = row.isUnknown ? "response_lost" : "refused"
            #expect(
                try await other.endings == [#"{"provider":"zoom","client_id":"client-1","reason":"\#(reason)"}"#])
            #expect(provider.sent.count == 3)
        }
    }

    @Test(
        "An access token is used until 30 seconds before its end, or until its last quarter", arguments: Engine.all,
        [(3600, 3570), (120, 90), (119, 90), (20, 15), (1, 1)] as [(seconds: Int64, used: Int64)])
    func lifetime(engine: Engine, lifetime: (seconds: Int64, used: Int64)) async throws {
        try await with(engine) { provider, one, _ in
            let user = try await one.signIn()
            provider.issueTokens(for: lifetime.seconds)
            provider.expireAccessToken()
            for _ in 1...3 { #expect(try await one.fetch(user).get() == Self.zak) }
            #expect(provider.sent.count == 1)
            one.clock.advance(bySeconds: lifetime.used - 1)
            #expect(try await one.fetch(user).get() == Self.zak)
            #expect(provider.sent.count == 1)
            one.clock.advance(bySeconds: 1)
            #expect(try await one.fetch(user).get() == Self.zak)
            #expect(provider.sent.count == 2)
        }
    }

    @Test("A fault of the provider's metadata does not pass by itself, so the error suggests no other try")
    func permanentFault() {
        let error = SignInError(ofResource: OIDCError(.metadataRefused, reason: "The metadata names another issuer."))
        #expect(error.errorType == .configurationError)
        #expect(error.description.contains("does not pass by itself"))
        #expect(!error.description.lowercased().contains("again"))
    }
}

extension Result {
    fileprivate var failure: Failure? {
        guard case .failure(let error) = self else { return nil }
        return error
    }
}
