import OpenIDConnect
import Primitives
import StorageModel
import Synchronization
import TestSupport
import Testing

@testable import AccountMigration

/// The parts of a port token: valid until a test changes them.
private struct PortTokenDraft: Sendable {
    var header: JSONDraft
    var claims: JSONDraft
    var key: TestKey
    var sign: (@Sendable (_ signed: [UInt8]) -> [UInt8])?
    var payload: String?
    var finish: @Sendable (String) -> String = { $0 }

    static let issuer = "https://former.carrier.example/m/310998"

    init(key: TestKey = .rsa1, issuer: String = issuer) {
        self.key = key
        header = [("alg", "\"\(key.algorithm)\""), ("typ", "\"port_token+jwt\""), ("kid", "\"\(key.keyID)\"")]
        claims = [
            ("iss", "\"\(issuer)\""), ("sub", "\"310998-subject\""), ("aud", "\"client-1\""),
            ("iat", "\(TokenDraft.now - 86_400)"),
        ]
    }

    var text: String {
        finish(TokenText.compact(header: header.text, payload: payload ?? claims.text) { (sign ?? key.sign)($0) })
    }
}

/// Former carriers behind a scripted client: each issuer has a configuration and keys.
private final class FormerCarriers: Sendable {
    struct Answers: Sendable {
        var configuration: OutboundResponse?
        var keys: OutboundResponse = .json(TestKey.keySet(.rsa1))
        var configurationFailure: OutboundError?
        var keysFailure: OutboundError?
    }

    static let now = TokenDraft.now
    let clock = ManualClock(secondsSinceEpoch: FormerCarriers.now)
    let http: ScriptedHTTPClient
    private let answers = Mutex(Answers())

    init() {
        http = ScriptedHTTPClient { _ throws(OutboundError) in
            throw OutboundError(.unreachable, mayHaveBeenSent: false, reason: "not set up")
        }
        http.answer { [weak self] request throws(OutboundError) in
            guard let self else { throw OutboundError(.shutDown, mayHaveBeenSent: false, reason: "gone") }
            return try self.answer(request.url.text)
        }
    }

    func change(_ change: (inout Answers) -> Void) { answers.withLock { change(&$0) } }

    static func configuration(issuer: String, keys: String? = nil) -> JSONDraft {
        [("issuer", "\"\(issuer)\""), ("jwks_uri", "\"\(keys ?? issuer + "/jwks")\"")]
    }

    private func answer(_ url: String) throws(OutboundError) -> OutboundResponse {
        let answers = answers.withLock { $0 }
        let suffix = "/.well-known/openid-configuration"
        if url.hasSuffix(suffix) {
            if let failure = answers.configurationFailure { throw failure }
            let issuer = String(url.dropLast(suffix.count))
            return answers.configuration ?? .json(Self.configuration(issuer: issuer).text)
        }
        if let failure = answers.keysFailure { throw failure }
        return url.hasSuffix("/jwks") ? answers.keys : OutboundResponse(status: 404)
    }

    func verifier(_ rules: PortTokenRules = PortTokenRules()) throws -> PortTokenVerifier {
        let url = try #require(EndpointURL(FakeCarrier.discoveryURL, policy: .httpsOnly))
        var configuration = RelyingParty.Configuration(discoveryURL: url)
        configuration.trustedHosts = TrustedHosts(["*.carrier.example"].compactMap(TrustedHosts.Pattern.init))
        let party = RelyingParty(configuration: configuration, http: http, clock: clock.wallClock)
        return PortTokenVerifier(relyingParty: party, rules: rules, clock: clock.wallClock)
    }

    var configurationRequests: Int { http.requests.filter { $0.url.text.hasSuffix("openid-configuration") }.count }
    var keyRequests: Int { http.requests.filter { $0.url.text.hasSuffix("/jwks") }.count }
}

/// Reads tokens and verifies those that could be read.
/// - Returns: The check that each token failed, or nil.
private func checks(_ tokens: [String], _ verifier: PortTokenVerifier) async throws -> [PortTokenCheck?] {
    let clientID = try #require(ClientID("client-1"))
    let read = verifier.read(tokens.map(Secret.init), for: clientID)
    var verified = await verifier.verify(read.compactMap { try? $0.get() }).makeIterator()
    return read.map { result in
        switch result {
        case .failure(let refusal): refusal.check
        case .success:
            switch verified.next() {
            case .failure(let refusal): refusal.check
            case .success, nil: nil
            }
        }
    }
}

/// A change to a valid port token, and the check that it must fail; nil if it must pass.
struct PortTokenCase: Sendable, CustomTestStringConvertible {
    let name: String
    let check: PortTokenCheck?
    fileprivate let change: @Sendable (inout PortTokenDraft) -> Void

    var testDescription: String { "\(name): \(check?.rawValue ?? "accepted")" }

    fileprivate init(
        _ name: String, _ check: PortTokenCheck?, _ change: @escaping @Sendable (inout PortTokenDraft) -> Void
    ) {
        self.name = name
        self.check = check
        self.change = change
    }

    fileprivate static func claim(_ name: String, _ json: String?, _ check: PortTokenCheck?) -> PortTokenCase {
        PortTokenCase("\(name) \(json ?? "absent")", check) { $0.claims[name] = json }
    }

    /// A token without `typ`.
    fileprivate static func untyped(
        _ name: String, _ check: PortTokenCheck?, _ change: @escaping @Sendable (inout PortTokenDraft) -> Void
    ) -> PortTokenCase {
        PortTokenCase("without typ, \(name)", check) {
            $0.header["typ"] = nil
            change(&$0)
        }
    }

    fileprivate static func header(_ name: String, _ json: String?, _ check: PortTokenCheck?) -> PortTokenCase {
        PortTokenCase("\(name) \(json ?? "absent")", check) { $0.header[name] = json }
    }
}

private let now = TokenDraft.now
private let days180: Int64 = 180 * 86_400

struct PortTokenTests {
    private static let untypedRows: [PortTokenCase] = [
        PortTokenCase("with its type", nil) { _ in },
        .header("typ", nil, nil), .header("typ", "\"JWT\"", .type), .header("typ", "\"at+jwt\"", .type),
        .header("typ", "\"logout+jwt\"", .type), .header("typ", "null", .type), .header("typ", "\"\"", .type),
        .untyped("an ID token or access token", .type) { $0.claims["exp"] = "\(now + 300)" },
        .untyped("an expired ID token", .type) { $0.claims["exp"] = "\(now - 300)" },
        .untyped("a logout token", .type) { $0.claims["events"] = "{}" },
        .untyped("of another client", .audience) { $0.claims["aud"] = "\"client-2\"" },
        .untyped("of a carrier that is not trusted", .issuer) { $0.claims["iss"] = "\"https://evil.example\"" },
        .untyped("without a key id", .keyID) { $0.header["kid"] = nil },
        .untyped("of another key", .signature) { $0.sign = { TestKey.rsa2.sign($0) } },
        .untyped("too old", .issuedAt) { $0.claims["iat"] = "\(now - days180 - 61)" },
        PortTokenCase("with its type and exp", nil) { $0.claims["exp"] = "\(now + 300)" },
    ]

    @Test("Without require_type a port token may lack typ, and no token of another kind passes", arguments: untypedRows)
    func untyped(_ row: PortTokenCase) async throws {
        var draft = PortTokenDraft()
        row.change(&draft)
        let carriers = FormerCarriers()
        var rules = PortTokenRules()
        rules.requiresType = false
        #expect(try await checks([draft.text], try carriers.verifier(rules)) == [row.check])
    }

    private static let headerRows: [PortTokenCase] = [
        PortTokenCase("as it should be", nil) { _ in },
        .header("typ", "\"PORT_TOKEN+JWT\"", nil), .header("typ", "\"JWT\"", .type), .header("typ", nil, .type),
        .header("typ", "\"logout+jwt\"", .type), .header("typ", "7", .type),
        .header("kid", nil, .keyID), .header("kid", "7", .format), .header("kid", "\"another\"", .key),
        .header("alg", "\"none\"", .algorithm), .header("alg", "\"HS256\"", .algorithm),
        .header("alg", "\"PS256\"", .algorithm), .header("alg", "\"ES256\"", .key), .header("alg", nil, .algorithm),
        .header("crit", "[\"exp\"]", .criticalHeader), .header("b64", "false", .criticalHeader),
        PortTokenCase("no signature", .format) { $0.sign = { _ in [] } },
        PortTokenCase("a changed signature", .signature) { draft in
            let key = draft.key
            draft.sign = { key.sign($0).map { $0 ^ 1 } }
        },
        PortTokenCase("another key's signature", .signature) { $0.sign = { TestKey.rsa2.sign($0) } },
        PortTokenCase("an embedded key is not looked at", .signature) { draft in
            draft.header["jwk"] = TestKey.rsa2.jwk.text
            draft.sign = { TestKey.rsa2.sign($0) }
        },
        PortTokenCase("two parts", .format) {
            $0.finish = { $0.split(separator: ".").prefix(2).joined(separator: ".") }
        },
        PortTokenCase("no JWT at all", .format) { $0.finish = { _ in "port-token" } },
        PortTokenCase("too long", .format) { $0.claims["pad"] = "\"\(String(repeating: "p", count: 8192))\"" },
    ]

    private static let claimRows: [PortTokenCase] = [
        PortTokenCase("claims that are no object", .claims) { $0.payload = "[]" },
        PortTokenCase("a claim twice", .claims) { $0.claims.add("sub", "\"310998-victim\"") },
        .claim("iss", nil, .issuer), .claim("iss", "7", .issuer), .claim("iss", "\"\"", .issuer),
        .claim("iss", "\"https://evil.example\"", .issuer), .claim("iss", "\"https://evilcarrier.example\"", .issuer),
        .claim("iss", "\"https://carrier.example\"", .issuer),
        .claim("iss", "\"https://former.carrier.example.evil.example\"", .issuer),
        .claim("iss", "\"https://evil.example/former.carrier.example\"", .issuer),
        .claim("iss", "\"https://former.carrier.example@evil.example\"", .issuer),
        .claim("iss", "\"http://former.carrier.example\"", .issuer),
        .claim("iss", "\"https://former.carrier.example/?a=b\"", .issuer),
        .claim("iss", "\"https://former.carrier.example/#a\"", .issuer),
        .claim("sub", nil, .subject), .claim("sub", "\"\"", .subject), .claim("sub", "7", .subject),
        .claim("sub", "\"a b\"", .subject), .claim("sub", "\"\(String(repeating: "s", count: 256))\"", .subject),
        .claim("sub", "\"\(String(repeating: "s", count: 255))\"", nil),
        .claim("aud", nil, .audience), .claim("aud", "\"client-2\"", .audience), .claim("aud", "[]", .audience),
        .claim("aud", "[\"client-1\"]", nil), .claim("aud", "[\"client-1\",\"client-2\"]", .audience),
        .claim("iat", nil, .issuedAt), .claim("iat", "\"\(now)\"", .issuedAt), .claim("iat", "-1", .issuedAt),
        .claim("iat", "1e300", .issuedAt), .claim("iat", "\(now + 60)", nil), .claim("iat", "\(now + 61)", .issuedAt),
        .claim("iat", "\(now - days180 - 60)", nil), .claim("iat", "\(now - days180 - 61)", .issuedAt),
        .claim("exp", "\(now - 59)", nil), .claim("exp", "\(now - 60)", .expiry), .claim("exp", "null", .expiry),
        .claim("nbf", "\(now + 60)", nil), .claim("nbf", "\(now + 61)", .notBefore),
    ]

    @Test(
        "A port token that breaks a rule is refused, and nothing is fetched if the rule needs no key",
        arguments: headerRows + claimRows)
    func rules(row: PortTokenCase) async throws {
        let carriers = FormerCarriers()
        let verifier = try carriers.verifier()
        var draft = PortTokenDraft()
        row.change(&draft)
        #expect(try await checks([draft.text], verifier) == [row.check])
        if let check = row.check, check != .key, check != .signature { #expect(carriers.http.requests.isEmpty) }
    }

    @Test("A verified port token has the former subject, its time of issue and its digest")
    func says() async throws {
        let carriers = FormerCarriers()
        carriers.change { $0.keys = .json(TestKey.keySet(.ec1)) }
        let verifier = try carriers.verifier()
        let clientID = try #require(ClientID("client-1"))
        let draft = PortTokenDraft(key: .ec1)
        // An ECDSA signature differs each time; the token is still the same.
        let read = verifier.read([Secret(draft.text), Secret(draft.text)], for: clientID)
        let verified = try await verifier.verify(read.map { try $0.get() }).map { try $0.get() }
        #expect(verified[0].identity.issuer == PortTokenDraft.issuer)
        #expect(verified[0].identity.subject == "310998-subject")
        #expect(verified[0].issuedAt.secondsSinceEpoch == now - 86_400)
        #expect(verified[0].token.bytes.count == 32)
        #expect(verified[0] == verified[1])
        #expect(!"\(verified[0]) \(try read[0].get())".contains("310998-subject"))
        #expect(!String(reflecting: verified[0]).contains("310998-subject"))
    }

    @Test("An issuer's configuration and keys are fetched once, however many tokens and sign-ins ask")
    func fetchedOnce() async throws {
        let carriers = FormerCarriers()
        let verifier = try carriers.verifier()
        let tokens = (0..<8).map { _ in PortTokenDraft().text }
        for _ in 0..<3 { #expect(try await checks(tokens, verifier).allSatisfy { $0 == nil }) }
        #expect(carriers.configurationRequests == 1)
        #expect(carriers.keyRequests == 1)
        let request = try #require(carriers.http.requests.first)
        #expect(request.url.text == PortTokenDraft.issuer + "/.well-known/openid-configuration")
        #expect(request.timeout == .seconds(5))
        #expect(request.maximumBodyBytes == 65_536)
    }

    @Test("A sign-in sends requests to at most four issuers")
    func issuerCount() async throws {
        let carriers = FormerCarriers()
        let tokens = [1, 2, 3, 4, 5, 1, 6].map { PortTokenDraft(issuer: "https://c\($0).carrier.example").text }
        let found = try await checks(tokens, try carriers.verifier())
        #expect(found == [nil, nil, nil, nil, .issuerCount, nil, .issuerCount])
        #expect(carriers.configurationRequests == 4)
    }

    @Test("Keys rotated since the last fetch work; an unknown key id does not cause a flood of fetches")
    func rotation() async throws {
        let carriers = FormerCarriers()
        let verifier = try carriers.verifier()
        #expect(try await checks([PortTokenDraft().text], verifier) == [nil])
        carriers.change { $0.keys = .json(TestKey.keySet(.rsa2)) }
        #expect(try await checks([PortTokenDraft(key: .rsa2).text], verifier) == [nil])
        #expect(carriers.keyRequests == 2)
        for number in 0..<20 {
            let token = PortTokenDraft(key: .rsa2.named("unknown-\(number)")).text
            #expect(try await checks([token], verifier) == [.key])
        }
        #expect(carriers.keyRequests == 3)
    }

    @Test("A key that replaces another under the same id works")
    func replacement() async throws {
        let carriers = FormerCarriers()
        let verifier = try carriers.verifier()
        #expect(try await checks([PortTokenDraft(key: .rsa1).text], verifier) == [nil])
        let successor = TestKey.rsa2.named("rsa-1")
        carriers.change { $0.keys = .json(TestKey.keySet(successor)) }
        #expect(try await checks([PortTokenDraft(key: successor).text], verifier) == [nil])
        #expect(carriers.keyRequests == 2)
        for _ in 0..<20 { #expect(try await checks([PortTokenDraft(key: .rsa1).text], verifier) == [.signature]) }
        #expect(carriers.keyRequests == 3)
    }

    struct Unusable: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let check: PortTokenCheck
        fileprivate let change: @Sendable (inout FormerCarriers.Answers) -> Void
    }

    private static let failures: [Unusable] = [
        .init(testDescription: "no configuration", check: .metadata) { $0.configuration = .json("{}", status: 404) },
        .init(testDescription: "a redirect", check: .metadata) { $0.configuration = OutboundResponse(status: 302) },
        .init(testDescription: "no JSON", check: .metadata) { $0.configuration = .json("<html>") },
        .init(testDescription: "time is over", check: .metadata) {
            $0.configurationFailure = OutboundError(.timedOut, mayHaveBeenSent: true, reason: "")
        },
        .init(testDescription: "another issuer's configuration", check: .metadata) {
            let other = "https://other.carrier.example"
            $0.configuration = .json(FormerCarriers.configuration(issuer: other).text)
        },
        .init(testDescription: "the issuer with a slash", check: .metadata) {
            let other = PortTokenDraft.issuer + "/"
            $0.configuration = .json(FormerCarriers.configuration(issuer: other).text)
        },
        .init(testDescription: "keys on a host that is not trusted", check: .metadata) {
            let keys = "https://evil.example/jwks"
            $0.configuration = .json(FormerCarriers.configuration(issuer: PortTokenDraft.issuer, keys: keys).text)
        },
        .init(testDescription: "no keys", check: .keys) { $0.keys = .json("{}", status: 500) },
        .init(testDescription: "keys do not come", check: .keys) {
            $0.keysFailure = OutboundError(.timedOut, mayHaveBeenSent: true, reason: "")
        },
    ]

    @Test(
        "An unusable former carrier moves no account, and gets further requests only after a pause",
        arguments: failures)
    func unusable(row: Unusable) async throws {
        let carriers = FormerCarriers()
        let verifier = try carriers.verifier()
        carriers.change(row.change)
        for _ in 0..<5 { #expect(try await checks([PortTokenDraft().text], verifier) == [row.check]) }
        #expect(carriers.configurationRequests == 1)
        #expect(carriers.keyRequests <= 3)
        carriers.change { $0 = FormerCarriers.Answers() }
        carriers.clock.advance(bySeconds: 61)
        #expect(try await checks([PortTokenDraft().text], verifier) == [nil])
    }

    @Test("Known metadata and keys of a former carrier are used while it is down")
    func stale() async throws {
        let carriers = FormerCarriers()
        let verifier = try carriers.verifier()
        #expect(try await checks([PortTokenDraft().text], verifier) == [nil])
        carriers.change {
            $0.configurationFailure = OutboundError(.unreachable, mayHaveBeenSent: false, reason: "")
            $0.keysFailure = OutboundError(.unreachable, mayHaveBeenSent: false, reason: "")
        }
        carriers.clock.advance(bySeconds: 7_200)
        #expect(try await checks([PortTokenDraft().text], verifier) == [nil])
    }

    @Test("A port token is not accepted as an ID token, nor an ID token as a port token")
    func kinds() async throws {
        var idToken = TokenDraft()
        idToken.header["typ"] = "\"port_token+jwt\""
        #expect(try failedCheck(idToken.text, keySet: TestKey.keySet(.rsa1)) == .type)
        let carriers = FormerCarriers()
        #expect(try await checks([TokenDraft().text], try carriers.verifier()) == [.type])
    }
}
