import OpenIDConnect
import Primitives
import TestSupport
import Testing

/// The `typ` of ID tokens, and what tells an ID token of the type `at+jwt` from an access token.
@Suite("The type of an ID token")
struct IDTokenTypeTests {
    struct Row: Sendable, CustomTestStringConvertible {
        /// The value of `typ` as JSON; nil for none.
        let type: String?
        let accepted: [IDTokenType]
        let isAccepted: Bool
        var testDescription: String { "\(type ?? "absent") of \(accepted.map(\.rawValue))" }

        init(_ type: String?, _ accepted: [IDTokenType], _ isAccepted: Bool) {
            self.type = type
            self.accepted = accepted
            self.isAccepted = isAccepted
        }
    }

    static let rows: [Row] = [
        Row("\"JWT\"", IDTokenType.standard, true), Row(nil, IDTokenType.standard, true),
        Row("\"at+jwt\"", IDTokenType.standard, false),
        Row("\"JWT\"", IDTokenType.zenKeyCarriers, true), Row(nil, IDTokenType.zenKeyCarriers, true),
        Row("\"at+jwt\"", IDTokenType.zenKeyCarriers, true), Row("\"AT+JWT\"", IDTokenType.zenKeyCarriers, true),
        Row("\"application/at+jwt\"", IDTokenType.zenKeyCarriers, false),
        Row("\"logout+jwt\"", IDTokenType.zenKeyCarriers, false),
        Row("\"port_token+jwt\"", IDTokenType.zenKeyCarriers, false),
        Row("null", IDTokenType.zenKeyCarriers, false), Row("[\"JWT\"]", IDTokenType.zenKeyCarriers, false),
        Row("\"\"", IDTokenType.zenKeyCarriers, false), Row("\"absent\"", IDTokenType.zenKeyCarriers, false),
        Row("\"JWT\"", [.accessToken], false), Row(nil, [.accessToken], false), Row("\"at+jwt\"", [.accessToken], true),
        Row("\"JWT\"", [.jwt], true), Row(nil, [.jwt], false), Row(nil, [.absent], true),
        Row("\"JWT\"", [.absent], false), Row("\"JWT\"", [], false), Row(nil, [], false),
    ]

    @Test("is one of those that the configuration lists", arguments: rows)
    func types(_ row: Row) throws {
        var draft = TokenDraft()
        draft.header["typ"] = row.type
        let failed = try failedCheck(draft.text, keySet: TestKey.keySet(.rsa1), types: row.accepted)
        #expect(failed == (row.isAccepted ? nil : .type))
    }

    @Test("may be in the member that the iOS guide shows, which is not the type of RFC 7515")
    func typeOfTheGuide() throws {
        var draft = TokenDraft()
        draft.header["typ"] = nil
        draft.header["type"] = "\"at+jwt\""
        #expect(try failedCheck(draft.text, keySet: TestKey.keySet(.rsa1)) == nil)
    }

    struct Claims: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let check: IDTokenCheck?
        /// Claims that differ from those of an ID token, as JSON; nil for absent.
        let claims: [String: String?]
        var nonce: String? = "nonce-1"
        var acrValues: [String] = []

        init(
            _ what: String, _ check: IDTokenCheck? = nil, _ claims: [String: String?] = [:], nonce: String? = "nonce-1",
            acrValues: [String] = []
        ) {
            testDescription = what
            self.check = check
            self.claims = claims
            self.nonce = nonce
            self.acrValues = acrValues
        }
    }

    private static let accessToken: [String: String?] = [
        "nonce": nil, "acr": nil, "auth_time": nil, "client_id": "\"client-1\"", "scope": "\"openid\"",
        "jti": "\"t-1\"",
    ]

    static let idTokens: [Claims] = [
        Claims("an ID token"),
        Claims("an ID token of a sign-in without a nonce", nil, ["nonce": nil], nonce: nil),
        Claims("an ID token with the nonce alone", nil, ["acr": nil, "auth_time": nil]),
        Claims("an ID token with azp and jti", nil, ["azp": "\"client-1\"", "jti": "\"t-1\""]),
        Claims("an ID token with the requested acr", nil, acrValues: ["a3"]),
        Claims("an ID token of another sign-in", .nonce, ["nonce": "\"nonce-2\""]),
        Claims("an ID token of another client", .audience, ["aud": "\"client-2\""]),
        Claims("an ID token for another party", .authorizedParty, ["azp": "\"client-2\""]),
        Claims("an ID token with another acr", .acr, ["acr": "\"a1\""], acrValues: ["a3"]),
    ]

    static let accessTokens: [Claims] = [
        Claims("of RFC 9068 for an API", .audience, accessToken.merging(["aud": "\"https://api.example\""]) { $1 }),
        Claims("of RFC 9068 for our client", .idTokenClaims, accessToken),
        Claims("of RFC 9068 for our client, no nonce sent", .idTokenClaims, accessToken, nonce: nil),
        Claims(
            "of RFC 9068 with acr and auth_time, no nonce sent", .idTokenClaims,
            ["nonce": nil, "client_id": "\"client-1\""], nonce: nil),
        Claims("with a nonce and a scope", .idTokenClaims, ["scope": "\"openid\""]),
        Claims("with a nonce and a client_id", .idTokenClaims, ["client_id": "\"client-1\""]),
        Claims("with a nonce that was not requested", .idTokenClaims, ["acr": nil, "auth_time": nil], nonce: nil),
        Claims("without claims of either, no nonce sent", .idTokenClaims, ["nonce": nil, "acr": nil], nonce: nil),
        Claims("without auth_time, no nonce sent", .idTokenClaims, ["nonce": nil, "auth_time": nil], nonce: nil),
        Claims("with an empty acr, no nonce sent", .idTokenClaims, ["nonce": nil, "acr": "\"\""], nonce: nil),
        Claims("with acr and auth_time, and without the nonce that was sent", .nonce, ["nonce": nil]),
        Claims("with scope null", .idTokenClaims, ["scope": "null"]),
        Claims("with events, as a logout token", .idTokenClaims, ["events": "{}"]),
    ]

    private func failed(_ row: Claims, type: String?) throws -> IDTokenCheck? {
        var draft = TokenDraft()
        draft.header["typ"] = type
        for (name, json) in row.claims { draft.claims[name] = json }
        return try failedCheck(draft.text, keySet: TestKey.keySet(.rsa1), types: IDTokenType.zenKeyCarriers) {
            $0.nonce = row.nonce
            $0.demand.acrValues = row.acrValues
        }
    }

    @Test("at+jwt passes with the claims of an ID token, and all other checks apply", arguments: idTokens)
    func idToken(_ row: Claims) throws {
        #expect(try failed(row, type: "\"at+jwt\"") == row.check)
    }

    @Test("at+jwt does not pass with the claims of an access token", arguments: accessTokens)
    func accessToken(_ row: Claims) throws {
        #expect(try failed(row, type: "\"at+jwt\"") == row.check)
        #expect(try failed(row, type: "\"AT+jwt\"") == row.check)
    }

    @Test("JWT tells an ID token by itself, so that its claims need not", arguments: [nil, "\"JWT\""])
    func plain(type: String?) throws {
        let unsolicited: [String: String?] = ["acr": nil, "auth_time": nil, "nonce": nil, "scope": "\"openid\""]
        #expect(try failed(Claims("", nil, unsolicited, nonce: nil), type: type) == nil)
    }

    @Test("is explained with the accepted types, and with the claims that decide")
    func explained() throws {
        func found(_ check: IDTokenCheck, _ types: [IDTokenType], _ change: (inout TokenDraft) -> Void) throws -> String
        {
            var draft = TokenDraft()
            change(&draft)
            var rules = IDTokenRules()
            rules.types = types
            let explanation = IDTokenValidator(rules: rules, issuer: TokenDraft.issuer).explain(
                TokenExamination(Secret(draft.text), rules, keys: .failure(.failed(.key))),
                signedWith: Set(SigningAlgorithm.allCases), expecting: try expectation(),
                now: Timestamp(secondsSinceEpoch: TokenDraft.now))
            return try #require(explanation.steps.first { $0.check == check }?.found)
        }
        let typed: (inout TokenDraft) -> Void = { $0.header["typ"] = "\"at+jwt\"" }
        #expect(
            try found(.type, IDTokenType.zenKeyCarriers, typed) == "typ is «at+jwt»; accepted: JWT, absent, at+jwt")
        #expect(try found(.type, IDTokenType.standard, typed) == "typ is «at+jwt»; accepted: JWT, absent")
        let claims = try found(.idTokenClaims, IDTokenType.zenKeyCarriers) {
            typed(&$0)
            $0.claims["scope"] = "\"openid\""
        }
        #expect(
            claims.hasSuffix("of nonce, acr, auth_time, client_id, scope the token has nonce, acr, auth_time, scope"))
        #expect(try found(.idTokenClaims, IDTokenType.standard) { _ in } == "typ is not that of access tokens")
    }

    @Test("at+jwt is accepted of carriers by default, and not of other providers")
    func defaults() throws {
        let url = try #require(EndpointURL("https://login.example", policy: .httpsOnly))
        #expect(RelyingParty.Configuration(discoveryURL: url).idTokenRules.types == [.jwt, .absent, .accessToken])
        #expect(RelyingParty.Configuration(issuer: url).idTokenRules.types == [.jwt, .absent])
    }

    @Test("at+jwt of a carrier signs in")
    func relyingParty() async throws {
        let carrier = FakeCarrier()
        let party = try carrier.relyingParty()
        let provider = try await party.provider(SignInSubjects())
        var draft = TokenDraft()
        draft.header["typ"] = "\"at+jwt\""
        let user = try await party.validate(idToken: Secret(draft.text), expecting: expectation(), provider: provider)
        #expect(user.subject == "310999-subject")
    }
}
