import OpenIDConnect
import Primitives
import TestSupport
import Testing

/// Userinfo responses that are JWTs (OpenID Connect Core section 5.3.2).
struct SignedUserInfoTests {
    /// A response: a signed JWT until a row changes it.
    struct Row: Sendable, CustomTestStringConvertible {
        let name: String
        var key = TestKey.rsa1
        var registered: SigningAlgorithm?
        var usual = SigningAlgorithm.standard
        /// A part of the error's reason; nil if the response is accepted.
        let refusal: String?
        var change: @Sendable (inout TokenDraft) -> Void = { _ in }
        /// In place of the JWT.
        var plain: OutboundResponse?
        var testDescription: String { name }

        var response: OutboundResponse {
            if let plain { return plain }
            var draft = TokenDraft(key: key)
            draft.claims = [
                ("iss", "\"\(TokenDraft.issuer)\""), ("aud", "\"client-1\""), ("sub", "\"310999-subject\""),
                ("email", "\"jane@example.com\""),
            ]
            change(&draft)
            return OutboundResponse(status: 200, contentType: "application/jwt", body: Array(draft.text.utf8))
        }
    }

    private static let json = OutboundResponse.json(
        #"{"sub":"310999-subject","email":"jane@example.com"}"#)

    private static let accepted = [
        Row(name: "RS256", refusal: nil), Row(name: "ES256", key: .ec1, refusal: nil),
        Row(name: "neither iss nor aud", refusal: nil) {
            $0.claims["iss"] = nil
            $0.claims["aud"] = nil
        },
        Row(name: "one of several audiences", refusal: nil) { $0.claims["aud"] = #"["other","client-1"]"# },
        Row(name: "no typ", refusal: nil) { $0.header["typ"] = nil },
        Row(name: "a line end behind it", refusal: nil) { $0.finish = { $0 + "\r\n" } },
        Row(name: "an exp to come", refusal: nil) { $0.claims["exp"] = "\(TokenDraft.now + 1)" },
        Row(name: "plain JSON", refusal: nil, plain: json),
        Row(name: "the registered algorithm", key: .ec1, registered: .es256, refusal: nil),
        Row(name: "one of the client's usual algorithms", key: .ec1, usual: [.ps256, .es256], refusal: nil),
    ]

    private static let refused = [
        Row(name: "another subject", refusal: "same sub") { $0.claims["sub"] = "\"other\"" },
        Row(name: "no subject", refusal: "same sub") { $0.claims["sub"] = nil },
        Row(name: "another issuer", refusal: "iss") { $0.claims["iss"] = "\"https://other.example\"" },
        Row(name: "another audience", refusal: "aud") { $0.claims["aud"] = "\"client-2\"" },
        Row(name: "an empty audience", refusal: "aud") { $0.claims["aud"] = "[]" },
        Row(name: "over", refusal: "expired") { $0.claims["exp"] = "\(TokenDraft.now - 61)" },
        Row(name: "not valid yet", refusal: "not valid yet") { $0.claims["nbf"] = "\(TokenDraft.now + 61)" },
        Row(name: "a bad signature", refusal: "does not verify") {
            $0.sign = { _ in [UInt8](repeating: 7, count: 256) }
        },
        Row(name: "an unpublished key", key: .rsa2, refusal: "does not verify"),
        Row(name: "unsigned", refusal: "compact form") {
            $0.header = [("alg", "\"none\"")]
            $0.sign = { _ in [] }
        },
        Row(name: "HS256", refusal: "signed with ES256 or RS256") { $0.header["alg"] = "\"HS256\"" },
        Row(name: "a logout token", refusal: "compact form") { $0.header["typ"] = "\"logout+jwt\"" },
        Row(name: "encrypted", refusal: "encrypted") { $0.finish = { $0 + ".AAAA.AAAA" } },
        Row(name: "not an object", refusal: "JSON object") { $0.payload = "[]" },
        Row(
            name: "none of the client's usual algorithms", usual: [.ps256, .es256],
            refusal: "signed with ES256 or PS256"),
        Row(name: "another algorithm than the registered", registered: .es256, refusal: "signed with ES256,"),
        Row(name: "plain JSON for a registered algorithm", registered: .rs256, refusal: "is not signed", plain: json),
    ]

    @Test("A signed response is believed after all checks, and refused if one fails", arguments: accepted + refused)
    func rows(_ row: Row) async throws {
        let carrier = FakeCarrier {
            $0.keys = .json(TestKey.keySet(.rsa1, .ec1))
            $0.userInfo = row.response
        }
        let relyingParty = try carrier.relyingParty()
        let subjects = try SignInSubjects()
        let provider = try await relyingParty.provider(subjects)
        let verified = try await relyingParty.validate(
            idToken: Secret(TokenDraft().text), expecting: expectation(), provider: provider)
        do throws(OIDCError) {
            let info = try await relyingParty.userInfo(
                accessToken: Secret("access-1"), about: verified, signedWith: row.registered, orAnyOf: row.usual,
                provider: provider, correlationID: subjects.correlationID)
            #expect(row.refusal == nil)
            #expect(info.attributes[.email] == "jane@example.com")
        } catch {
            #expect(error.codeMayBeSpent)
            #expect(row.refusal.map(error.reason.contains) == true, "\(error)")
        }
        let request = try #require(carrier.http.requests(to: FakeCarrier.userInfoURL).first)
        let accept = request.headers.first { $0.name == "Accept" }?.value
        #expect(accept == (row.registered == nil ? "application/json" : "application/jwt"))
    }

    @Test("Keys that were rotated since the ID token verify a response, too")
    func rotation() async throws {
        let row = Row(name: "", key: .rsa2, refusal: nil)
        let carrier = FakeCarrier { $0.userInfo = row.response }
        let relyingParty = try carrier.relyingParty()
        let subjects = try SignInSubjects()
        let provider = try await relyingParty.provider(subjects)
        let verified = try await relyingParty.validate(
            idToken: Secret(TokenDraft().text), expecting: expectation(), provider: provider)
        carrier.change { $0.keys = .json(TestKey.keySet(.rsa2)) }
        let info = try await relyingParty.userInfo(
            accessToken: Secret("access-1"), about: verified, provider: provider, correlationID: subjects.correlationID)
        #expect(info.attributes[.email] == "jane@example.com")
    }
}
