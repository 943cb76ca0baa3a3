import OpenIDConnect
import Primitives
import TestSupport
import Testing

@Suite("A carrier that does not respond")
struct CarrierBulkheadTests {
    private static let silence = OutboundError(.timedOut, mayHaveBeenSent: true, reason: "")

    private struct Stage {
        let carrier: FakeCarrier
        let relyingParty: RelyingParty
        let provider: ProviderMetadata
        let subjects: SignInSubjects

        init(
            metadata: JSONDraft = FakeCarrier.metadata, _ change: (inout RelyingParty.Configuration) -> Void = { _ in }
        ) async throws {
            carrier = FakeCarrier { $0.discovery = .json(metadata.text, cacheControl: "max-age=864000") }
            relyingParty = try carrier.relyingParty(change)
            subjects = try SignInSubjects()
            provider = try await relyingParty.provider(subjects)
        }

        var posts: Int { carrier.http.requests(to: FakeCarrier.tokenURL).count }

        func exchange() async -> OIDCError? {
            let client = ClientCredentials(clientID: subjects.clientID, authentication: .clientSecretBasic(Secret("s")))
            return await failure { () throws(OIDCError) in
                try await relyingParty.exchange(
                    code: Secret("c"), redirectURI: "a:/b", codeVerifier: nil, client: client, provider: provider,
                    correlationID: subjects.correlationID)
            }
        }

        func answer(with error: OutboundError?) {
            carrier.change { $0.failures[FakeCarrier.tokenURL] = error }
        }
    }

    @Test(
        "opens the circuit breaker, and the code is kept",
        arguments: [OutboundError.Code.timedOut, .unreachable, .tls, .closed, .malformed])
    func opens(_ code: OutboundError.Code) async throws {
        let stage = try await Stage()
        stage.answer(with: OutboundError(code, mayHaveBeenSent: true, reason: ""))
        for _ in 0..<5 { #expect(await stage.exchange()?.codeMayBeSpent == true) }
        #expect(stage.posts == 5)
        let error = await stage.exchange()
        #expect(error?.code == .suspended)
        #expect(error?.retryAfter == 5)
        #expect(error?.codeMayBeSpent == false)
        #expect(stage.posts == 5)
    }

    @Test("One sign-in probes after the pause; a response lets the others pass")
    func probe() async throws {
        let stage = try await Stage()
        stage.answer(with: Self.silence)
        for _ in 0..<5 { _ = await stage.exchange() }
        stage.carrier.clock.advance(bySeconds: 5)
        let gate = Gate()
        stage.answer(with: nil)
        stage.carrier.change { $0.gates[FakeCarrier.tokenURL] = gate }
        let probe = Task { await stage.exchange() }
        await gate.untilWaiting()
        for _ in 0..<3 { #expect(await stage.exchange()?.code == .suspended) }
        gate.open()
        #expect(await probe.value == nil)
        for _ in 0..<3 { #expect(await stage.exchange() == nil) }
        #expect(stage.posts == 9)
    }

    @Test(
        "Any response keeps the circuit breaker closed",
        arguments: [
            OutboundResponse(status: 500), OutboundResponse(status: 503),
            .json(#"{"error":"invalid_grant"}"#, status: 400),
            .json("junk"),
        ])
    func answers(_ response: OutboundResponse) async throws {
        let stage = try await Stage()
        stage.carrier.change { $0.token = response }
        for _ in 0..<20 { _ = await stage.exchange() }
        #expect(stage.posts == 20)
    }

    @Test(
        "A request that was not sent does not count",
        arguments: [OutboundError.Code.overloaded, .shutDown, .addressRefused])
    func ownFaults(_ code: OutboundError.Code) async throws {
        let stage = try await Stage()
        stage.answer(with: OutboundError(code, mayHaveBeenSent: false, reason: ""))
        for _ in 0..<20 { _ = await stage.exchange() }
        #expect(stage.posts == 20)
    }

    @Test("A hanging token endpoint does not delay another carrier's")
    func otherCarrier() async throws {
        let stage = try await Stage()
        stage.answer(with: Self.silence)
        for _ in 0..<6 { _ = await stage.exchange() }
        let other = FakeCarrier.metadata.with("issuer", "\"https://other.carrier.example\"").with("mccmnc", nil).text
        stage.carrier.change { answers in
            answers.discovery = .json(other)
            answers.failures = [:]
        }
        let provider = try await stage.relyingParty.provider(SignInSubjects(network: "310998"))
        let client = ClientCredentials(
            clientID: stage.subjects.clientID, authentication: .clientSecretBasic(Secret("s")))
        let error = await failure { () throws(OIDCError) in
            try await stage.relyingParty.exchange(
                code: Secret("c"), redirectURI: "a:/b", codeVerifier: nil, client: client, provider: provider,
                correlationID: stage.subjects.correlationID)
        }
        #expect(error == nil)
        #expect(await stage.exchange()?.code == .suspended)
    }

    @Test("A hanging revocation endpoint does not stop sign-ins")
    func revocation() async throws {
        let url = TokenDraft.issuer + "/revoke"
        let stage = try await Stage(metadata: FakeCarrier.metadata.with("revocation_endpoint", "\"\(url)\""))
        stage.carrier.change { $0.failures[url] = Self.silence }
        let client = ClientCredentials(
            clientID: stage.subjects.clientID, authentication: .clientSecretBasic(Secret("s")))
        for _ in 0..<6 {
            _ = await failure { () throws(OIDCError) in
                try await stage.relyingParty.revoke(
                    (Secret("a"), nil), client: client, provider: stage.provider,
                    correlationID: stage.subjects.correlationID)
            }
        }
        #expect(stage.carrier.http.requests(to: url).count == 5)
        #expect(await stage.exchange() == nil)
    }

    @Test("Discovery timeouts for one network do not block requests for another")
    func discovery() async throws {
        let stage = try await Stage()
        stage.carrier.change {
            $0.failures[FakeCarrier.discoveryURL + "?client_id=client-1&mccmnc=310998"] = Self.silence
        }
        func code(_ network: String) async throws -> OIDCError.Code? {
            let subjects = try SignInSubjects(network: network)
            return await failure { () throws(OIDCError) in try await stage.relyingParty.provider(subjects) }?.code
        }
        for _ in 0..<5 { #expect(try await code("310998") == .timedOut) }
        #expect(try await code("310998") == .suspended)
        // Discovery responds with the document of 310999, which is refused for this network.
        #expect(try await code("310997") == .metadataRefused)
    }

    @Test("Resource requests of signed-in users leave half of the capacity to sign-ins")
    func resources() async throws {
        let stage = try await Stage { $0.bulkhead.maximumInFlight = 4 }
        let gate = Gate()
        let url = try #require(EndpointURL(FakeCarrier.userInfoURL, policy: .httpsOnly))
        stage.carrier.change { $0.gates[url.text] = gate }
        func fetch() async -> OIDCError? {
            await failure { () throws(OIDCError) in
                _ = try await stage.relyingParty.resource(url, accessToken: Secret("t"), provider: stage.provider)
            }
        }
        let waiting = (0..<2).map { _ in Task { await fetch() } }
        await gate.untilWaiting(2)
        stage.carrier.change { $0.gates = [:] }
        #expect(await fetch()?.code == .overloaded)
        #expect(await stage.exchange() == nil)
        gate.open()
        for task in waiting { #expect(await task.value == nil) }
        #expect(await fetch() == nil)
    }

    @Test("The requests in flight are limited, and the next is refused at once without spending its code")
    func limit() async throws {
        let stage = try await Stage { $0.bulkhead.maximumInFlight = 3 }
        let gate = Gate()
        stage.carrier.change { $0.gates[FakeCarrier.tokenURL] = gate }
        let waiting = (0..<3).map { _ in Task { await stage.exchange() } }
        await gate.untilWaiting(3)
        let error = await stage.exchange()
        #expect(error?.code == .overloaded)
        #expect(error?.codeMayBeSpent == false)
        #expect(error?.retryAfter == 1)
        #expect(stage.posts == 3)
        gate.open()
        for task in waiting { #expect(await task.value == nil) }
        #expect(await stage.exchange() == nil)
    }
}
