import OpenIDConnect
import Primitives
import TestSupport
import Testing

/// The key cache during sign-ins.
struct KeyRotationTests {
    private struct Stage {
        let carrier: FakeCarrier
        let relyingParty: RelyingParty
        let provider: ProviderMetadata
        let expectation: IDTokenExpectation

        init(
            _ carrier: FakeCarrier = FakeCarrier(),
            _ change: (inout RelyingParty.Configuration) -> Void = { _ in }
        ) async throws {
            self.carrier = carrier
            relyingParty = try carrier.relyingParty(change)
            provider = try await relyingParty.provider(SignInSubjects())
            expectation = try OpenIDConnectTests.expectation()
        }

        var fetches: Int { carrier.http.requests(to: FakeCarrier.keysURL).count }

        func error(_ key: TestKey, keyID: String? = nil, anonymous: Bool = false) async -> OIDCError? {
            var draft = TokenDraft(key: key)
            let now = carrier.clock.now.secondsSinceEpoch
            draft.claims["iat"] = "\(now)"
            draft.claims["exp"] = "\(now + 300)"
            if let keyID { draft.header["kid"] = "\"\(keyID)\"" }
            if anonymous { draft.header["kid"] = nil }
            let text = draft.text
            return await failure { () throws(OIDCError) in
                try await relyingParty.validate(idToken: Secret(text), expecting: expectation, provider: provider)
            }
        }
    }

    @Test("Keys are fetched once, with limits, and cached for the time of Cache-Control")
    func kept() async throws {
        let stage = try await Stage(FakeCarrier { $0.keys = .json(TestKey.keySet(.rsa1), cacheControl: "max-age=600") })
        for _ in 0..<3 { #expect(await stage.error(.rsa1) == nil) }
        #expect(stage.fetches == 1)
        let request = try #require(stage.carrier.http.requests(to: FakeCarrier.keysURL).first)
        #expect(request.timeout == .seconds(5))
        #expect(request.maximumBodyBytes == 262_144)
        stage.carrier.clock.advance(bySeconds: 599)
        #expect(await stage.error(.rsa1) == nil)
        #expect(stage.fetches == 1)
        stage.carrier.clock.advance(bySeconds: 1)
        #expect(await stage.error(.rsa1) == nil)
        #expect(stage.fetches == 2)
    }

    @Test("Keys rotated seconds after a fetch work, twice in a row")
    func rotation() async throws {
        let stage = try await Stage()
        #expect(await stage.error(.rsa1) == nil)
        stage.carrier.change { $0.keys = .json(TestKey.keySet(.rsa2)) }
        #expect(await stage.error(.rsa2) == nil)
        stage.carrier.change { $0.keys = .json(TestKey.keySet(.ec1)) }
        #expect(await stage.error(.ec1) == nil)
        #expect(stage.fetches == 3)
        #expect(await stage.error(.rsa1) == .failed(.key))
    }

    @Test("A rotated key without a key id works, too")
    func anonymousRotation() async throws {
        let anonymous = TestKey.keySet([TestKey.rsa1.jwk.with("kid", nil)])
        let stage = try await Stage(FakeCarrier { $0.keys = .json(anonymous) })
        #expect(await stage.error(.rsa1, anonymous: true) == nil)
        let rotated = TestKey.keySet([TestKey.rsa2.jwk.with("kid", nil)])
        stage.carrier.change { $0.keys = .json(rotated) }
        #expect(await stage.error(.rsa2, anonymous: true) == nil)
        #expect(stage.fetches == 2)
    }

    @Test("A key that replaces another under the same id works", arguments: ["rsa-1", "kid"])
    func replacement(keyID: String) async throws {
        let stage = try await Stage(FakeCarrier { $0.keys = .json(TestKey.keySet(.rsa1.named(keyID))) })
        #expect(await stage.error(.rsa1, keyID: keyID) == nil)
        stage.carrier.change { $0.keys = .json(TestKey.keySet(.rsa2.named(keyID))) }
        #expect(await stage.error(.rsa2, keyID: keyID) == nil)
        #expect(stage.fetches == 2)
        #expect(await stage.error(.rsa1, keyID: keyID) == .failed(.signature), "the former key is none any more")
    }

    @Test("A bad signature under a known key causes one fetch")
    func badSignature() async throws {
        let stage = try await Stage()
        #expect(await stage.error(.rsa2, keyID: "rsa-1") == .failed(.signature))
        #expect(stage.fetches == 2)
        #expect(await stage.error(.rsa1) == nil)
        #expect(stage.fetches == 2)
    }

    @Test("A flood of bad signatures, of unknown key ids, or of both causes a few fetches")
    func signatureFlood() async throws {
        let stage = try await Stage()
        #expect(await stage.error(.rsa1) == nil)
        for index in 0..<100 {
            #expect(await stage.error(.rsa2, keyID: "rsa-1") == .failed(.signature))
            #expect(await stage.error(.ec1, keyID: "random-\(index)") == .failed(.key))
        }
        #expect(stage.fetches == 3)
        #expect(await stage.error(.rsa1) == nil)
        stage.carrier.clock.advance(bySeconds: 10)
        for _ in 0..<10 { #expect(await stage.error(.rsa2, keyID: "rsa-1") == .failed(.signature)) }
        #expect(stage.fetches == 4)
    }

    @Test("An unknown key id costs one fetch and falls back to no other key")
    func unknownKeyID() async throws {
        let stage = try await Stage()
        #expect(await stage.error(.rsa1, keyID: "other") == .failed(.key))
        #expect(stage.fetches == 2)
    }

    @Test("A flood of unknown key ids causes a few fetches, and a valid token is accepted meanwhile")
    func flood() async throws {
        let stage = try await Stage()
        #expect(await stage.error(.rsa1) == nil)
        for index in 0..<300 { #expect(await stage.error(.ec1, keyID: "random-\(index)") == .failed(.key)) }
        #expect(stage.fetches == 3)
        #expect(await stage.error(.rsa1) == nil)
        // One more fetch is allowed every ten seconds.
        stage.carrier.clock.advance(bySeconds: 10)
        for index in 0..<10 { #expect(await stage.error(.ec1, keyID: "later-\(index)") == .failed(.key)) }
        #expect(stage.fetches == 4)
    }

    @Test("A concurrent flood causes as few fetches")
    func parallelFlood() async throws {
        let stage = try await Stage()
        #expect(await stage.error(.rsa1) == nil)
        let attackers = (0..<50).map { index in Task { await stage.error(.ec1, keyID: "random-\(index)") } }
        for attacker in attackers { #expect(await attacker.value == .failed(.key)) }
        #expect(stage.fetches <= 3)
        #expect(await stage.error(.rsa1) == nil)
    }

    @Test(
        "Failed and empty fetches count like others, and usable keys outlive them",
        arguments: [
            OutboundResponse(status: 500), .json(#"{"keys":[]}"#), .json("<html>"),
            .json(TestKey.keySet(.ec2), status: 404),
            OutboundResponse(status: 302), .json(#"{"keys":[{"kty":"oct"}]}"#),
        ])
    func junk(_ response: OutboundResponse) async throws {
        let stage = try await Stage()
        #expect(await stage.error(.rsa1) == nil)
        stage.carrier.change { $0.keys = response }
        for index in 0..<20 { #expect(await stage.error(.ec2, keyID: "random-\(index)") == .failed(.key)) }
        #expect(stage.fetches == 3)
        #expect(await stage.error(.rsa1) == nil)
    }

    @Test("Without keys a token is not accepted, and the error says why")
    func noKeys() async throws {
        let stage = try await Stage(FakeCarrier { $0.keys = .json(#"{"keys":[]}"#) })
        for _ in 0..<10 {
            let error = await stage.error(.rsa1)
            #expect(error?.code == .keysUnavailable)
            #expect(error?.codeMayBeSpent == true)
        }
        #expect(stage.fetches == 3)
        let silent = try await Stage(
            FakeCarrier {
                $0.failures[FakeCarrier.keysURL] = OutboundError(.timedOut, mayHaveBeenSent: true, reason: "")
            })
        #expect(await silent.error(.rsa1)?.code == .timedOut)
        // When the keys are available again, they are fetched.
        stage.carrier.change { $0.keys = .json(TestKey.keySet(.rsa1)) }
        stage.carrier.clock.advance(bySeconds: 10)
        #expect(await stage.error(.rsa1) == nil)
    }

    @Test("If all keys of a provider are weak, a token is refused for its key")
    func weakKeysOnly() async throws {
        let weak = TestKey.keySet([
            TestKey.rsa1.jwk.with("n", "\"\(Base64URL.encode([UInt8](repeating: 0xA5, count: 128)))\"")
        ])
        let stage = try await Stage(FakeCarrier { $0.keys = .json(weak) })
        #expect(await stage.error(.rsa1) == .failed(.key))
    }

    @Test("Old keys stay in use for a day if refreshes fail")
    func stale() async throws {
        let stage = try await Stage(FakeCarrier { $0.keys = .json(TestKey.keySet(.rsa1), cacheControl: "max-age=600") })
        #expect(await stage.error(.rsa1) == nil)
        stage.carrier.change { $0.keys = OutboundResponse(status: 503) }
        stage.carrier.clock.advance(bySeconds: 600)
        for _ in 0..<5 { #expect(await stage.error(.rsa1) == nil) }
        #expect(stage.fetches == 2)
        stage.carrier.clock.advance(bySeconds: 86400)
        #expect(await stage.error(.rsa1)?.code == .keysUnavailable)
    }

    @Test("Concurrent callers share one fetch of keys, even if the first is cancelled")
    func singleFlight() async throws {
        let gate = Gate()
        let stage = try await Stage(FakeCarrier { $0.gates[FakeCarrier.keysURL] = gate })
        let leader = Task { await stage.error(.rsa1) }
        await gate.untilWaiting()
        let followers = (0..<20).map { _ in Task { await stage.error(.rsa1) } }
        leader.cancel()
        await Task.yield()
        gate.open()
        for follower in followers { #expect(await follower.value == nil) }
        #expect(await leader.value == nil)
        #expect(stage.fetches == 1)
    }

    @Test("A provider that names another's key set URL does not use up the other's fetches")
    func separateAllowance() async throws {
        let stage = try await Stage()
        for index in 0..<10 { _ = await stage.error(.ec1, keyID: "random-\(index)") }
        #expect(stage.fetches == 3)
        let other = FakeCarrier.metadata.with("issuer", "\"https://other.carrier.example\"").with("mccmnc", nil).text
        stage.carrier.change { $0.discovery = .json(other) }
        let provider = try await stage.relyingParty.provider(SignInSubjects(network: "310998"))
        var draft = TokenDraft()
        draft.claims["iss"] = "\"https://other.carrier.example\""
        _ = try await stage.relyingParty.validate(
            idToken: Secret(draft.text), expecting: stage.expectation, provider: provider)
        #expect(stage.fetches == 4)
    }

    @Test("A clock that is set back does not lock the bucket")
    func clockSetBack() async throws {
        let stage = try await Stage()
        for index in 0..<5 { _ = await stage.error(.ec1, keyID: "random-\(index)") }
        stage.carrier.clock.advance(bySeconds: -5000)
        _ = await stage.error(.ec1, keyID: "again")
        stage.carrier.clock.advance(bySeconds: 10)
        _ = await stage.error(.ec1, keyID: "and again")
        #expect(stage.fetches == 4)
    }
}
