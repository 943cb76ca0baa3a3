import Logging
import OpenIDConnect
import Primitives
import Storage
import StorageModel
import Synchronization
import TestSupport
import Testing

@testable import ProviderResources
@testable import SignIn

/// Refreshes whose responses have an ID token: the grant ends with an invalid one (OpenID Connect Core section 12.2).
@Suite("A provider's tokens, refreshed with an ID token")
struct RefreshedIDTokenFlowTests {
    private static let issuer = "https://login.example"
    private static let identity = Identity(issuer: issuer, subject: "jane")
    private static let signedInAt: Int64 = 1_799_999_000
    /// As this version stores them.
    private static let known = #""id_token_claims":{"auth_time":\#(signedInAt),"nonce":"n-1"}"#

    /// An OpenID provider that responds to refreshes as scripted.
    private final class Provider: Sendable {
        struct Script: Sendable {
            /// The claims of the ID token, as JSON; nil for a response without one.
            var claims: [String: String]? = [:]
            var hasKeys = true
            /// Whether the token endpoint signs with a newer key, which the key set does not have before.
            var usesNewKey = false
            /// Whether the key set fails as soon as a token was issued.
            var losesKeys = false
            /// How the response spells `id_token`; nil for the token.
            var idToken: String?
        }

        let script = Mutex(Script())
        let http = ScriptedHTTPClient { _ throws(OutboundError) in .json("{}", status: 404) }
        private let key = TestSigningKey(keyID: "key-1")
        private let newKey = TestSigningKey(keyID: "key-2")

        init(clock: ManualClock) {
            http.answer { [self] request throws(OutboundError) in respond(to: request, clock.now.secondsSinceEpoch) }
        }

        /// The refresh tokens that were sent.
        var refreshes: Int { http.requests(to: issuer + "/token").count }

        /// The access tokens that were sent.
        var accessTokens: [String] {
            http.requests(to: issuer + "/resource").compactMap { request in
                request.headers.first { $0.name == "Authorization" }?.value
            }
        }

        private func respond(to request: OutboundRequest, _ now: Int64) -> OutboundResponse {
            let script = script.withLock { $0 }
            switch request.url.text {
            case issuer + "/.well-known/openid-configuration":
                return .json(
                    """
                    {"issuer":"\(issuer)","authorization_endpoint":"\(issuer)/authorize",\
                    "token_endpoint":"\(issuer)/token","jwks_uri":"\(issuer)/keys","response_types_supported":["code"],\
                    "id_token_signing_alg_values_supported":["ES256"]}
                    """)
            case issuer + "/keys":
                let keys = [key.jwk] + (script.usesNewKey ? [newKey.jwk] : [])
                return script.hasKeys
                    ? .json(#"{"keys":[\#(keys.joined(separator: ","))]}"#) : .json("{}", status: 500)
            case issuer + "/token":
                if script.losesKeys {
                    self.script.withLock {
                        $0.hasKeys = false
                        $0.usesNewKey = true
                    }
                }
                let signer = script.losesKeys ? newKey : key
                let member = script.idToken ?? script.claims.map { "\"\(token($0, now, signer))\"" }
                return .json(
                    """
                    {"access_token":"access-1","token_type":"Bearer","expires_in":600,"refresh_token":"refresh-1"\
                    \(member.map { ",\"id_token\":" + $0 } ?? "")}
                    """)
            case issuer + "/resource":
                let isNew = request.headers.contains { $0.value == "Bearer access-1" }
                return isNew ? .json(#"{"of":"jane"}"#) : .json("{}", status: 401)
            default: return .json("{}", status: 404)
            }
        }

        private func token(_ changes: [String: String], _ now: Int64, _ key: TestSigningKey) -> String {
            var claims = [
                "iss": "\"\(issuer)\"", "sub": "\"jane\"", "aud": "\"client-1\"", "iat": "\(now)",
                "exp": "\(now + 300)",
                "auth_time": "\(signedInAt)",
            ]
            claims.merge(changes) { $1 }
            return (try? key.token(claims: TokenText.object(claims.map { (name: $0.key, json: $0.value) }))) ?? ""
        }
    }

    private struct Scene: Sendable {
        let provider: Provider
        let resources: FetchResource
        let store: SQLStore
        let log = CapturedLog()
        let clock = ManualClock(secondsSinceEpoch: 1_800_000_000)

        init(on store: SQLStore) throws {
            self.store = store
            provider = Provider(clock: clock)
            let url = try #require(EndpointURL(issuer, policy: .httpsOnly))
            let client = SignInConfiguration.Client(id: try #require(ClientID("client-1")), secret: Secret("s"))
            var configuration = SignInConfiguration()
            configuration.vaultKeys = [try #require(EncryptionKey([UInt8](repeating: 0x1F, count: 32)))]
            let party = RelyingParty(
                configuration: RelyingParty.Configuration(issuer: url), http: provider.http, clock: clock.wallClock)
            var rules = ServerRules()
            rules.storesTokens = true
            rules.resources = ["mail": try #require(EndpointURL(issuer + "/resource", policy: .httpsOnly))]
            let server = AuthorizationServer(party, clients: [client], rules)
            let login = SignIn.Provider(name: "login", title: "Login", kind: .openID(server))
            let useCases = UseCases(
                providers: Providers([login]), configuration: configuration, store: store, logger: log.logger,
                clock: clock.wallClock)
            resources = FetchResource(
                environment: useCases.environment, store: store, vault: useCases.vault,
                refreshes: TokenRefreshes(random: .system))
        }

        /// Signs a user in whose tokens are stored.
        /// - Parameter members: More members of the stored tokens, as JSON.
        func signIn(_ members: String?) async throws -> SessionAndUser {
            let more = members.map { "," + $0 } ?? ""
            let json = #"{"access_token":"access-0","refresh_token":"refresh-0"\#(more)}"#
            let object = try #require(JSONValue(parsing: Array(json.utf8)).object)
            let tokens = try #require(ProviderTokens(object))
            let token = TokenHash(sha256Of: RandomSource.system.token())
            let session = NewSession(
                id: RandomSource.system.token(bytes: 16), tokenHash: token,
                refreshTokenHash: TokenHash(sha256Of: RandomSource.system.token()), clientID: "client-1",
                createdAt: clock.now, expiresAt: clock.now.advanced(bySeconds: 3_600),
                refreshExpiresAt: clock.now.advanced(bySeconds: 86_400))
            _ = try await store.signIn(
                SignInRecord(
                    identity: identity, profile: nil, session: session, newcomers: .welcome(publicID: "p"),
                    tokens: resources.vault.storing(tokens, of: "login", for: "client-1")))
            return try #require(try await store.session(token, at: clock.now))
        }

        func fetch(_ user: SessionAndUser) async -> SignInError? {
            do throws(SignInError) {
                _ = try await resources("mail", of: "login", for: user)
                return nil
            } catch {
                return error
            }
        }

        func row(of user: SessionAndUser) async throws -> ProviderTokenRecord? {
            try await store.providerTokens(of: user.user.id, provider: "login", clientID: "client-1")
        }
    }

    private func with(
        _ engine: ProviderRefreshTests.Engine, _ body: (Scene) async throws -> Void
    ) async throws {
        let (open, holding) = try engine.make()
        let store = try open { _ in }
        try await body(try Scene(on: store))
        try await store.close()
        withExtendedLifetime(holding) {}
    }

    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        /// The check that fails; nil for a valid token.
        let check: IDTokenCheck?
        var claims: [String: String]? = [:]
        /// The stored claims of the sign-in; nil as an earlier version stored the tokens.
        var stored: String? = known
    }

    static let rows = [
        Row(testDescription: "as that of the sign-in", check: nil, claims: ["nonce": "\"n-1\""]),
        Row(testDescription: "without a nonce", check: nil),
        Row(testDescription: "none", check: nil, claims: nil),
        Row(testDescription: "of tokens of an earlier version", check: nil, claims: ["nonce": "\"x\""], stored: nil),
        Row(testDescription: "of another issuer", check: .issuer, claims: ["iss": "\"https://other.example\""]),
        Row(testDescription: "of another user", check: .sameUser, claims: ["sub": "\"ravi\""]),
        Row(
            testDescription: "of another user, beside tokens of an earlier version", check: .sameUser,
            claims: ["sub": "\"ravi\""], stored: nil),
        Row(testDescription: "for another client", check: .audience, claims: ["aud": "\"client-2\""]),
        Row(testDescription: "for another party", check: .authorizedParty, claims: ["azp": "\"client-1\""]),
        Row(testDescription: "with another nonce", check: .nonce, claims: ["nonce": "\"n-2\""]),
        Row(testDescription: "of another authentication", check: .authTime, claims: ["auth_time": "1800000000"]),
        Row(testDescription: "that has expired", check: .expiry, claims: ["exp": "1799999000"]),
        Row(testDescription: "for another access token", check: .accessTokenHash, claims: ["at_hash": "\"AAAA\""]),
    ]

    @Test("keep it, or end with an ID token", arguments: ProviderRefreshTests.Engine.all, rows)
    func validated(engine: ProviderRefreshTests.Engine, row: Row) async throws {
        try await with(engine) { scene in
            scene.provider.script.withLock { $0.claims = row.claims }
            let user = try await scene.signIn(row.stored)
            let error = await scene.fetch(user)
            let endings = try await scene.store.auditEvents(AuditQuery()).map(\.event)
                .filter { $0.kind == .providerGrantEnded }.map(\.details.json)
            guard let check = row.check else {
                #expect(error == nil, "\(error?.description ?? "")")
                #expect(endings == [])
                // The next refresh is compared with the sign-in, too.
                let record = try #require(try await scene.row(of: user))
                let stored = try scene.resources.vault.open(record)
                #expect(stored.accessToken.exposed == "access-1" && stored.refreshToken?.exposed == "refresh-1")
                #expect((stored.original?.nonce == "n-1") == (row.stored != nil))
                return
            }
            #expect(error?.code == .grantRevoked)
            #expect(error?.description.contains("(\(check.rawValue))") == true)
            #expect(error?.check == check)
            let details =
                #"{"provider":"login","client_id":"client-1","reason":"id_token_invalid","check":"\#(check.rawValue)"}"#
            #expect(endings == [details])
            #expect(
                scene.log.lines.contains {
                    $0.metadata["outcome"] == "grant_ended" && $0.metadata["check"] == "\(check.rawValue)"
                        && $0.level == .warning
                })
            #expect(try await scene.row(of: user) == nil)
            #expect(scene.provider.accessTokens == ["Bearer access-0"], "the new access token is not used")
            #expect(await scene.fetch(user)?.code == .grantMissing)
            #expect(scene.provider.refreshes == 1)
        }
    }

    @Test("are not sent while the provider's keys are missing", arguments: ProviderRefreshTests.Engine.all)
    func withoutKeys(engine: ProviderRefreshTests.Engine) async throws {
        try await with(engine) { scene in
            scene.provider.script.withLock { $0.hasKeys = false }
            let user = try await scene.signIn(Self.known)
            let before = try await scene.row(of: user)
            #expect(await scene.fetch(user)?.code == .carrierError)
            #expect(scene.provider.refreshes == 0)
            #expect(try await scene.row(of: user) == before)
            scene.provider.script.withLock { $0.hasKeys = true }
            scene.clock.advance(bySeconds: 60)
            #expect(await scene.fetch(user) == nil)
            #expect(scene.provider.refreshes == 1)
        }
    }

    @Test(
        "are kept, and not used, until newer keys can be fetched",
        arguments: ProviderRefreshTests.Engine.all, [nil, IDTokenCheck.sameUser])
    func withoutNewerKeys(engine: ProviderRefreshTests.Engine, check: IDTokenCheck?) async throws {
        try await with(engine) { scene in
            scene.provider.script.withLock {
                $0.losesKeys = true
                if check != nil { $0.claims = ["sub": "\"ravi\""] }
            }
            let user = try await scene.signIn(Self.known)
            for _ in 0..<2 {
                #expect(await scene.fetch(user)?.code == .carrierError)
                let tokens = try scene.resources.vault.open(try #require(try await scene.row(of: user)))
                #expect(tokens.accessToken.exposed == "access-1" && tokens.refreshToken?.exposed == "refresh-1")
                #expect(tokens.unverified?.receivedAt == Timestamp(secondsSinceEpoch: 1_800_000_000))
                scene.clock.advance(bySeconds: 60)
            }
            // A later sign-in without a refresh token does not take over one that may be another user's.
            let held = try scene.resources.vault.open(try #require(try await scene.row(of: user)))
            var later = held
            later.refreshToken = nil
            #expect(later.withRefreshToken(of: held).refreshToken == nil)
            // The ID token has expired by now. Its times are judged by when it arrived.
            scene.clock.advance(bySeconds: 300)
            scene.provider.script.withLock { $0.hasKeys = true }
            let error = await scene.fetch(user)
            #expect(scene.provider.refreshes == 1)
            #expect(error?.code == (check == nil ? nil : .grantRevoked))
            #expect(error?.check == check)
            let used = ["Bearer access-0"] + (check == nil ? ["Bearer access-1"] : [])
            #expect(scene.provider.accessTokens == used)
            let row = try await scene.row(of: user)
            #expect(try row.map { try scene.resources.vault.open($0).unverified == nil } == (check == nil ? true : nil))
        }
    }

    @Test(
        "treat an empty id_token as none, and cannot use one that is no text",
        arguments: [("\"\"", nil), ("null", nil), ("7", SignInError.Code.carrierError), ("{}", .carrierError)])
    func spelling(idToken: String, code: SignInError.Code?) async throws {
        try await with(ProviderRefreshTests.Engine.all[0]) { scene in
            scene.provider.script.withLock { $0.idToken = idToken }
            let user = try await scene.signIn(Self.known)
            #expect(await scene.fetch(user)?.code == code)
        }
    }

    @Test("of a later sign-in without a refresh token are compared with the sign-in of the refresh token")
    func kept() throws {
        func tokens(_ members: String) throws -> ProviderTokens {
            let json = #"{"access_token":"a",\#(members)}"#
            let object = try #require(JSONValue(parsing: Array(json.utf8)).object)
            return try #require(ProviderTokens(object))
        }
        let first = try tokens(#""refresh_token":"r-1",\#(Self.known)"#)
        let second = try tokens(#""id_token_claims":{"auth_time":7,"nonce":"n-2"}"#)
        #expect(second.withRefreshToken(of: first).original == first.original)
        #expect(second.withRefreshToken(of: nil).original == second.original)
        let third = try tokens(#""refresh_token":"r-3","id_token_claims":{"azp":"client-1"}"#)
        #expect(third.withRefreshToken(of: first).original == third.original)
        #expect(third.original?.authorizedParty == "client-1" && third.original?.authTime == nil)
        #expect(try tokens(#""refresh_token":"r""#).original == nil)
    }
}
