import OpenIDConnect
import Primitives
import TestSupport
import Testing

/// A provider that changes the algorithm it signs with, while its former metadata is still cached.
struct AlgorithmChangeTests {
    private static func metadata(listing algorithms: String) -> OutboundResponse {
        .json(
            FakeCarrier.metadata.with("id_token_signing_alg_values_supported", algorithms).text,
            cacheControl: "max-age=864000")
    }

    private let carrier = FakeCarrier {
        $0.discovery = metadata(listing: #"["RS256"]"#)
        $0.keys = .json(TestKey.keySet(.rsa1, .ec1))
    }

    private func error(
        _ key: TestKey, _ provider: ProviderMetadata, _ relyingParty: RelyingParty,
        accepting algorithms: Set<SigningAlgorithm> = SigningAlgorithm.standard
    ) async throws -> OIDCError? {
        var draft = TokenDraft(key: key)
        let now = carrier.clock.now.secondsSinceEpoch
        draft.claims["iat"] = "\(now)"
        draft.claims["exp"] = "\(now + 300)"
        let text = draft.text
        let expectation = try expectation { $0.signingAlgorithms = algorithms }
        return await failure { () throws(OIDCError) in
            try await relyingParty.validate(idToken: Secret(text), expecting: expectation, provider: provider)
        }
    }

    private var requests: Int { carrier.http.requests(to: FakeCarrier.discoveryURL).count }

    @Test("Its first token by the new algorithm signs the user in, by one request for the metadata")
    func followed() async throws {
        let relyingParty = try carrier.relyingParty()
        let provider = try await relyingParty.provider(SignInSubjects())
        #expect(try await error(.rsa1, provider, relyingParty) == nil)
        #expect(requests == 1)
        carrier.change { $0.discovery = Self.metadata(listing: #"["ES256"]"#) }
        #expect(try await error(.ec1, provider, relyingParty) == nil)
        #expect(requests == 2)
        // Those who hold the former metadata need no request any more.
        #expect(try await error(.ec1, provider, relyingParty) == nil)
        #expect(try await error(.ec1, try await relyingParty.provider(SignInSubjects()), relyingParty) == nil)
        #expect(requests == 2)
    }

    @Test("A token by an algorithm that stays unlisted is refused, and causes one request in a minute")
    func limited() async throws {
        let relyingParty = try carrier.relyingParty()
        let provider = try await relyingParty.provider(SignInSubjects())
        for _ in 1...5 { #expect(try await error(.ec1, provider, relyingParty) == .failed(.algorithm)) }
        #expect(requests == 2)
        carrier.clock.advance(bySeconds: 59)
        #expect(try await error(.ec1, provider, relyingParty) == .failed(.algorithm))
        #expect(requests == 2)
        carrier.clock.advance(bySeconds: 1)
        #expect(try await error(.ec1, provider, relyingParty) == .failed(.algorithm))
        #expect(requests == 3)
    }

    @Test("A clock that is set back by more than a minute ends the pause between two requests")
    func clockSetBack() async throws {
        let relyingParty = try carrier.relyingParty()
        let provider = try await relyingParty.provider(SignInSubjects())
        #expect(try await error(.ec1, provider, relyingParty) == .failed(.algorithm))
        for (seconds, count) in [(Int64(-60), 2), (-1, 3)] {
            carrier.clock.advance(bySeconds: seconds)
            #expect(try await error(.ec1, provider, relyingParty) == .failed(.algorithm))
            #expect(requests == count)
        }
    }

    @Test("A token by an algorithm that the client does not accept causes no request")
    func notAccepted() async throws {
        let relyingParty = try carrier.relyingParty()
        let provider = try await relyingParty.provider(SignInSubjects())
        carrier.change { $0.discovery = Self.metadata(listing: #"["ES256"]"#) }
        #expect(try await error(.ec1, provider, relyingParty, accepting: [.rs256]) == .failed(.algorithm))
        #expect(requests == 1)
    }

    @Test("Metadata of another issuer does not serve a token of the former")
    func otherIssuer() async throws {
        let relyingParty = try carrier.relyingParty()
        let provider = try await relyingParty.provider(SignInSubjects())
        carrier.change {
            $0.discovery = .json(
                FakeCarrier.metadata.with("issuer", "\"https://other.carrier.example\"").text,
                cacheControl: "max-age=864000")
        }
        #expect(try await error(.ec1, provider, relyingParty) == .failed(.algorithm))
    }
}
