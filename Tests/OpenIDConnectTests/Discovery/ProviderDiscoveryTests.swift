import OpenIDConnect
import Primitives
import TestSupport
import Testing

struct ProviderDiscoveryTests {
    private func error(_ relyingParty: RelyingParty, _ subjects: SignInSubjects) async -> OIDCError? {
        await failure { () throws(OIDCError) in try await relyingParty.provider(subjects) }
    }

    private func discoveries(_ carrier: FakeCarrier) -> Int {
        carrier.http.requests(to: FakeCarrier.discoveryURL).count
    }

    @Test("The request names client, network and correlation id, and is bounded")
    func request() async throws {
        let carrier = FakeCarrier()
        _ = try await carrier.relyingParty().provider(SignInSubjects(clientID: "a&b", correlationID: "c=1"))
        let request = try #require(carrier.http.requests.first)
        #expect(request.method == .get)
        #expect(request.url.text == FakeCarrier.discoveryURL + "?client_id=a%26b&mccmnc=310999&correlation_id=c%3D1")
        #expect(request.timeout == .seconds(5))
        #expect(request.maximumBodyBytes == 65536)
        #expect(request.body.isEmpty)
    }

    @Test("Both forms of an error are understood, with any status", arguments: [200, 400, 404])
    func errorForms(_ status: Int) async throws {
        for (text, code, carrierError) in [
            (
                #"{"error":"invalid_mccmnc","redirect_uri":"https://discoveryui.myzenkey.com/"}"#,
                OIDCError.Code.unknownNetwork, "invalid_mccmnc"
            ),
            (#"{"redirect_uri":"https://discoveryui.myzenkey.com/"}"#, .unknownNetwork, nil),
            (#"{"error":"invalid_request","error_description":"no"}"#, .discoveryRefused, "invalid_request"),
            (#"{"error":"unauthorized_client","error_description":"no"}"#, .clientRefused, "unauthorized_client"),
            (#"{"error":"invalid_client"}"#, .clientRefused, "invalid_client"),
            (#"{"error":{"code":1}}"#, .discoveryRefused, nil), (#"{"error":"a b<c>"}"#, .discoveryRefused, nil),
        ] {
            let carrier = FakeCarrier { $0.discovery = .json(text, status: status) }
            let found = try await error(carrier.relyingParty(), SignInSubjects())
            #expect(found?.code == code)
            #expect(found?.carrierError == carrierError)
            #expect(found?.codeMayBeSpent == false)
        }
    }

    @Test("Metadata with an error beside it is an error")
    func errorBeside() async throws {
        let carrier = FakeCarrier { $0.discovery = .json(FakeCarrier.metadata.with("error", "\"x\"").text) }
        #expect(try await error(carrier.relyingParty(), SignInSubjects())?.code == .discoveryRefused)
    }

    @Test("A response that is neither metadata nor an error is unusable")
    func unusable() async throws {
        for response in [
            OutboundResponse(status: 302), OutboundResponse(status: 200), .json("[]"), .json("{", status: 200),
            .json("{}", status: 500),
            .json(FakeCarrier.metadata.text, status: 201), .json(FakeCarrier.metadata.text, status: 301),
            OutboundResponse(
                status: 200, contentType: "text/html; charset=utf-8", body: Array(FakeCarrier.metadata.text.utf8)),
            .json(FakeCarrier.metadata.with("filler", "\"\(String(repeating: "x", count: 65536))\"").text),
        ] {
            let carrier = FakeCarrier { $0.discovery = response }
            #expect(try await error(carrier.relyingParty(), SignInSubjects())?.code == .unusableResponse)
        }
    }

    @Test(
        "A transport failure is reported with its code",
        arguments: [
            (OutboundError.Code.timedOut, OIDCError.Code.timedOut), (.unreachable, .unreachable), (.tls, .unreachable),
            (.addressRefused, .unreachable), (.closed, .unreachable), (.malformed, .unusableResponse),
            (.tooLarge, .unusableResponse), (.overloaded, .overloaded), (.suspended, .suspended),
            (.shutDown, .overloaded),
        ])
    func transport(_ transport: OutboundError.Code, _ code: OIDCError.Code) async throws {
        let carrier = FakeCarrier {
            $0.failures[FakeCarrier.discoveryURL] = OutboundError(transport, mayHaveBeenSent: true, reason: "secret")
        }
        let found = try await error(carrier.relyingParty(), SignInSubjects())
        #expect(found?.code == code)
        #expect(found?.codeMayBeSpent == false)
        #expect(found?.description.contains("secret") == false)
    }

    @Test(
        "Metadata is cached for the time of Cache-Control, within bounds",
        arguments: [
            ("max-age=864000", 86400), ("max-age=600", 600), ("public, MAX-AGE=600", 600), ("max-age=\"600\"", 600),
            ("max-age=1", 60),
            ("no-store", 60), ("no-cache, max-age=600", 60), ("max-age=600, max-age=300", 300), (nil, 3600),
            ("private", 3600),
            ("max-age=99999999999999999999", 86400), ("max-age=-5", 60), ("max-age=x", 60), ("max-age=", 60),
            ("", 3600), (",,=", 3600), ("max-age=600, \u{E9}", 60),
        ] as [(String?, Int64)])
    func lifetime(_ cacheControl: String?, _ seconds: Int64) async throws {
        let carrier = FakeCarrier { $0.discovery = .json(FakeCarrier.metadata.text, cacheControl: cacheControl) }
        let relyingParty = try carrier.relyingParty()
        _ = try await relyingParty.provider(SignInSubjects())
        carrier.clock.advance(bySeconds: seconds - 1)
        _ = try await relyingParty.provider(SignInSubjects(clientID: "other"))
        #expect(discoveries(carrier) == 1)
        carrier.clock.advance(bySeconds: 1)
        _ = try await relyingParty.provider(SignInSubjects())
        #expect(discoveries(carrier) == 2)
    }

    @Test("Stale metadata stays in use for a day if refreshes fail")
    func stale() async throws {
        let carrier = FakeCarrier()
        let relyingParty = try carrier.relyingParty()
        _ = try await relyingParty.provider(SignInSubjects())
        carrier.change { $0.discovery = OutboundResponse(status: 503) }
        carrier.clock.advance(bySeconds: 86400)
        #expect(try await relyingParty.provider(SignInSubjects()).issuer == TokenDraft.issuer)
        #expect(discoveries(carrier) == 2)
        // No other request follows at once.
        _ = try await relyingParty.provider(SignInSubjects())
        #expect(discoveries(carrier) == 2)
        carrier.clock.advance(bySeconds: 60)
        _ = try await relyingParty.provider(SignInSubjects())
        #expect(discoveries(carrier) == 3)
        carrier.clock.advance(bySeconds: 86400)
        #expect(try await error(relyingParty, SignInSubjects())?.code == .unusableResponse)
    }

    @Test("An unknown network is not looked up again at once for the same client")
    func unknownNetwork() async throws {
        let carrier = FakeCarrier { $0.discovery = .json(#"{"error":"x","redirect_uri":"https://d.example/"}"#) }
        let relyingParty = try carrier.relyingParty()
        for _ in 0..<3 { #expect(try await error(relyingParty, SignInSubjects())?.code == .unknownNetwork) }
        #expect(discoveries(carrier) == 1)
        _ = try await error(relyingParty, SignInSubjects(clientID: "other"))
        #expect(discoveries(carrier) == 2)
        carrier.clock.advance(bySeconds: 30)
        carrier.change { $0.discovery = .json(FakeCarrier.metadata.text) }
        #expect(try await error(relyingParty, SignInSubjects()) == nil)
    }

    @Test(
        "A passing failure is not remembered",
        arguments: [#"{"error":"temporarily_unavailable"}"#, #"{"error":"invalid_client"}"#, "{}"])
    func passingFailure(_ text: String) async throws {
        let carrier = FakeCarrier { $0.discovery = .json(text, status: 503) }
        let relyingParty = try carrier.relyingParty()
        #expect(try await error(relyingParty, SignInSubjects()) != nil)
        carrier.change { $0.discovery = .json(FakeCarrier.metadata.text) }
        #expect(try await error(relyingParty, SignInSubjects()) == nil)
    }

    @Test("A network may name only the issuer first seen for it")
    func firstSeenIssuer() async throws {
        let carrier = FakeCarrier()
        let relyingParty = try carrier.relyingParty { $0.cache.staleLifetime = 0 }
        _ = try await relyingParty.provider(SignInSubjects())
        let other = FakeCarrier.metadata.with("issuer", "\"https://other.carrier.example\"").text
        carrier.change { $0.discovery = .json(other) }
        carrier.clock.advance(bySeconds: 86400)
        #expect(try await error(relyingParty, SignInSubjects())?.code == .metadataRefused)
        carrier.change { $0.discovery = .json(FakeCarrier.metadata.text) }
        #expect(try await error(relyingParty, SignInSubjects()) == nil)
    }

    static let operators: [(hosts: [String], field: String, host: String, isOne: Bool)] =
        ["token_endpoint", "jwks_uri", "userinfo_endpoint"].flatMap { field in
            [
                (["*.carrier.example", "*.evil.example"], field, "keys.carrier.example", true),
                (["*.carrier.example", "*.evil.example"], field, "keys.evil.example", false),
                (["*.carrier.example", "*.example.test"], field, "login.carrier.example.example.test", false),
                (["*.carrier.example", "carrier.example"], field, "carrier.example", true),
                (["login.carrier.example", "keys.carrier.example"], field, "keys.carrier.example", true),
                (["login.carrier.example", "keys.other.example"], field, "keys.other.example", false),
                (["login.carrier.example", "*.evil.example"], field, "keys.evil.example", false),
                (["login.carrier.example", "10.0.0.1"], field, "10.0.0.1", false),
            ]
        }

    @Test("A carrier that names another operator's issuer beside its own endpoints is refused", arguments: operators)
    func borrowedIssuer(_ hosts: [String], _ field: String, _ host: String, _ isOne: Bool) async throws {
        let metadata = FakeCarrier.metadata.with(field, "\"https://\(host)/x\"").text
        let carrier = FakeCarrier { $0.discovery = .json(metadata) }
        let trusted = TrustedHosts(hosts.compactMap(TrustedHosts.Pattern.init))
        let relyingParty = try carrier.relyingParty { $0.trustedHosts = trusted }
        #expect(try await error(relyingParty, SignInSubjects())?.code == (isOne ? nil : .metadataRefused))
        // The operator knows better.
        let subjects = try SignInSubjects()
        let pinned = try carrier.relyingParty {
            $0.trustedHosts = trusted
            $0.pinnedIssuers = [subjects.network: TokenDraft.issuer]
        }
        #expect(await error(pinned, subjects) == nil)
    }

    @Test("A flood of unknown networks does not prevent sign-ins of a known network")
    func flood() async throws {
        let gate = Gate()
        let carrier = FakeCarrier()
        let relyingParty = try carrier.relyingParty()
        _ = try await relyingParty.provider(SignInSubjects())
        carrier.clock.advance(bySeconds: 86400)
        carrier.change { $0.gates[FakeCarrier.discoveryURL] = gate }
        let held = (0..<256).map { number in
            Task { await error(relyingParty, try SignInSubjects(network: String(200_000 + number))) }
        }
        await gate.untilWaiting(256)
        #expect(try await error(relyingParty, SignInSubjects(network: "201000"))?.code == .overloaded)
        #expect(try await relyingParty.provider(SignInSubjects()).issuer == TokenDraft.issuer)
        gate.open()
        for task in held { _ = await task.result }
    }

    @Test("A network may name only the issuer configured for it")
    func configuredIssuer() async throws {
        let carrier = FakeCarrier()
        let subjects = try SignInSubjects()
        let other = try carrier.relyingParty { $0.pinnedIssuers = [subjects.network: "https://other.carrier.example"] }
        #expect(await error(other, subjects)?.code == .metadataRefused)
        let same = try carrier.relyingParty { $0.pinnedIssuers = [subjects.network: TokenDraft.issuer] }
        #expect(await error(same, subjects) == nil)
    }

    @Test("Networks may share an issuer, but none can change its key set URL before the issuer itself does")
    func sharedIssuer() async throws {
        let metadata = FakeCarrier.metadata.with("mccmnc", nil)
        let carrier = FakeCarrier { $0.discovery = .json(metadata.text, cacheControl: "max-age=60") }
        let third = try SignInSubjects(network: "310997")
        let pinned = try carrier.relyingParty { $0.pinnedIssuers = [third.network: TokenDraft.issuer] }
        let unpinned = try carrier.relyingParty()
        for relyingParty in [pinned, unpinned] {
            for network in ["310999", "310998"] {
                #expect(await error(relyingParty, try SignInSubjects(network: network)) == nil)
            }
        }
        let moved = metadata.with("jwks_uri", "\"\(FakeCarrier.keysURL)-of-another\"")
        carrier.change { $0.discovery = .json(moved.text, cacheControl: "max-age=60") }
        #expect(await error(unpinned, third)?.code == .metadataRefused)
        // The operator knows better.
        #expect(await error(pinned, third) == nil)
        // The keys can still move: once the issuer's own configuration has the new URL, the networks may have it.
        carrier.clock.advance(bySeconds: 60)
        for network in ["310999", "310998", "310997"] {
            let provider = try await unpinned.provider(SignInSubjects(network: network))
            #expect(provider.jwksURI?.text == FakeCarrier.keysURL + "-of-another")
        }
    }

    @Test("A network whose discovery fails does not prevent the others from changing their key set URL")
    func sharedIssuerOfFailingNetwork() async throws {
        let metadata = FakeCarrier.metadata.with("mccmnc", nil)
        let carrier = FakeCarrier { $0.discovery = .json(metadata.text, cacheControl: "max-age=60") }
        let relyingParty = try carrier.relyingParty()
        let first = try SignInSubjects()
        #expect(await error(relyingParty, first) == nil)
        carrier.clock.advance(bySeconds: 60)
        carrier.change { $0.discovery = OutboundResponse(status: 500) }
        #expect(try await relyingParty.provider(first).jwksURI?.text == FakeCarrier.keysURL)
        let moved = metadata.with("jwks_uri", "\"\(FakeCarrier.keysURL)-moved\"")
        carrier.change { $0.discovery = .json(moved.text, cacheControl: "max-age=60") }
        #expect(await error(relyingParty, try SignInSubjects(network: "310998")) == nil)
    }

    @Test("Concurrent callers share one request, even if the first is cancelled")
    func singleFlight() async throws {
        let gate = Gate()
        let carrier = FakeCarrier { $0.gates[FakeCarrier.discoveryURL] = gate }
        let relyingParty = try carrier.relyingParty()
        let subjects = try SignInSubjects()
        let leader = Task { await error(relyingParty, subjects) }
        await gate.untilWaiting()
        let followers = (0..<20).map { _ in Task { await error(relyingParty, subjects) } }
        leader.cancel()
        await Task.yield()
        gate.open()
        for follower in followers { #expect(await follower.value == nil) }
        #expect(await leader.value == nil)
        #expect(discoveries(carrier) == 1)
    }

    @Test("All callers that share a failing request get its error, and the next call sends another request")
    func failingLeader() async throws {
        let gate = Gate()
        let carrier = FakeCarrier {
            $0.gates[FakeCarrier.discoveryURL] = gate
            $0.failures[FakeCarrier.discoveryURL] = OutboundError(.timedOut, mayHaveBeenSent: true, reason: "")
        }
        let relyingParty = try carrier.relyingParty()
        let subjects = try SignInSubjects()
        let callers = (0..<5).map { _ in Task { await error(relyingParty, subjects) } }
        await gate.untilWaiting()
        gate.open()
        for caller in callers { #expect(await caller.value?.code == .timedOut) }
        carrier.change { $0.failures = [:] }
        #expect(await error(relyingParty, subjects) == nil)
    }

    @Test("A hanging request for one network does not delay another")
    func otherNetwork() async throws {
        let gate = Gate()
        let carrier = FakeCarrier { $0.gates[FakeCarrier.discoveryURL + "?client_id=client-1&mccmnc=310998"] = gate }
        let relyingParty = try carrier.relyingParty()
        let hanging = try SignInSubjects(network: "310998")
        let held = Task { await error(relyingParty, hanging) }
        await gate.untilWaiting()
        #expect(try await error(relyingParty, SignInSubjects()) == nil)
        gate.open()
        #expect(await held.value?.code == .metadataRefused)
    }

    @Test("The number of cached networks is limited")
    func bounded() async throws {
        let metadata = FakeCarrier.metadata.with("mccmnc", nil).text
        let carrier = FakeCarrier { $0.discovery = .json(metadata, cacheControl: "max-age=600") }
        let relyingParty = try carrier.relyingParty { $0.cache.maximumNetworks = 2 }
        for network in ["310001", "310002", "310003"] {
            _ = try await relyingParty.provider(SignInSubjects(network: network))
        }
        #expect(discoveries(carrier) == 3)
        for network in ["310002", "310003"] { _ = try await relyingParty.provider(SignInSubjects(network: network)) }
        #expect(discoveries(carrier) == 3)
        _ = try await relyingParty.provider(SignInSubjects(network: "310001"))
        #expect(discoveries(carrier) == 4)
    }
}
