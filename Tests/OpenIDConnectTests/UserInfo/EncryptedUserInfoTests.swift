import Crypto
import OpenIDConnect
import Primitives
import TestSupport
import Testing

/// Userinfo responses that are encrypted for the client (OpenID Connect Core section 5.3.2).
struct EncryptedUserInfoTests {
    /// A response: plain claims, encrypted as the client is registered, until a row changes it.
    struct Row: Sendable, CustomTestStringConvertible {
        let name: String
        /// Whether encryption is registered.
        var isRegistered = true
        /// What a response must be signed with, as the client is registered.
        var algorithm: SigningAlgorithm?
        /// A part of the error's reason; nil if the response is accepted.
        var refusal: String?
        var contentType: String? = "application/jwt"
        var body: @Sendable () throws -> String = { try Row.encrypted(Row.claims) }
        var testDescription: String { name }

        static let claims = #"{"sub":"310999-subject","email":"jane@example.com"}"#

        static func encrypted(
            _ content: String, _ encryption: ContentEncryption = .a128GCM,
            _ change: (inout EncryptedTokenDraft) -> Void = { _ in }
        ) throws -> String {
            var draft = try EncryptedTokenDraft.ec(encryption)
            draft.content = Array(content.utf8)
            change(&draft)
            return try draft.text
        }

        /// A signed response.
        static func signed(_ key: TestKey = .rsa1, _ change: (inout TokenDraft) -> Void = { _ in }) -> String {
            var draft = TokenDraft(key: key)
            draft.claims = [
                ("iss", "\"\(TokenDraft.issuer)\""), ("aud", "\"client-1\""), ("sub", "\"310999-subject\""),
                ("email", "\"jane@example.com\""),
            ]
            change(&draft)
            return draft.text
        }
    }

    private static let accepted = [
        Row(name: "plain claims"), Row(name: "a signed response") { try Row.encrypted(Row.signed()) },
        Row(name: "a signed response with its cty") {
            try Row.encrypted(Row.signed()) { $0.header.add("cty", "\"JWT\"") }
        },
        Row(name: "a response signed as registered", algorithm: .es256) { try Row.encrypted(Row.signed(.ec1)) },
        Row(name: "claims after a space") { try Row.encrypted(" \n" + Row.claims) },
        Row(name: "the kid of the key") { try Row.encrypted(Row.claims) { $0.header.add("kid", "\"ec\"") } },
        Row(name: "claims with iss, aud and exp") {
            let dated = #""iss":"\#(TokenDraft.issuer)","aud":["client-1"],"exp":\#(TokenDraft.now + 1)"#
            return try Row.encrypted("{\(dated),\(Row.claims.dropFirst())")
        },
        Row(name: "not registered: plain JSON", isRegistered: false, contentType: "application/json") { Row.claims },
    ]

    private static let encryption = "must be encrypted for the client's decryption_key with ECDH-ES and A128GCM"

    private static let refused = [
        Row(
            name: "plain JSON", refusal: "not encrypted, but the client is registered",
            contentType: "application/json"
        ) { Row.claims },
        Row(name: "plain JSON as a JWT", refusal: encryption) { Row.claims },
        Row(name: "signed only", refusal: encryption) { Row.signed() },
        Row(name: "another enc", refusal: encryption) { try Row.encrypted(Row.claims, .a256GCM) },
        Row(name: "another alg", refusal: encryption) {
            var draft = try EncryptedTokenDraft.rsa(.a128GCM)
            draft.content = Array(Row.claims.utf8)
            return try draft.text
        },
        Row(name: "another key of the content", refusal: encryption) {
            try Row.encrypted(Row.claims) { $0.key = .init(size: .bits128) }
        },
        Row(name: "a changed tag", refusal: encryption) {
            try Row.encrypted(Row.claims) { $0.change = { $0[4] = String(repeating: "A", count: 22) } }
        },
        Row(name: "compressed", refusal: encryption) {
            try Row.encrypted(Row.claims) { $0.header.add("zip", "\"DEF\"") }
        },
        Row(name: "content that is no text", refusal: encryption) {
            try Row.encrypted("") { $0.content = [0xFF, 0xFE] }
        },
        Row(name: "encrypted as JSON", refusal: "JSON object", contentType: "application/json"),
        Row(name: "not registered", isRegistered: false, refusal: "is a JWT that is encrypted"),
        Row(name: "not registered, signed inside", isRegistered: false, refusal: "is a JWT that is encrypted") {
            try Row.encrypted(Row.signed())
        },
        Row(name: "claims, but a signature is registered", algorithm: .es256, refusal: "compact form"),
        Row(name: "signed with another algorithm", algorithm: .es256, refusal: "signed with ES256,") {
            try Row.encrypted(Row.signed())
        },
        Row(name: "an algorithm that is not usual", refusal: "signed with ES256 or RS256") {
            try Row.encrypted(Row.signed { $0.header["alg"] = "\"HS256\"" })
        },
        Row(name: "not signed inside", refusal: "compact form") {
            try Row.encrypted(
                Row.signed {
                    $0.header = [("alg", "\"none\"")]
                    $0.sign = { _ in [] }
                })
        },
        Row(name: "a bad signature", refusal: "does not verify") { try Row.encrypted(Row.signed(.rsa2)) },
        Row(name: "encrypted twice", refusal: "is a JWT that is encrypted") {
            try Row.encrypted(Row.encrypted(Row.claims))
        },
        Row(name: "another subject", refusal: "same sub") { try Row.encrypted(#"{"sub":"other"}"#) },
        Row(name: "another subject, signed", refusal: "same sub") {
            try Row.encrypted(Row.signed { $0.claims["sub"] = "\"other\"" })
        },
        Row(name: "claims of another issuer", refusal: "iss") {
            try Row.encrypted(#"{"iss":"https://other.example",\#(Row.claims.dropFirst())"#)
        },
        Row(name: "claims for another client", refusal: "aud") {
            try Row.encrypted(#"{"aud":"client-2",\#(Row.claims.dropFirst())"#)
        },
        Row(name: "claims that are over", refusal: "expired") {
            try Row.encrypted(#"{"exp":\#(TokenDraft.now - 61),\#(Row.claims.dropFirst())"#)
        },
        Row(name: "claims with a name twice", refusal: "duplicate names") {
            try Row.encrypted(#"{"sub":"other",\#(Row.claims.dropFirst())"#)
        },
        Row(name: "no claims", refusal: "duplicate names") { try Row.encrypted("{") },
        Row(name: "an array", refusal: "compact form") { try Row.encrypted("[]") },
        Row(name: "too large", refusal: encryption) {
            try Row.encrypted(#"{"x":"\#(String(repeating: "x", count: 70_000))",\#(Row.claims.dropFirst())"#)
        },
    ]

    @Test("An encrypted response is believed after all checks, and refused if one fails", arguments: accepted + refused)
    func rows(_ row: Row) async throws {
        let decryption = ResponseDecryption(key: try EncryptedTokenDraft.ecKey(), encryption: .a128GCM)
        let response = OutboundResponse(status: 200, contentType: row.contentType, body: Array(try row.body().utf8))
        let (info, accept) = try await Self.userInfo(response, row.isRegistered ? decryption : nil, row.algorithm)
        switch info {
        case .success(let info):
            #expect(row.refusal == nil, "accepted")
            #expect(info.attributes[.email] == "jane@example.com")
        case .failure(let error):
            #expect(error.code == .unusableResponse || error.check == .userInfoSubject)
            #expect(error.codeMayBeSpent)
            #expect(row.refusal.map(error.reason.contains) == true, "\(error)")
            #expect(!error.reason.contains("jane"))
        }
        #expect(accept == (row.isRegistered || row.algorithm != nil ? "application/jwt" : "application/json"))
    }

    @Test("Around a replacement of the key, either key opens a response")
    func rotation() async throws {
        let (own, other) = (try EncryptedTokenDraft.ecKey(), try EncryptedTokenDraft.otherKey())
        let response = OutboundResponse(
            status: 200, contentType: "application/jwt", body: Array(try Row.encrypted(Row.claims).utf8))
        for (key, second, isOpened) in [(own, other, true), (other, own, true), (other, nil, false)] {
            let decryption = ResponseDecryption(key: key, otherKey: second, encryption: .a128GCM)
            let (info, _) = try await Self.userInfo(response, decryption, nil)
            #expect((try? info.get())?.attributes[.email] == (isOpened ? "jane@example.com" : nil))
        }
    }

    @Test("A refusal of the endpoint is reported as such")
    func status() async throws {
        let decryption = ResponseDecryption(key: try EncryptedTokenDraft.ecKey(), encryption: .a128GCM)
        let body = Array(try Row.encrypted(Row.claims).utf8)
        let response = OutboundResponse(status: 403, contentType: "application/jwt", body: body)
        let (info, _) = try await Self.userInfo(response, decryption, nil)
        guard case .failure(let error) = info else {
            Issue.record("accepted")
            return
        }
        #expect(error.reason.contains("status 200"), "\(error)")
    }

    /// What a relying party makes of a response, and the media type that it asked for.
    private static func userInfo(
        _ response: OutboundResponse, _ decryption: ResponseDecryption?, _ algorithm: SigningAlgorithm?
    ) async throws -> (Result<UserInfo, OIDCError>, accept: String?) {
        let carrier = FakeCarrier {
            $0.keys = .json(TestKey.keySet(.rsa1, .ec1))
            $0.userInfo = response
        }
        let relyingParty = try carrier.relyingParty()
        let subjects = try SignInSubjects()
        let provider = try await relyingParty.provider(subjects)
        let verified = try await relyingParty.validate(
            idToken: Secret(TokenDraft().text), expecting: expectation(), provider: provider)
        let client = ClientCredentials(
            clientID: subjects.clientID, authentication: .clientSecretBasic(Secret("s")),
            userInfoDecryption: decryption)
        let info: Result<UserInfo, OIDCError>
        do throws(OIDCError) {
            info = .success(
                try await relyingParty.userInfo(
                    accessToken: Secret("access-1"), about: verified, signedWith: algorithm, client: client,
                    provider: provider, correlationID: subjects.correlationID))
        } catch {
            info = .failure(error)
        }
        let request = try #require(carrier.http.requests(to: FakeCarrier.userInfoURL).first)
        return (info, request.headers.first { $0.name == "Accept" }?.value)
    }
}
