import OpenIDConnect
import Primitives
import TestSupport
import Testing

@Suite("Metadata and keys are refreshed before they expire")
struct BackgroundRefreshTests {
    private struct Stage {
        let carrier: FakeCarrier
        let relyingParty: RelyingParty

        /// Metadata and keys are fresh for 1,000 seconds and both in use.
        init(
            random: RandomSource = .system, _ change: (inout RelyingParty.Configuration) -> Void = { _ in }
        ) async throws {
            carrier = FakeCarrier {
                $0.discovery = .json(FakeCarrier.metadata.text, cacheControl: "max-age=1000")
                $0.keys = .json(TestKey.keySet(.rsa1), cacheControl: "max-age=1000")
            }
            relyingParty = try carrier.relyingParty(random: random, change)
            #expect(try await signIn() == nil)
            #expect(try await signIn() == nil)
            #expect(requests == [1, 1])
        }

        /// The requests so far, to discovery and for keys.
        var requests: [Int] {
            [FakeCarrier.discoveryURL, FakeCarrier.keysURL].map { carrier.http.requests(to: $0).count }
        }

        func signIn() async throws -> OIDCError? {
            let now = carrier.clock.now.secondsSinceEpoch
            var draft = TokenDraft(key: .rsa1)
            draft.claims["iat"] = "\(now)"
            draft.claims["exp"] = "\(now + 300)"
            let text = draft.text
            let (subjects, expectation) = (try SignInSubjects(), try OpenIDConnectTests.expectation())
            return await failure { () throws(OIDCError) in
                let provider = try await relyingParty.provider(subjects)
                return try await relyingParty.validate(
                    idToken: Secret(text), expecting: expectation, provider: provider)
            }
        }
    }

    @Test("A refresh happens between three quarters and nine tenths of the lifetime")
    func times() async throws {
        let stage = try await Stage()
        stage.carrier.clock.advance(bySeconds: 749)
        #expect(await stage.relyingParty.refreshDue() == (0, 0))
        #expect(stage.requests == [1, 1])
        stage.carrier.clock.advance(bySeconds: 151)
        #expect(await stage.relyingParty.refreshDue() == (renewed: 2, failed: 0))
        #expect(stage.requests == [2, 2])
        // When the first lifetime ends, no sign-in waits.
        stage.carrier.clock.advance(bySeconds: 100)
        #expect(try await stage.signIn() == nil)
        #expect(stage.requests == [2, 2])
    }

    @Test(
        "After a jump of the clock by a day metadata and keys are fetched anew, and sign-ins succeed",
        arguments: [-86_400, 86_400] as [Int64])
    func clockJump(seconds: Int64) async throws {
        let stage = try await Stage()
        stage.carrier.clock.advance(bySeconds: seconds)
        #expect(await stage.relyingParty.refreshDue() == (renewed: 2, failed: 0))
        #expect(try await stage.signIn() == nil)
        #expect(stage.requests == [2, 2])
        stage.carrier.clock.advance(bySeconds: -seconds)
        #expect(try await stage.signIn() == nil)
        #expect(stage.requests.allSatisfy { (2...3).contains($0) })
    }

    @Test("The random source decides the time of the refresh", arguments: [(UInt8(0), Int64(750)), (255, 900)])
    func jitter(_ byte: UInt8, _ seconds: Int64) async throws {
        let stage = try await Stage(random: RandomSource { [UInt8](repeating: byte, count: $0) })
        stage.carrier.clock.advance(bySeconds: seconds - 1)
        #expect(await stage.relyingParty.refreshDue() == (0, 0))
        stage.carrier.clock.advance(bySeconds: 1)
        #expect(await stage.relyingParty.refreshDue().renewed == 2)
    }

    @Test("A document that was not used since its fetch is not refreshed")
    func unused() async throws {
        let stage = try await Stage()
        stage.carrier.clock.advance(bySeconds: 900)
        #expect(await stage.relyingParty.refreshDue().renewed == 2)
        stage.carrier.clock.advance(bySeconds: 900)
        #expect(await stage.relyingParty.refreshDue() == (0, 0))
        #expect(stage.requests == [2, 2])
    }

    @Test("After a failed refresh sign-ins do not wait, and the refresh is retried within a minute")
    func outage() async throws {
        let stage = try await Stage()
        let silence = OutboundError(.timedOut, mayHaveBeenSent: true, reason: "")
        stage.carrier.change { $0.failures = [FakeCarrier.discoveryURL: silence, FakeCarrier.keysURL: silence] }
        stage.carrier.clock.advance(bySeconds: 990)
        #expect(await stage.relyingParty.refreshDue() == (renewed: 0, failed: 2))
        stage.carrier.clock.advance(bySeconds: 29)
        #expect(await stage.relyingParty.refreshDue() == (0, 0))
        // Both have expired, and no sign-in sends a request.
        #expect(try await stage.signIn() == nil)
        #expect(stage.requests == [2, 2])
        stage.carrier.clock.advance(bySeconds: 26)
        #expect(await stage.relyingParty.refreshDue().failed == 2)
        #expect(try await stage.signIn() == nil)
        #expect(stage.requests == [3, 3])
        stage.carrier.change { $0.failures = [:] }
        stage.carrier.clock.advance(bySeconds: 55)
        #expect(await stage.relyingParty.refreshDue().renewed == 2)
    }

    @Test("Known metadata and keys are used for a day, and no longer")
    func bound() async throws {
        let stage = try await Stage()
        stage.carrier.change { $0.keys = OutboundResponse(status: 503) }
        for _ in 0..<86 {
            stage.carrier.clock.advance(bySeconds: 1_000)
            _ = await stage.relyingParty.refreshDue()
            #expect(try await stage.signIn() == nil)
        }
        stage.carrier.clock.advance(bySeconds: 1_500)
        #expect(try await stage.signIn()?.code == .keysUnavailable)
    }

    @Test("A refresh and the sign-ins that need the same document share one request")
    func singleFlight() async throws {
        let stage = try await Stage()
        let gate = Gate()
        stage.carrier.change { $0.gates = [FakeCarrier.discoveryURL: gate, FakeCarrier.keysURL: gate] }
        stage.carrier.clock.advance(bySeconds: 1_000)
        let refresh = Task { await stage.relyingParty.refreshDue() }
        await gate.untilWaiting(2)
        let signIns = (0..<5).map { _ in Task { try await stage.signIn() } }
        #expect(await stage.relyingParty.refreshDue() == (0, 0))
        gate.open()
        for signIn in signIns { #expect(try await signIn.value == nil) }
        #expect(await refresh.value.renewed == 2)
        #expect(stage.requests == [2, 2])
    }

    @Test("The number of concurrent refreshes is limited")
    func concurrency() async throws {
        let stage = try await Stage { $0.cache.maximumRefreshes = 3 }
        stage.carrier.change {
            $0.discovery = .json(FakeCarrier.metadata.with("mccmnc", nil).text, cacheControl: "max-age=1000")
        }
        for network in 310_100..<310_110 {
            for _ in 0..<2 { _ = try await stage.relyingParty.provider(SignInSubjects(network: "\(network)")) }
        }
        stage.carrier.clock.advance(bySeconds: 950)
        #expect(await stage.relyingParty.refreshDue() == (renewed: 3, failed: 0))
        let total: Int = stage.requests.reduce(0, +)
        #expect(total == 15)
    }
}
