import OpenIDConnect
import Primitives
import TestSupport
import Testing

/// A logout token is signed with the algorithm of the client that it is for (`id_token_signed_response_alg`).
struct LogoutTokenAlgorithmTests {
    private static func token(_ key: TestKey, for client: String) -> String {
        var draft = TokenDraft(key: key)
        draft.claims = [
            ("iss", "\"\(TokenDraft.issuer)\""), ("aud", "\"\(client)\""), ("iat", "\(TokenDraft.now)"),
            ("jti", "\"id-1\""), ("sub", "\"subject\""),
            ("events", #"{"http://schemas.openid.net/event/backchannel-logout":{}}"#),
        ]
        return draft.text
    }

    struct Row: Sendable, CustomTestStringConvertible {
        let name: String
        let key: TestKey
        let client: String
        var listed: String? = #"["RS256","ES256"]"#
        let check: LogoutTokenCheck?
        var testDescription: String { name }
    }

    @Test(
        "The algorithm must be the client's, and listed in the metadata",
        arguments: [
            Row(name: "RS256 for a client of RS256", key: .rsa1, client: "rs256", check: nil),
            Row(name: "ES256 for a client of RS256", key: .ec1, client: "rs256", check: .algorithm),
            Row(name: "ES256 for a client of ES256", key: .ec1, client: "es256", check: nil),
            Row(name: "RS256 for a client of ES256", key: .rsa1, client: "es256", check: .algorithm),
            Row(name: "RS256 for a client of both", key: .rsa1, client: "both", check: nil),
            Row(name: "ES256 for a client of both, which means RS256", key: .ec1, client: "both", check: .algorithm),
            Row(
                name: "ES256 for a client of both, without a list", key: .ec1, client: "both", listed: nil,
                check: .algorithm),
            Row(
                name: "ES256 for a client of both, where RS256 is not listed", key: .ec1, client: "both",
                listed: #"["ES256"]"#, check: nil),
            Row(name: "ES256 for a client whose profile has no RS256", key: .ec1, client: "profile", check: nil),
            Row(
                name: "RS256 for a client whose profile has none", key: .rsa1, client: "profile", check: .algorithm),
            Row(name: "ES256, not listed", key: .ec1, client: "both", listed: #"["RS256"]"#, check: .algorithm),
            Row(name: "for another client", key: .ec1, client: "other", check: .audience),
        ])
    func rows(_ row: Row) async throws {
        let carrier = FakeCarrier {
            $0.discovery = .json(
                FakeCarrier.metadata.with("id_token_signing_alg_values_supported", row.listed).text)
            $0.keys = .json(TestKey.keySet(.rsa1, .ec1))
        }
        let relyingParty = try carrier.relyingParty(ofIssuer: TokenDraft.issuer)
        let algorithms: [(String, Set<SigningAlgorithm>)] = [
            ("rs256", [.rs256]), ("es256", [.es256]), ("both", SigningAlgorithm.standard),
            ("profile", [.ps256, .es256]),
        ]
        var clients: [ClientID: Set<SigningAlgorithm>] = [:]
        for (name, accepted) in algorithms { clients[try #require(ClientID(name))] = accepted }
        let token = Secret(Self.token(row.key, for: row.client))
        var failed: LogoutTokenCheck?
        do throws(LogoutTokenError) {
            _ = try await relyingParty.verify(logoutToken: token, for: clients)
        } catch {
            guard case .failed(let check) = error else { throw error }
            failed = check
        }
        #expect(failed == row.check)
        // The explanation must have the result of the request.
        let client = try #require(clients.keys.first)
        let provider = try await relyingParty.provider(
            for: nil, clientID: client, correlationID: SignInSubjects().correlationID)
        let explanation = await relyingParty.explain(
            logoutToken: token, for: clients, provider: provider, at: Timestamp(secondsSinceEpoch: TokenDraft.now))
        #expect(explanation.steps.first { $0.verdict != .passed }?.check == row.check)
    }
}
