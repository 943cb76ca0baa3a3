import Crypto
import OpenIDConnect
import Primitives
import TestSupport
import Testing

/// Signed authorization responses (JARM): one row for each rule.
@Suite("Signed authorization responses")
struct AuthorizationResponseTests {
    private static let now = TokenDraft.now

    private static func draft(key: TestKey = .rsa1) -> TokenDraft {
        var draft = TokenDraft(key: key)
        draft.claims = [
            ("iss", "\"\(TokenDraft.issuer)\""), ("aud", "\"rs256\""), ("exp", "\(now + 300)"),
            ("state", "\"state-1\""), ("code", "\"CODE-1\""),
        ]
        return draft
    }

    private static func carrier() -> FakeCarrier {
        FakeCarrier {
            $0.discovery = .json(FakeCarrier.metadata.text)
            $0.keys = .json(TestKey.keySet(.rsa1, .ec1))
        }
    }

    private static func clients() throws -> [ClientID: SigningAlgorithm] {
        [try #require(ClientID("rs256")): .rs256, try #require(ClientID("es256")): .es256]
    }

    /// The check that a response fails; nil if it passes all.
    private func failed(_ text: String, at relyingParty: RelyingParty) async throws -> AuthorizationResponseCheck? {
        let clients = try Self.clients()
        do throws(AuthorizationResponseError) {
            _ = try await relyingParty.verify(authorizationResponse: Secret(text), for: clients)
            return nil
        } catch {
            guard case .failed(let check) = error else { throw error }
            return check
        }
    }

    private func failed(_ text: String) async throws -> AuthorizationResponseCheck? {
        let carrier = Self.carrier()
        defer { withExtendedLifetime(carrier) {} }
        return try await failed(text, at: try carrier.relyingParty(ofIssuer: TokenDraft.issuer))
    }

    @Test("A response says for whom it is, its state, and its code or error")
    func values() async throws {
        let carrier = Self.carrier()
        defer { withExtendedLifetime(carrier) {} }
        let relyingParty = try carrier.relyingParty(ofIssuer: TokenDraft.issuer)
        let response = try await relyingParty.verify(
            authorizationResponse: Secret(Self.draft().text), for: try Self.clients())
        #expect(response.issuer == TokenDraft.issuer)
        #expect(response.clientID.text == "rs256")
        #expect(response.state.exposed == "state-1")
        guard case .code(let code) = response.outcome else { throw OIDCError.failed(.claims) }
        #expect(code.exposed == "CODE-1")
        #expect(!"\(response)\(String(reflecting: response))".contains("CODE-1"))
        var draft = Self.draft()
        draft.claims = draft.claims.with("error", "\"access_denied\"")
        let refused = try await relyingParty.verify(
            authorizationResponse: Secret(draft.text), for: try Self.clients())
        guard case .error(let error) = refused.outcome else { throw OIDCError.failed(.claims) }
        #expect(error == "access_denied", "an error counts before a code")
    }

    /// A changed claim, in JSON, and the check that then fails.
    struct Claim: Sendable, CustomTestStringConvertible {
        let name: String
        let json: String?
        let check: AuthorizationResponseCheck?
        var testDescription: String { "\(name) \((json ?? "absent").prefix(40))" }

        init(_ name: String, _ json: String?, _ check: AuthorizationResponseCheck?) {
            self.name = name
            self.json = json
            self.check = check
        }
    }

    @Test(
        "Each claim has its rule",
        arguments: [
            Claim("extra", "7", nil), Claim("iss", nil, .issuer), Claim("iss", "\"https://other.example\"", .issuer),
            Claim("iss", "\"\(TokenDraft.issuer)/\"", .issuer), Claim("aud", nil, .audience),
            Claim("aud", "\"other\"", .audience), Claim("aud", "[\"rs256\"]", nil),
            Claim("aud", "[\"rs256\",\"es256\"]", .audience), Claim("exp", nil, .expiry),
            Claim("exp", "\"\(now + 300)\"", .expiry), Claim("exp", "\(now - 59)", nil),
            Claim("exp", "\(now - 60)", .expiry), Claim("exp", "\(now + 660)", nil),
            Claim("exp", "\(now + 661)", .expiry), Claim("exp", "1e300", .expiry), Claim("nbf", "\(now + 60)", nil),
            Claim("nbf", "\(now + 61)", .notBefore), Claim("nbf", "\"now\"", .notBefore),
            Claim("sub", "\"user\"", .kind), Claim("nonce", "\"n\"", .kind), Claim("events", "{}", .kind),
            Claim("state", nil, .state), Claim("state", "\"\"", .state), Claim("state", "\"a b\"", .state),
            Claim("state", "7", .state), Claim("state", "\"\(String(repeating: "s", count: 256))\"", nil),
            Claim("state", "\"\(String(repeating: "s", count: 257))\"", .state), Claim("code", nil, .outcome),
            Claim("code", "\"\"", .outcome), Claim("code", "7", .outcome), Claim("code", "\"a\\nb\"", .outcome),
            Claim("code", "\"a b\"", nil), Claim("code", "\"\(String(repeating: "c", count: 16_384))\"", nil),
            Claim("code", "\"\(String(repeating: "c", count: 16_385))\"", .outcome), Claim("error", "7", .outcome),
            Claim("error", "\"\"", .outcome), Claim("error", "\"\(String(repeating: "e", count: 257))\"", .outcome),
        ])
    func claim(row: Claim) async throws {
        var draft = Self.draft()
        draft.claims = draft.claims.with(row.name, row.json)
        #expect(try await failed(draft.text) == row.check)
    }

    @Test("A claim that is there twice, and a payload that is no object, are refused")
    func payload() async throws {
        var twice = Self.draft()
        twice.claims.add("state", "\"state-2\"")
        #expect(try await failed(twice.text) == .claims)
        var list = Self.draft()
        list.payload = "[]"
        #expect(try await failed(list.text) == .claims)
    }

    @Test(
        "The algorithm is the one of the client that the response is for; none and HMAC never are",
        arguments: [
            ("rs256", "rsa", nil, nil), ("es256", "ec", nil, nil), ("rs256", "ec", nil, .algorithm),
            ("es256", "rsa", nil, .algorithm), ("rs256", "rsa", "none", .algorithm),
            ("rs256", "rsa", "HS256", .algorithm), ("rs256", "rsa", "PS256", .algorithm),
        ] as [(String, String, String?, AuthorizationResponseCheck?)])
    func algorithm(_ client: String, _ key: String, _ named: String?, _ check: AuthorizationResponseCheck?)
        async throws
    {
        var draft = Self.draft(key: key == "rsa" ? .rsa1 : .ec1)
        draft.claims = draft.claims.with("aud", "\"\(client)\"")
        if let named { draft.header = draft.header.with("alg", "\"\(named)\"") }
        #expect(try await failed(draft.text) == check)
    }

    @Test("Form, header and signature are those of a signed JWT of this kind")
    func form() async throws {
        let text = Self.draft().text
        var type = Self.draft()
        for (value, check) in [
            ("\"logout+jwt\"", AuthorizationResponseCheck.type), ("\"at+jwt\"", .type),
            ("\"oauth-authz-req+jwt\"", .type), (nil, nil), ("\"JWT\"", nil),
        ] as [(String?, AuthorizationResponseCheck?)] {
            type.header = Self.draft().header.with("typ", value)
            #expect(try await failed(type.text) == check, "\(value ?? "absent")")
        }
        var critical = Self.draft()
        critical.header = critical.header.with("crit", "[\"b64\"]")
        #expect(try await failed(critical.text) == .criticalHeader)
        var signature = Self.draft()
        signature.sign = { _ in [UInt8](repeating: 1, count: 256) }
        #expect(try await failed(signature.text) == .signature)
        var stranger = Self.draft()
        stranger.header = stranger.header.with("kid", "\"stranger\"")
        #expect(try await failed(stranger.text) == .key)
        for broken in [
            "", "a.b.c", text + ".x.y", String(text.prefix { $0 != "." }), text + String(repeating: "A", count: 65_536),
        ] {
            #expect(try await failed(broken) == .format)
        }
    }

    @Test("Responses that fail by themselves cost no request, and others at most one more fetch of keys in a minute")
    func junk() async throws {
        let carrier = Self.carrier()
        let relyingParty = try carrier.relyingParty(ofIssuer: TokenDraft.issuer)
        var fetches: Int { carrier.http.requests(to: FakeCarrier.keysURL).count }
        var draft = Self.draft()
        draft.claims = draft.claims.with("aud", "\"other\"")
        #expect(try await failed(draft.text, at: relyingParty) == .audience)
        #expect(fetches == 0)
        var stranger = Self.draft()
        stranger.header = stranger.header.with("kid", "\"stranger\"")
        for _ in 0..<20 { #expect(try await failed(stranger.text, at: relyingParty) == .key) }
        #expect(fetches == 2)
        #expect(try await failed(Self.draft().text, at: relyingParty) == nil)
        #expect(fetches == 2)
        carrier.clock.advance(bySeconds: 60)
        for _ in 0..<20 { _ = try await failed(stranger.text, at: relyingParty) }
        #expect(fetches == 3)
    }

    @Test("A key that the provider published since is fetched")
    func rotation() async throws {
        let carrier = Self.carrier()
        let relyingParty = try carrier.relyingParty(ofIssuer: TokenDraft.issuer)
        #expect(try await failed(Self.draft().text, at: relyingParty) == nil)
        carrier.change { $0.keys = .json(TestKey.keySet(.rsa2)) }
        #expect(try await failed(Self.draft(key: .rsa2).text, at: relyingParty) == nil)
    }

    @Test("Without keys a response cannot be verified, and a carrier's is none of ours")
    func unknown() async throws {
        let carrier = Self.carrier()
        carrier.change { $0.keys = OutboundResponse(status: 500, body: []) }
        let relyingParty = try carrier.relyingParty(ofIssuer: TokenDraft.issuer)
        await #expect(throws: AuthorizationResponseError.self) {
            _ = try await failed(Self.draft().text, at: relyingParty)
        }
        #expect(try await failed(Self.draft().text, at: try Self.carrier().relyingParty()) == .issuer)
    }
}
