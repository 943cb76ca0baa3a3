import CarrierSimulator
import HTTPServer
import HTTPTypes
import LatchkeyConfiguration
import OpenIDConnect
import Primitives
import TestSupport
import Testing

/// A carrier whose entry at the discovery service names another carrier's issuer, with keys and endpoints of its own.
@Suite("No carrier takes another carrier's users over")
struct IssuerTakeoverTests {
    private static let victim = SignInHarness.mccmnc
    private static let thief = "310410"

    /// From now on the thief's metadata names the victim's issuer, and its ID tokens the victim's user.
    private func steal(_ subject: String?, _ harness: SignInHarness) {
        let issuer = harness.simulator.issuer(of: Self.victim) ?? ""
        harness.simulator.update(Self.thief) { carrier in
            carrier.tampering.brokerMetadata.append { $0["issuer"] = .string(issuer) }
            carrier.tampering.idTokens.append {
                $0.claims["iss"] = .string(issuer)
                if let subject { $0.claims["sub"] = .string(subject) }
            }
        }
    }

    /// The victim's own configuration, in any form.
    private func setOwn(_ harness: SignInHarness, _ edit: @escaping @Sendable (inout Response) -> Void) {
        harness.simulator.update(Self.victim) { $0.tampering.responses[.configuration] = [edit] }
    }

    /// Signs the victim's user in, and returns the subject that the carrier named.
    private func signInVictim(_ app: App, _ harness: SignInHarness) async throws -> String? {
        let subject = SharedText()
        harness.simulator.update(Self.victim) { carrier in
            carrier.tampering.idTokens = [{ subject.value = $0.claims["sub"]?.string }]
        }
        try await expectVictim(app, harness)
        return subject.value
    }

    /// The victim's users sign in as usual.
    private func expectVictim(_ app: App, _ harness: SignInHarness) async throws {
        let answer = try await app.signIn(harness.authorizedResponse(mccmnc: Self.victim))
        #expect(answer.status == 200)
    }

    private func signInThief(_ app: App, _ harness: SignInHarness) async throws -> App.Answer {
        try await app.signIn(harness.authorizedResponse(mccmnc: Self.thief))
    }

    private func expectRefusal(_ answer: App.Answer, _ words: String) {
        #expect(answer.status == 502)
        #expect(answer.json["error"]?.string == "carrier_error")
        let description = answer.json["error_description"]?.string ?? ""
        #expect(description.contains(words), "\(description)")
    }

    @Test("not by a server that has just started on the same database, with or without the issuer's own word")
    func afterRestart() async throws {
        try await SignInHarness.with { harness in
            let subject = try await signInVictim(harness.app, harness)
            #expect(subject != nil)
            steal(subject, harness)
            try await harness.withInstance { app, _ in
                expectRefusal(try await signInThief(app, harness), "than the issuer's own OpenID configuration")
                try await expectVictim(app, harness)
            }
            for edit in Self.outages {
                setOwn(harness, edit)
                try await harness.withInstance { app, _ in
                    expectRefusal(try await signInThief(app, harness), "does not confirm them")
                    // The carrier is known: nothing of this concerns it.
                    try await expectVictim(app, harness)
                }
            }
        }
    }

    private static let outages: [@Sendable (inout Response) -> Void] = [
        { $0 = Response(status: .notFound) }, { $0 = Response(status: .internalServerError) },
        { $0.body = Array("<html>".utf8) },
    ]

    @Test("not before the victim's carrier was ever seen, which then signs in as usual")
    func unseen() async throws {
        try await SignInHarness.with { harness in
            steal(nil, harness)
            expectRefusal(
                try await signInThief(harness.app, harness), "than the issuer's own OpenID configuration")
            #expect(try await signInVictim(harness.app, harness) != nil)
            expectRefusal(
                try await signInThief(harness.app, harness), "than the issuer's own OpenID configuration")
        }
    }

    @Test("not after all metadata has expired")
    func afterExpiry() async throws {
        let clock = ManualClock(secondsSinceEpoch: 1_800_000_000)
        try await SignInHarness.with(clock: clock.wallClock) { harness in
            let subject = try await signInVictim(harness.app, harness)
            steal(subject, harness)
            for _ in 0..<2 {
                clock.advance(bySeconds: 86_400 * 3)
                expectRefusal(
                    try await signInThief(harness.app, harness), "than the issuer's own OpenID configuration")
            }
            try await expectVictim(harness.app, harness)
        }
    }

    @Test("not for long where a lie came first: the issuer's own word ends it, on every instance that asks")
    func earlierLie() async throws {
        try await SignInHarness.with { harness in
            setOwn(harness) { $0 = Response(status: .notFound) }
            steal(nil, harness)
            #expect(try await signInThief(harness.app, harness).status == 200)
            try await harness.withInstance { app, _ in
                expectRefusal(try await app.signIn(harness.authorizedResponse(mccmnc: Self.victim)), "does not confirm")
            }
            harness.simulator.update(Self.victim) { $0.tampering = .init() }
            try await harness.withInstance { app, _ in
                try await expectVictim(app, harness)
                expectRefusal(try await signInThief(app, harness), "than the issuer's own OpenID configuration")
            }
        }
    }

    @Test("and a carrier may move its keys: by its own word, or by the operator's")
    func movedKeys() async throws {
        try await SignInHarness.with { harness in
            #expect(try await signInVictim(harness.app, harness) != nil)
            let move: @Sendable (inout JSONMembers) -> Void = {
                $0["jwks_uri"] = .string(($0["jwks_uri"]?.string ?? "") + "?new")
            }
            harness.simulator.update(Self.victim) { $0.tampering.brokerMetadata = [move] }
            try await harness.withInstance { app, _ in
                expectRefusal(
                    try await app.signIn(harness.authorizedResponse(mccmnc: Self.victim)), "configure the network's")
            }
            var pinned = harness.configuration
            let network = try #require(MCCMNC(Self.victim))
            pinned.zenkey.issuers[network] = EndpointURL(
                harness.simulator.issuer(of: Self.victim) ?? "", policy: .allowLoopbackHTTP)
            try await SignInHarness.withServer(pinned) { app in
                try await expectVictim(app, harness)
            }
            // What the operator has accepted stays accepted.
            try await harness.withInstance { app, _ in
                try await expectVictim(app, harness)
            }
        }
        try await SignInHarness.with { harness in
            #expect(try await signInVictim(harness.app, harness) != nil)
            harness.simulator.update(Self.victim) { carrier in
                carrier.tampering.objects[.discovery, default: []].append {
                    $0["jwks_uri"] = .string(($0["jwks_uri"]?.string ?? "") + "?new")
                }
            }
            try await harness.withInstance { app, _ in
                try await expectVictim(app, harness)
            }
        }
    }

    @Test("and the issuer itself is asked once for a carrier, whatever the number of sign-ins and servers")
    func requests() async throws {
        try await SignInHarness.with { harness in
            for _ in 0..<3 { #expect(try await signInVictim(harness.app, harness) != nil) }
            try await harness.withInstance { app, _ in
                try await expectVictim(app, harness)
            }
            #expect(harness.simulator.log.count(.configuration, Self.victim) == 1)
            #expect(harness.simulator.log.count(.discovery, Self.victim) == 2)
        }
    }

    @Test("and a refusal is counted with its reason")
    func counted() async throws {
        try await SignInHarness.with { harness in
            steal(nil, harness)
            _ = try await signInThief(harness.app, harness)
            let page = try await harness.app.send("GET", "/metrics")
            let text = String(decoding: page.response.body, as: UTF8.self)
            #expect(text.contains("latchkey_metadata_refusals_total{reason=\"contradicted\"} 1"))
        }
    }
}
