import Primitives
import Synchronization
import TestSupport
import Testing

@testable import OpenIDConnect

/// The carrier's network is 310999; 310666 is a network whose metadata names the carrier's issuer.
@Suite("The issuer that metadata may name")
struct IssuerVerificationTests {
    static let issuer = TokenDraft.issuer
    static let evilKeys = "https://evil.carrier.example/jwks"
    static let network = "310999"
    static let thief = "310666"

    /// The carrier's metadata, as the discovery service has it for any network.
    private static let honest = FakeCarrier.metadata.with("mccmnc", nil)
    /// The carrier's issuer with the keys and endpoints of another carrier below the same wildcard.
    private static let stolen = honest.with("jwks_uri", "\"\(evilKeys)\"")
        .with("token_endpoint", "\"https://evil.carrier.example/token\"")

    private static func response(_ draft: JSONDraft, maxAge: Int = 60) -> OutboundResponse {
        .json(draft.text, cacheControl: "max-age=\(maxAge)")
    }

    private static let notFound = OutboundResponse(status: 404)

    /// The carrier, the thief, and what is kept while relying parties come and go.
    private struct Stage {
        let carrier: FakeCarrier
        let bindings = MemoryIssuerBindings()

        /// - Parameter own: What the issuer says itself; nil for the truth.
        init(own: OutboundResponse? = nil) {
            carrier = FakeCarrier {
                $0.discovery = response(honest)
                $0.networks[thief] = response(stolen)
                $0.configurations[issuer] = own ?? response(honest)
            }
        }

        /// A relying party that has just started.
        func started(
            _ change: (inout RelyingParty.Configuration) -> Void = { _ in }
        ) throws -> RelyingParty { try carrier.relyingParty(bindings: bindings, change) }

        func setOwn(_ response: OutboundResponse) { carrier.change { $0.configurations[issuer] = response } }
        var ownRequests: Int {
            carrier.http.requests(to: issuer + "/.well-known/openid-configuration").count
        }
    }

    private func error(_ party: RelyingParty, _ network: String) async throws -> OIDCError? {
        let subjects = try SignInSubjects(network: network)
        return await failure { () throws(OIDCError) in try await party.provider(subjects) }
    }

    private func isRefused(_ party: RelyingParty, _ network: String) async throws -> Bool {
        let error = try await error(party, network)
        if let error { #expect(error.code == .metadataRefused) }
        return error != nil
    }

    @Test("Another network cannot take a known issuer over, not after a restart, and not after its metadata expired")
    func takeover() async throws {
        let stage = Stage()
        let party = try stage.started()
        #expect(try await error(party, Self.network) == nil)
        #expect(try await isRefused(party, Self.thief))
        // The metadata of both was fresh for a minute.
        stage.carrier.clock.advance(bySeconds: 66)
        #expect(try await isRefused(party, Self.thief))
        #expect(try await error(party, Self.network) == nil)
        stage.carrier.clock.advance(bySeconds: 200_000)
        #expect(try await isRefused(party, Self.thief))
        let again = try stage.started()
        #expect(try await isRefused(again, Self.thief))
        #expect(try await error(again, Self.network) == nil)
    }

    @Test(
        "A restart forgets no issuer, whatever its own configuration says then",
        arguments: [
            Self.notFound, OutboundResponse(status: 500), .json("<html>"), OutboundResponse(status: 302),
            .json(Self.stolen.with("issuer", "\"https://other.carrier.example\"").text),
        ])
    func restart(_ own: OutboundResponse) async throws {
        let stage = Stage()
        #expect(try await error(stage.started(), Self.network) == nil)
        stage.setOwn(own)
        let again = try stage.started()
        #expect(try await isRefused(again, Self.thief))
        #expect(try await error(again, Self.network) == nil)
    }

    @Test("A network cannot name the issuer of a carrier that was never seen with other keys than the issuer's own")
    func unseen() async throws {
        let stage = Stage()
        let party = try stage.started()
        #expect(try await isRefused(party, Self.thief))
        #expect(try await error(party, Self.network) == nil)
    }

    static let otherEndpoints: [(String, String)] = [
        ("jwks_uri", "https://evil.carrier.example/jwks"), ("jwks_uri", "\(issuer)/other-keys"),
        ("token_endpoint", "https://evil.carrier.example/token"),
        ("token_endpoint", "https://login.carrier.example:444/token"),
        ("userinfo_endpoint", "https://evil.carrier.example/userinfo"),
        ("authorization_endpoint", "https://evil.carrier.example/authorize"),
        ("server_initiated_authorization_endpoint", "https://evil.carrier.example/async"),
        ("pushed_authorization_request_endpoint", "https://evil.carrier.example/par"),
    ]

    @Test("Keys and each endpoint are verified, at the first sight of a network and later", arguments: otherEndpoints)
    func fields(_ field: String, _ value: String) async throws {
        let stage = Stage()
        stage.carrier.change { $0.networks[Self.thief] = Self.response(Self.honest.with(field, "\"\(value)\"")) }
        #expect(try await isRefused(stage.started(), Self.thief))
        #expect(try await error(stage.started(), Self.network) == nil)
        #expect(try await isRefused(stage.started(), Self.thief))
    }

    static let aliases = [
        "token_endpoint", "userinfo_endpoint", "pushed_authorization_request_endpoint",
        "backchannel_authentication_endpoint",
    ]

    @Test("An alias for requests with a certificate is an endpoint, too", arguments: aliases)
    func alias(_ name: String) async throws {
        let stage = Stage()
        let aliased = Self.honest.with("mtls_endpoint_aliases", #"{"\#(name)":"https://mtls.carrier.example/x"}"#)
        stage.carrier.change { $0.networks[Self.thief] = Self.response(aliased) }
        #expect(try await isRefused(stage.started(), Self.thief))
        // The issuer's own configuration confirms it.
        stage.setOwn(Self.response(aliased))
        #expect(try await error(stage.started(), Self.thief) == nil)
    }

    @Test("A path that differs on the same host is no other endpoint")
    func paths() async throws {
        let stage = Stage()
        let moved = Self.honest.with("token_endpoint", "\"\(Self.issuer)/token/310666\"")
        stage.carrier.change { $0.networks[Self.thief] = Self.response(moved) }
        #expect(try await error(stage.started(), Self.thief) == nil)
    }

    @Test("Two networks may share an issuer and its keys, and the second costs no request to the issuer")
    func shared() async throws {
        let stage = Stage()
        let party = try stage.started()
        for network in [Self.network, "310998", "310997"] { #expect(try await error(party, network) == nil) }
        #expect(stage.ownRequests == 1)
    }

    @Test("A known carrier is not asked again: not while its metadata is cached, when it is renewed, or at a restart")
    func requests() async throws {
        let stage = Stage()
        let party = try stage.started()
        for _ in 0..<3 {
            #expect(try await error(party, Self.network) == nil)
            stage.carrier.clock.advance(bySeconds: 60)
        }
        #expect(try await error(stage.started(), Self.network) == nil)
        #expect(stage.ownRequests == 1)
    }

    @Test("An own configuration that hangs or is unusable does not delay a known carrier, and no lie passes meanwhile")
    func hanging() async throws {
        let stage = Stage()
        #expect(try await error(stage.started(), Self.network) == nil)
        let gate = Gate()
        stage.carrier.change { $0.gates[Self.issuer + "/.well-known"] = gate }
        let again = try stage.started()
        let lie = Task { try await isRefused(again, Self.thief) }
        await gate.untilWaiting()
        #expect(try await error(again, Self.network) == nil)
        stage.setOwn(.json("{"))
        gate.open()
        let wasRefused = try await lie.value
        #expect(wasRefused)
        let request = try #require(
            stage.carrier.http.requests.last { $0.url.text.hasSuffix("/.well-known/openid-configuration") })
        #expect(request.timeout == .seconds(5))
        #expect(request.maximumBodyBytes == 65_536)
    }

    @Test(
        "Without the issuer's own configuration, a new carrier is refused, and the next sign-in tries again",
        arguments: [
            (OutboundResponse(status: 500), OIDCError.Code.unusableResponse),
            (OutboundResponse(status: 403), .unusableResponse), (.json("<html>"), .unusableResponse),
            (.json(Self.honest.with("issuer", "\"https://other.carrier.example\"").text), .metadataRefused),
        ])
    func unavailable(_ own: OutboundResponse, _ code: OIDCError.Code) async throws {
        let stage = Stage(own: own)
        let party = try stage.started()
        for _ in 0..<2 {
            let found = try await error(party, Self.network)
            #expect(found?.code == code)
            #expect(found?.codeMayBeSpent == false)
            #expect(found?.reason.contains("is not available to verify it") == true)
        }
        // The failure is remembered for a while.
        #expect(stage.ownRequests == 1)
        stage.setOwn(Self.response(Self.honest))
        stage.carrier.clock.advance(bySeconds: 30)
        #expect(try await error(party, Self.network) == nil)
    }

    @Test("A time-out of the issuer's own configuration is reported as one")
    func timeout() async throws {
        let stage = Stage()
        stage.carrier.change {
            $0.failures[Self.issuer + "/.well-known"] = OutboundError(.timedOut, mayHaveBeenSent: true, reason: "")
        }
        #expect(try await error(stage.started(), Self.network)?.code == .timedOut)
    }

    @Test("Where the issuer publishes no configuration, the first keys stay", arguments: [404, 410])
    func firstUse(_ status: Int) async throws {
        let stage = Stage(own: OutboundResponse(status: status))
        #expect(try await error(stage.started(), Self.network) == nil)
        #expect(try await isRefused(stage.started(), Self.thief))
        #expect(try await error(stage.started(), Self.network) == nil)
        #expect(try await error(stage.started(), "310998") == nil)
    }

    @Test(
        "A lie that came first does not lock the carrier out once its issuer says otherwise", arguments: [true, false])
    func firstLie(_ thiefComesFirst: Bool) async throws {
        let stage = Stage(own: Self.notFound)
        let party = try stage.started()
        #expect(try await error(party, Self.thief) == nil)
        // Nothing tells which of them is right.
        #expect(try await isRefused(party, Self.network))
        stage.setOwn(Self.response(Self.honest))
        stage.carrier.clock.advance(bySeconds: 30)
        if thiefComesFirst {
            stage.carrier.clock.advance(bySeconds: 30)
            #expect(try await isRefused(party, Self.thief))
        }
        #expect(try await error(party, Self.network) == nil)
        // The lie does not serve on from the cache, nor from what is kept.
        #expect(try await isRefused(party, Self.thief))
        #expect(try await isRefused(stage.started(), Self.thief))
        // The network itself may tell the truth.
        stage.carrier.change { $0.networks[Self.thief] = nil }
        #expect(try await error(party, Self.thief) == nil)
    }

    @Test("Keys may move to another URL once the issuer's own configuration says so")
    func movedKeys() async throws {
        let stage = Stage()
        let party = try stage.started()
        #expect(try await error(party, Self.network) == nil)
        let moved = Self.honest.with("jwks_uri", "\"\(Self.issuer)/new-keys\"")
        stage.carrier.change { $0.discovery = Self.response(moved) }
        stage.carrier.clock.advance(bySeconds: 60)
        // The cached metadata serves on, but not after a restart.
        #expect(try await party.provider(SignInSubjects()).jwksURI?.text == FakeCarrier.keysURL)
        #expect(try await isRefused(stage.started(), Self.network))
        stage.setOwn(Self.response(moved))
        stage.carrier.clock.advance(bySeconds: 60)
        for party in [party, try stage.started()] {
            #expect(try await party.provider(SignInSubjects()).jwksURI?.text == Self.issuer + "/new-keys")
        }
        // The former keys are no longer the issuer's.
        stage.carrier.change { $0.networks["310998"] = Self.response(Self.honest) }
        #expect(try await isRefused(party, "310998"))
    }

    @Test("A change that the cached configuration of the issuer does not have yet is accepted a minute later")
    func cachedConfiguration() async throws {
        let stage = Stage(own: Self.response(Self.honest, maxAge: 86_400))
        let party = try stage.started()
        #expect(try await error(party, Self.network) == nil)
        let moved = Self.honest.with("jwks_uri", "\"\(Self.issuer)/new-keys\"")
        stage.carrier.change { $0.discovery = Self.response(moved) }
        stage.setOwn(Self.response(moved))
        stage.carrier.clock.advance(bySeconds: 60)
        #expect(try await party.provider(SignInSubjects()).jwksURI?.text == FakeCarrier.keysURL)
        stage.carrier.clock.advance(bySeconds: 60)
        #expect(try await party.provider(SignInSubjects()).jwksURI?.text == Self.issuer + "/new-keys")
        #expect(stage.ownRequests == 2)
    }

    @Test("A network keeps its issuer over a restart, also if the other issuer confirms itself")
    func otherIssuer() async throws {
        let stage = Stage()
        #expect(try await error(stage.started(), Self.network) == nil)
        let other = Self.honest.with("issuer", "\"https://other.carrier.example\"")
        stage.carrier.change {
            $0.discovery = Self.response(other)
            $0.configurations["https://other.carrier.example"] = Self.response(other)
        }
        #expect(try await isRefused(stage.started(), Self.network))
        #expect(try await error(stage.started(), "310998") == nil)
        let network = try SignInSubjects().network
        let pinned = try stage.started { $0.pinnedIssuers = [network: "https://other.carrier.example"] }
        #expect(try await error(pinned, Self.network) == nil)
        // What was accepted stays accepted without the pin.
        #expect(try await error(stage.started(), Self.network) == nil)
    }

    @Test("The operator's word counts against stored keys and the issuer's own configuration, and costs no request")
    func pinned() async throws {
        let stage = Stage()
        let thief = try SignInSubjects(network: Self.thief).network
        let pinned = try stage.started { $0.pinnedIssuers = [thief: Self.issuer] }
        #expect(try await error(pinned, Self.thief) == nil)
        #expect(stage.ownRequests == 0)
        // The issuer's own configuration still vouches for others.
        #expect(try await error(pinned, Self.network) == nil)
        #expect(stage.ownRequests == 1)
    }

    @Test("No network is the first to name the issuer that the operator configured for another")
    func pinnedElsewhere() async throws {
        let stage = Stage(own: Self.notFound)
        #expect(try await error(stage.started(), Self.thief) == nil)
        let network = try SignInSubjects().network
        let pinned = try stage.started { $0.pinnedIssuers = [network: Self.issuer] }
        #expect(try await isRefused(pinned, Self.thief))
        #expect(try await error(pinned, Self.network) == nil)
        #expect(try await isRefused(pinned, Self.thief))
        #expect(try await error(pinned, "310998") == nil)
    }

    @Test("Endpoints of another operator are refused, also if the issuer's own configuration has them")
    func operators() async throws {
        let other = "\"https://id.other.example/x\""
        let fields = ["token_endpoint", "jwks_uri", "userinfo_endpoint"].map { ($0, other) }
        let aliases = Self.aliases.map { ("mtls_endpoint_aliases", "{\"\($0)\":\(other)}") }
        for (field, value) in fields + aliases {
            let borrowed = Self.honest.with(field, value)
            let stage = Stage(own: Self.response(borrowed))
            stage.carrier.change { $0.discovery = Self.response(borrowed) }
            let hosts = ["*.carrier.example", "*.other.example"].compactMap(TrustedHosts.Pattern.init)
            #expect(try await isRefused(stage.started { $0.trustedHosts = TrustedHosts(hosts) }, Self.network))
        }
    }

    @Test("An issuer that serves its metadata itself is the one that was asked (Discovery section 4.3)")
    func itself() async throws {
        let carrier = FakeCarrier()
        #expect(try await error(carrier.relyingParty(ofIssuer: Self.issuer), Self.network) == nil)
        #expect(try await isRefused(carrier.relyingParty(ofIssuer: "https://other.carrier.example"), Self.network))
    }

    private final class Reported: Sendable { let texts = Mutex<[String]>([]) }

    @Test("A refusal is reported with its network, issuer and reason")
    func reported() async throws {
        let stage = Stage()
        let reported = Reported()
        var observer = RelyingPartyObserver()
        observer.metadataRefusal = { network, issuer, reason in
            reported.texts.withLock { $0.append("\(network.text) \(issuer) \(reason.rawValue)") }
        }
        let party = try stage.carrier.relyingParty(bindings: stage.bindings, observer: observer)
        #expect(try await isRefused(party, Self.thief))
        #expect(reported.texts.withLock { $0 } == ["310666 \(Self.issuer) contradicted"])
        #expect(try await error(party, Self.network) == nil)
        stage.setOwn(Self.notFound)
        stage.carrier.clock.advance(bySeconds: 200_000)
        #expect(try await isRefused(party, Self.thief))
        #expect(reported.texts.withLock { $0.last } == "310666 \(Self.issuer) keys_changed")
    }

    /// A store that cannot be reached.
    private struct Unreachable: IssuerBindings {
        func known(of network: MCCMNC, _ issuer: String) throws(OIDCError) -> KnownIssuer { throw Self.failure }
        func bind(_ network: MCCMNC, to binding: IssuerBinding) throws(OIDCError) -> KnownIssuer { throw Self.failure }
        func forgetFirstUse(_ issuer: String) throws(OIDCError) { throw Self.failure }
        private static let failure = OIDCError(.storeUnavailable, reason: "scripted")
    }

    @Test("A store that cannot tell does not count as one that knows nothing; pinned networks do not need it")
    func unreachable() async throws {
        let stage = Stage()
        let party = try stage.carrier.relyingParty(bindings: Unreachable())
        #expect(try await error(party, Self.network)?.code == .storeUnavailable)
        let network = try SignInSubjects().network
        let pinned = try stage.carrier.relyingParty(bindings: Unreachable()) {
            $0.pinnedIssuers = [network: Self.issuer]
        }
        #expect(try await error(pinned, Self.network) == nil)
    }

    @Test("The number of kept networks and issuers is limited, and no further one is trusted unseen")
    func bounded() throws {
        let bindings = MemoryIssuerBindings()
        func binding(_ number: Int, _ trust: IssuerBinding.Trust = .firstUse) -> IssuerBinding {
            IssuerBinding(
                issuer: "https://\(number).example", jwksURI: "k", tokenHost: "t", hosts: [], trust: trust)
        }
        for number in 0..<KnownIssuers.maximumCount {
            let network = try #require(MCCMNC(String(100_000 + number)))
            #expect(bindings.bind(network, to: binding(number)).binding == binding(number))
        }
        let network = try #require(MCCMNC("999999"))
        #expect(bindings.bind(network, to: binding(9999)) == KnownIssuer())
        #expect(bindings.bind(network, to: binding(0, .confirmed)).networkIssuer == nil)
    }
}
