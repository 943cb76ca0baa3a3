import OpenIDConnect
import Primitives
import TestSupport
import Testing

/// The ID token of a refresh, beside that of the sign-in (OpenID Connect Core section 12.2).
@Suite("The ID token of a refresh")
struct RefreshedIDTokenTests {
    private static let now = TokenDraft.now
    private static let accessToken = Secret("ACCESS-token-of-the-refresh")

    /// A change to the ID token of a refresh, and the check that it must fail; nil if it must pass.
    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let check: IDTokenCheck?
        /// The claims, as JSON text; nil removes one.
        let claims: [String: String?]
        /// The ID token of the sign-in: with `azp`, without further claims, or with those of the draft.
        var sign = Origin.usual
        var issuer = TokenDraft.issuer

        enum Origin: Sendable { case usual, withAuthorizedParty, withoutClaims, unknownClaims }

        init(
            _ name: String, _ check: IDTokenCheck?, _ claims: [String: String?] = [:], after sign: Origin = .usual,
            issuer: String = TokenDraft.issuer
        ) {
            testDescription = "\(name): \(check?.rawValue ?? "accepted")"
            self.check = check
            self.claims = claims
            self.sign = sign
            self.issuer = issuer
        }
    }

    static let rows = [
        Row("the same claims", nil),
        Row("without nonce and auth_time", nil, ["nonce": nil, "auth_time": nil]),
        Row("iss: another", .issuer, ["iss": "\"https://example.org\""]),
        Row("iss: of the metadata, and not of the sign-in", .issuer, issuer: "https://former.example"),
        Row("sub: another", .sameUser, ["sub": "\"310999-another\""]),
        Row("sub: in capitals", .sameUser, ["sub": "\"310999-SUBJECT\""]),
        Row("sub: none", .subject, ["sub": nil]),
        Row("aud: another", .audience, ["aud": "\"client-2\""]),
        Row("aud: one more", .audience, ["aud": "[\"client-1\",\"client-2\"]"]),
        Row("azp: another", .authorizedParty, ["azp": "\"client-2\""]),
        Row("azp: the same", nil, ["azp": "\"client-1\""], after: .withAuthorizedParty),
        Row("azp: none any more", .authorizedParty, after: .withAuthorizedParty),
        Row("azp: none before", .authorizedParty, ["azp": "\"client-1\""]),
        Row("azp: not known before", nil, ["azp": "\"client-1\""], after: .unknownClaims),
        Row("nonce: another", .nonce, ["nonce": "\"nonce-2\""]),
        Row("nonce: empty", .nonce, ["nonce": "\"\""]),
        Row("nonce: null", .nonce, ["nonce": "null"]),
        Row("nonce: none before", .nonce, after: .withoutClaims),
        Row("nonce: not known before", nil, ["nonce": "\"nonce-2\""], after: .unknownClaims),
        Row("auth_time: of the refresh", .authTime, ["auth_time": "\(now)"]),
        Row("auth_time: a second earlier", .authTime, ["auth_time": "\(now - 11)"]),
        Row("auth_time: no number", .authTime, ["auth_time": "\"\(now - 10)\""]),
        Row("auth_time: none before", nil, ["nonce": nil], after: .withoutClaims),
        Row("auth_time: not known before", nil, ["auth_time": "\(now - 11)"], after: .unknownClaims),
        Row("exp: over", .expiry, ["exp": "\(now - 60)", "iat": "\(now - 120)"]),
        Row("iat: of the sign-in, too long ago", .issuedAt, ["iat": "\(now - 661)"]),
        Row("nbf: in the future", .notBefore, ["nbf": "\(now + 61)"]),
        Row("at_hash: of another access token", .accessTokenHash, ["at_hash": "\"77QmUPtjPfzWtF2AnpK9RQ\""]),
        Row("events: of a logout token", .idTokenClaims, ["events": "{}"]),
    ]

    private static func original(_ row: Row) -> OriginalIDToken {
        let authTime = Timestamp(secondsSinceEpoch: now - 10)
        let claims: OriginalIDToken.Claims? =
            switch row.sign {
            case .usual: .init(authTime: authTime, nonce: "nonce-1", authorizedParty: nil)
            case .withAuthorizedParty: .init(authTime: authTime, nonce: "nonce-1", authorizedParty: "client-1")
            case .withoutClaims: .init(authTime: nil, nonce: nil, authorizedParty: nil)
            case .unknownClaims: nil
            }
        return OriginalIDToken(issuer: row.issuer, subject: "310999-subject", claims: claims)
    }

    private static func failedCheck(_ text: String, _ row: Row) throws -> IDTokenCheck? {
        var expectation = IDTokenExpectation(
            clientID: try #require(ClientID("client-1")), accessToken: accessToken)
        expectation.original = original(row)
        let keys = try #require(JSONWebKeySet(parsing: Array(TestKey.keySet(.rsa1).utf8)))
        do throws(OIDCError) {
            let token = try SignedToken(Secret(text), maximumBytes: 16_384, signedWith: [.rs256])
            let verified = try IDTokenValidator(issuer: TokenDraft.issuer).validate(
                token, keys: keys, expecting: expectation, now: Timestamp(secondsSinceEpoch: now))
            #expect(verified.subject == "310999-subject")
            return nil
        } catch {
            return error.check
        }
    }

    @Test("is about the authentication of the sign-in", arguments: rows)
    func rule(row: Row) throws {
        var draft = TokenDraft()
        for (name, json) in row.claims { draft.claims[name] = json }
        #expect(try Self.failedCheck(draft.text, row) == row.check)
    }

    @Test("is signed with a key of the provider")
    func signature() throws {
        var draft = TokenDraft(key: .rsa2)
        draft.header["kid"] = "\"\(TestKey.rsa1.keyID)\""
        #expect(try Self.failedCheck(draft.text, Self.rows[0]) == .signature)
        #expect(try Self.failedCheck(TokenDraft(key: .rsa2).text, Self.rows[0]) == .key)
    }

    @Test("has the further claims of the sign-in's token, which are kept")
    func kept() throws {
        var draft = TokenDraft()
        draft.claims["azp"] = "\"client-1\""
        let keys = try #require(JSONWebKeySet(parsing: Array(TestKey.keySet(.rsa1).utf8)))
        let verified = try IDTokenValidator(issuer: TokenDraft.issuer).validate(
            try SignedToken(Secret(draft.text), maximumBytes: 16_384, signedWith: [.rs256]), keys: keys,
            expecting: try expectation(), now: Timestamp(secondsSinceEpoch: Self.now))
        #expect(
            verified.claimsForRefresh
                == OriginalIDToken.Claims(
                    authTime: Timestamp(secondsSinceEpoch: Self.now - 10), nonce: "nonce-1", authorizedParty: "client-1"
                ))
        #expect("\(verified.claimsForRefresh)" == "‹redacted›", "a nonce is not shown")
    }
}
