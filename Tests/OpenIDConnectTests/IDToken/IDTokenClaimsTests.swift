import Crypto
import OpenIDConnect
import Primitives
import TestSupport
import Testing

/// A change to a valid token or to its expectation, and the check that it must fail; nil if it must pass.
struct TokenCase: Sendable, CustomTestStringConvertible {
    let name: String
    let check: IDTokenCheck?
    let change: @Sendable (inout TokenDraft) -> Void
    let expecting: @Sendable (inout IDTokenExpectation) -> Void

    var testDescription: String { "\(name): \(check?.rawValue ?? "accepted")" }

    init(_ name: String, _ check: IDTokenCheck?, _ change: @escaping @Sendable (inout TokenDraft) -> Void) {
        self.init(name, check, expecting: { _ in }, change: change)
    }

    private init(
        _ name: String, _ check: IDTokenCheck?, expecting: @escaping @Sendable (inout IDTokenExpectation) -> Void,
        change: @escaping @Sendable (inout TokenDraft) -> Void
    ) {
        self.name = name
        self.check = check
        self.change = change
        self.expecting = expecting
    }

    /// A claim with another value, as JSON text; nil removes it.
    static func claim(
        _ name: String, _ json: String?, _ check: IDTokenCheck?,
        expecting: @escaping @Sendable (inout IDTokenExpectation) -> Void = { _ in }
    ) -> TokenCase {
        TokenCase("\(name) \(json ?? "absent")", check, expecting: expecting, change: { $0.claims[name] = json })
    }
}

private let now = TokenDraft.now

/// The example of OpenID Connect Core appendix A.3: this access token with this hash.
private let accessToken = Secret("jHkWEdUXMU1BwAsC4vtUsZwnNvTIxEl0z9K3vx5KF0Y")
private let accessTokenHash = "77QmUPtjPfzWtF2AnpK9RQ"

/// SHA-256 of `nonce-1`.
private let hashOfNonce = "9e3f156324d42f0ea4b6f4fce81d56fbd64a2143a3fdd60a130d9c90e5b4d688"

struct IDTokenClaimsTests {
    private func verify(_ row: TokenCase) throws {
        var draft = TokenDraft()
        row.change(&draft)
        let found = try failedCheck(draft.text, keySet: TestKey.keySet(.rsa1), expecting: row.expecting)
        #expect(found == row.check)
    }

    private static func required(_ audience: String?, _ check: IDTokenCheck?) -> TokenCase {
        .claim("aud", audience, check) { $0.requiredAudiences = ["other", "third"].compactMap { ClientID($0) } }
    }

    @Test(
        "Each required audience must be named beside the client, and no other",
        arguments: [
            required(#"["client-1","other","third"]"#, nil), required(#"["third","client-1","other"]"#, nil),
            required(#"["client-1","other","third","third"]"#, nil), required("\"client-1\"", .audience),
            required(#"["client-1"]"#, .audience), required(#"["client-1","other"]"#, .audience),
            required(#"["client-1","third"]"#, .audience), required(#"["other","third"]"#, .audience),
            required(#"["client-1","other","third","fourth"]"#, .audience),
            required(#"["client-1","other","third",7]"#, .audience), required(nil, .audience),
        ])
    func requiredAudiences(row: TokenCase) throws { try verify(row) }

    private static func native(_ audience: String?, _ check: IDTokenCheck?) -> TokenCase {
        .claim("aud", audience, check) { $0.nativeAudiences = ["app-1", "app-2"].compactMap { ClientID($0) } }
    }

    @Test(
        "A native token names one of the native audiences; the client's id is none if it is not listed",
        arguments: [
            native("\"app-1\"", nil), native("[\"app-2\"]", nil), native("\"client-1\"", .audience),
            native(#"["app-1","app-2"]"#, .audience), native(#"["client-1","app-1"]"#, .audience),
            native("\"app-3\"", .audience), native(nil, .audience),
        ])
    func nativeAudiences(row: TokenCase) throws { try verify(row) }

    @Test(
        "Only the requested issuer is accepted, byte for byte",
        arguments: [
            TokenCase("as it should be", nil) { _ in },
            .claim("iss", "\"https://example.org/\"", .issuer), .claim("iss", "\"\(TokenDraft.issuer)1\"", .issuer),
            .claim("iss", "\"\(TokenDraft.issuer)/\"", .issuer),
            .claim("iss", "\"\(TokenDraft.issuer.uppercased())\"", .issuer),
            .claim("iss", nil, .issuer), .claim("iss", "null", .issuer), .claim("iss", "\"\"", .issuer),
            .claim("iss", "[\"\(TokenDraft.issuer)\"]", .issuer), .claim("iss", "1", .issuer),
        ])
    func issuer(_ row: TokenCase) throws { try verify(row) }

    @Test(
        "A subject is 1 to 255 visible ASCII characters",
        arguments: [
            .claim("sub", "\"x\"", nil), .claim("sub", "\"\(String(repeating: "s", count: 255))\"", nil),
            .claim("sub", "\"!~\"", nil),
            .claim("sub", nil, .subject), .claim("sub", "null", .subject), .claim("sub", "\"\"", .subject),
            .claim("sub", "\"\(String(repeating: "s", count: 256))\"", .subject), .claim("sub", "\"a b\"", .subject),
            .claim("sub", "\"a\\u0000\"", .subject), .claim("sub", "\"a\\n\"", .subject),
            .claim("sub", "\"é\"", .subject),
            .claim("sub", "\"\\u007f\"", .subject), .claim("sub", "1", .subject), .claim("sub", "[\"x\"]", .subject),
            .claim("sub", "{}", .subject),
        ] as [TokenCase])
    func subject(_ row: TokenCase) throws { try verify(row) }

    @Test(
        "The audience is this client alone",
        arguments: [
            .claim("aud", "[\"client-1\"]", nil),
            .claim("aud", "\"https://example.com/\"", .audience), .claim("aud", "\"client-11\"", .audience),
            .claim("aud", "\"Client-1\"", .audience), .claim("aud", nil, .audience), .claim("aud", "null", .audience),
            .claim("aud", "\"\"", .audience), .claim("aud", "[]", .audience),
            .claim("aud", "[[\"client-1\"]]", .audience),
            .claim("aud", "[\"client-1\",\"client-11\"]", .audience),
            .claim("aud", "[\"other\",\"client-1\"]", .audience),
            .claim("aud", "[\"client-1\",\"client-1\"]", .audience), .claim("aud", "[1]", .audience),
            .claim("aud", "{\"client-1\":true}", .audience), .claim("aud", "1", .audience),
            TokenCase("two audiences, we the authorized party", .audience) {
                $0.claims["aud"] = "[\"client-1\",\"other\"]"
                $0.claims["azp"] = "\"client-1\""
            },
        ] as [TokenCase])
    func audience(_ row: TokenCase) throws { try verify(row) }

    @Test(
        "An authorized party, if named, is this client",
        arguments: [
            .claim("azp", "\"client-1\"", nil), .claim("azp", "\"other\"", .authorizedParty),
            .claim("azp", "null", .authorizedParty), .claim("azp", "[\"client-1\"]", .authorizedParty),
            .claim("azp", "\"\"", .authorizedParty), .claim("azp", "0", .authorizedParty),
            .claim("azp", "\"other\"", nil, expecting: { $0.nativeAudiences = [$0.clientID] }),
            .claim("azp", "\"\"", .authorizedParty, expecting: { $0.nativeAudiences = [$0.clientID] }),
            .claim("azp", "0", .authorizedParty, expecting: { $0.nativeAudiences = [$0.clientID] }),
        ] as [TokenCase])
    func authorizedParty(_ row: TokenCase) throws { try verify(row) }

    @Test(
        "A token is accepted until its expiry plus the clock skew",
        arguments: [
            .claim("exp", "\(now + 1)", nil), .claim("exp", "\(now - 59).5", .expiry),
            TokenCase("exp a second after iat", nil) {
                $0.claims["exp"] = "\(now)"
                $0.claims["iat"] = "\(now - 1)"
            },
            TokenCase("exp at iat", .expiry) {
                $0.claims["exp"] = "\(now)"
                $0.claims["iat"] = "\(now)"
            },
            TokenCase("exp within the skew", nil) {
                $0.claims["exp"] = "\(now - 30)"
                $0.claims["iat"] = "\(now - 120)"
            },
            TokenCase("exp at the end of the skew", .expiry) {
                $0.claims["exp"] = "\(now - 60)"
                $0.claims["iat"] = "\(now - 120)"
            },
            TokenCase("exp six minutes ago", .expiry) {
                $0.claims["exp"] = "\(now - 360)"
                $0.claims["iat"] = "\(now - 500)"
            },
            .claim("exp", "\(now - 1)", .expiry), .claim("exp", "\(now - 2)", .expiry),
            .claim("exp", "1.8000003e9", nil),
            .claim("exp", nil, .expiry), .claim("exp", "null", .expiry), .claim("exp", "\"\(now + 300)\"", .expiry),
            .claim("exp", "true", .expiry), .claim("exp", "[\(now + 300)]", .expiry), .claim("exp", "-1", .expiry),
            .claim("exp", "1e300", .expiry), .claim("exp", "9223372036854775807", .expiry), .claim("exp", "0", .expiry),
        ] as [TokenCase])
    func expiry(_ row: TokenCase) throws { try verify(row) }

    @Test(
        "A token that was issued recently is accepted",
        arguments: [
            .claim("iat", "\(now)", nil), .claim("iat", "\(now + 60)", nil), .claim("iat", "\(now + 61)", .issuedAt),
            .claim("iat", "\(now - 660)", nil), .claim("iat", "\(now - 661)", .issuedAt),
            .claim("iat", "\(now - 7 * 86400)", .issuedAt), .claim("iat", "\(now + 600)", .issuedAt),
            .claim("iat", "\(now).75", nil), .claim("iat", nil, .issuedAt), .claim("iat", "null", .issuedAt),
            .claim("iat", "\"\(now)\"", .issuedAt), .claim("iat", "-1", .issuedAt), .claim("iat", "1e300", .issuedAt),
            .claim("iat", "-9223372036854775807", .issuedAt), .claim("iat", "1e-300", .issuedAt),
        ] as [TokenCase])
    func issuedAt(_ row: TokenCase) throws { try verify(row) }

    @Test(
        "A token that is not valid yet is refused",
        arguments: [
            .claim("nbf", "\(now)", nil), .claim("nbf", "\(now + 60)", nil), .claim("nbf", "\(now + 61)", .notBefore),
            .claim("nbf", "\(now + 600)", .notBefore), .claim("nbf", "null", .notBefore),
            .claim("nbf", "\"\(now)\"", .notBefore),
        ] as [TokenCase])
    func notBefore(_ row: TokenCase) throws { try verify(row) }

    @Test(
        "The nonce is that of this sign-in",
        arguments: [
            .claim("nonce", "\"nonce-1\"", nil), .claim("nonce", "\"012345678\"", .nonce),
            .claim("nonce", "\"nonce-11\"", .nonce),
            .claim("nonce", "\"Nonce-1\"", .nonce), .claim("nonce", nil, .nonce), .claim("nonce", "\"\"", .nonce),
            .claim("nonce", "null", .nonce), .claim("nonce", "[\"nonce-1\"]", .nonce), .claim("nonce", "1", .nonce),
            .claim("nonce", "\"\"", .nonce, expecting: { $0.nonce = "" }),
            .claim("nonce", "\"any\"", nil, expecting: { $0.nonce = nil }),
            .claim("nonce", nil, nil, expecting: { $0.nonce = nil }),
            .claim("nonce", "\"K\"", .nonce, expecting: { $0.nonce = "\u{212A}" }),
            .claim("nonce", "\"\(hashOfNonce)\"", .nonce),
            .claim("nonce", "\"\(hashOfNonce)\"", nil, expecting: { $0.nativeAudiences = [$0.clientID] }),
            .claim(
                "nonce", "\"\(hashOfNonce.uppercased())\"", .nonce,
                expecting: { $0.nativeAudiences = [$0.clientID] }),
            .claim("nonce", nil, .nonce, expecting: { $0.nativeAudiences = [$0.clientID] }),
        ] as [TokenCase])
    func nonce(_ row: TokenCase) throws { try verify(row) }

    @Test(
        "The authentication context is one of the requested ones",
        arguments: [
            .claim("acr", nil, nil), .claim("acr", "7", nil),
            .claim("acr", "\"a3\"", nil, expecting: { $0.demand.acrValues = ["a3"] }),
            .claim("acr", "\"a3\"", nil, expecting: { $0.demand.acrValues = ["a1", "a3"] }),
            .claim("acr", "\"a1\"", .acr, expecting: { $0.demand.acrValues = ["a3"] }),
            .claim("acr", "\"A3\"", .acr, expecting: { $0.demand.acrValues = ["a3"] }),
            .claim("acr", "\"a1 a3\"", .acr, expecting: { $0.demand.acrValues = ["a3"] }),
            .claim("acr", nil, .acr, expecting: { $0.demand.acrValues = ["a3"] }),
            .claim("acr", "null", .acr, expecting: { $0.demand.acrValues = ["a3"] }),
            .claim("acr", "[\"a3\"]", .acr, expecting: { $0.demand.acrValues = ["a3"] }),
        ] as [TokenCase])
    func acr(_ row: TokenCase) throws { try verify(row) }

    @Test(
        "The user authenticated as recently as requested",
        arguments: [
            .claim("auth_time", nil, nil), .claim("auth_time", "\(now - 86400)", nil),
            .claim("auth_time", "\"\(now)\"", .authTime), .claim("auth_time", "null", .authTime),
            .claim("auth_time", "-5", .authTime),
            .claim("auth_time", "\(now - 360)", nil, expecting: { $0.demand.maximumAge = 300 }),
            .claim("auth_time", "\(now - 361)", .authTime, expecting: { $0.demand.maximumAge = 300 }),
            .claim("auth_time", "\(now + 61)", .authTime, expecting: { $0.demand.maximumAge = 300 }),
            .claim("auth_time", nil, .authTime, expecting: { $0.demand.maximumAge = 300 }),
            .claim("auth_time", "\(now - 61)", .authTime, expecting: { $0.demand.maximumAge = 0 }),
            .claim("auth_time", "\(now)", .authTime, expecting: { $0.demand.maximumAge = .max }),
        ] as [TokenCase])
    func authTime(_ row: TokenCase) throws { try verify(row) }

    @Test(
        "After prompt=login, the user did not authenticate before the request, if the token says when",
        arguments: [
            .claim("auth_time", nil, nil, expecting: since), .claim("auth_time", "\(now)", nil, expecting: since),
            .claim("auth_time", "\(now - 160)", nil, expecting: since),
            .claim("auth_time", "\(now - 161)", .authTime, expecting: since),
            .claim("auth_time", "\(now + 60)", nil, expecting: since),
            .claim("auth_time", "\(now + 61)", .authTime, expecting: since),
            .claim(
                "auth_time", nil, .authTime,
                expecting: {
                    since(&$0)
                    $0.demand.maximumAge = 300
                }),
        ] as [TokenCase])
    func authenticatedAgain(_ row: TokenCase) throws { try verify(row) }

    /// The request was 100 seconds ago, and 60 seconds of clock skew are allowed.
    private static let since: @Sendable (inout IDTokenExpectation) -> Void = {
        $0.demand.since = Timestamp(secondsSinceEpoch: now - 100)
    }

    @Test(
        "An access token's hash, if there is one, matches",
        arguments: [
            .claim("at_hash", nil, nil, expecting: { $0.accessToken = accessToken }),
            .claim("at_hash", "\"\(accessTokenHash)\"", nil, expecting: { $0.accessToken = accessToken }),
            .claim(
                "at_hash", "\"AAAAAAAAAAAAAAAAAAAAAA\"", .accessTokenHash, expecting: { $0.accessToken = accessToken }),
            .claim(
                "at_hash", "\"\(accessTokenHash)==\"", .accessTokenHash, expecting: { $0.accessToken = accessToken }),
            .claim("at_hash", "\"\"", .accessTokenHash, expecting: { $0.accessToken = accessToken }),
            .claim("at_hash", "null", .accessTokenHash, expecting: { $0.accessToken = accessToken }),
            .claim("at_hash", "1", .accessTokenHash),
            .claim("at_hash", "\"any\"", nil),
        ] as [TokenCase])
    func hash(_ row: TokenCase) throws { try verify(row) }

    @Test(
        "The context is the one the user was asked to approve",
        arguments: [
            .claim("context", "\"Pay $5\"", nil),
            .claim("context", "\"Pay $10\"", nil, expecting: { $0.demand.context = "Pay $10" }),
            .claim("context", "\"Pay $10000\"", .context, expecting: { $0.demand.context = "Pay $10" }),
            .claim("context", nil, .context, expecting: { $0.demand.context = "Pay $10" }),
            .claim("context", "[\"Pay $10\"]", .context, expecting: { $0.demand.context = "Pay $10" }),
            .claim("context", "\"e\\u0301\"", .context, expecting: { $0.demand.context = "é" }),
        ] as [TokenCase])
    func context(_ row: TokenCase) throws { try verify(row) }

    @Test(
        "Claims are one strict JSON object, and unknown members are ignored",
        arguments: [
            .claim("admin", "true", nil), .claim("roles", "[\"root\"]", nil),
            .claim("_claim_sources", "{\"src1\":{\"endpoint\":\"https://canary.example/\"}}", nil),
            TokenCase("sub twice", .claims) { $0.claims.add("sub", "\"victim\"") },
            TokenCase("nonce twice", .claims) { $0.claims.add("nonce", "\"nonce-1\"") },
            TokenCase("an array", .claims) { $0.payload = "[\($0.claims.text)]" },
            TokenCase("null", .claims) { $0.payload = "null" },
            TokenCase("no JSON", .claims) { $0.payload = "iss=x" },
            TokenCase("bytes behind", .claims) { $0.payload = $0.claims.text + "}" },
            TokenCase("a byte order mark", .claims) { $0.payload = "\u{FEFF}" + $0.claims.text },
            .claim("deep", String(repeating: "[", count: 40) + String(repeating: "]", count: 40), .claims),
        ] as [TokenCase])
    func claims(_ row: TokenCase) throws { try verify(row) }

    @Test("Claims in the header are ignored")
    func headerClaims() throws {
        var draft = TokenDraft()
        draft.header["sub"] = "\"victim\""
        draft.header["iss"] = "\"https://example.org/\""
        let rules = IDTokenRules()
        let token = try SignedToken(
            Secret(draft.text), maximumBytes: rules.maximumBytes, signedWith: SigningAlgorithm.standard)
        let keys = try #require(JSONWebKeySet(parsing: Array(TestKey.keySet(.rsa1).utf8)))
        let verified = try IDTokenValidator(issuer: TokenDraft.issuer).validate(
            token, keys: keys, expecting: expectation(), now: Timestamp(secondsSinceEpoch: TokenDraft.now))
        #expect(verified.subject == "310999-subject")
        #expect(verified.issuer == TokenDraft.issuer)
    }

    @Test("A verified token has the signed claims, and does not print the subject")
    func verified() throws {
        var draft = TokenDraft(key: .ec1)
        draft.claims["context"] = "\"Pay $10\""
        draft.claims["aka"] = "[\"a.b.c\",7]"
        let token = try SignedToken(Secret(draft.text), maximumBytes: 16384, signedWith: [.es256])
        let keys = try #require(JSONWebKeySet(parsing: Array(TestKey.keySet(.ec1).utf8)))
        let verified = try IDTokenValidator(issuer: TokenDraft.issuer).validate(
            token, keys: keys, expecting: expectation(), now: Timestamp(secondsSinceEpoch: now))
        #expect(verified.acr == "a3")
        #expect(verified.context == "Pay $10")
        #expect(verified.issuedAt.secondsSinceEpoch == now - 1)
        #expect(verified.expiresAt.secondsSinceEpoch == now + 300)
        #expect(verified.authTime?.secondsSinceEpoch == now - 10)
        #expect(verified.clientID.text == "client-1")
        #expect(verified.portTokens == [Secret("a.b.c")])
        #expect(!"\(verified) \(String(reflecting: verified)) \([verified])".contains("310999-subject"))
    }

    @Test("An error names the check, but no value")
    func errorText() {
        for check in IDTokenCheck.allCases {
            let error = OIDCError.failed(check)
            #expect(error.description.contains(check.rawValue))
            #expect(error.reason == check.demand)
            #expect(error.reason.hasSuffix("."))
        }
        #expect(Set(IDTokenCheck.allCases.map(\.demand)).count == IDTokenCheck.allCases.count)
    }
}
