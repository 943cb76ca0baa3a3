import CarrierSimulator
import Crypto
import HTTPServer
import LatchkeyConfiguration
import OpenIDConnect
import Primitives
import SignIn
import TestSupport
import Testing

/// Redirect sign-ins with signed requests (RFC 9101) and signed responses (JARM), over real sockets.
@Suite(.serialized) struct SignedAuthorizationTests {
    private static let privateKey = P256.Signing.PrivateKey()

    /// A walk whose client has a private key that the carriers know.
    private func withWalk(
        _ configure: (inout Configuration) -> Void = { _ in }, _ body: (ProviderWalk) async throws -> Void
    ) async throws {
        let key = try ClientKey(parsing: Secret(Self.privateKey.pemRepresentation))
        try await ProviderWalk.with(
            configure: { configuration in
                configuration.providers[0].clients[0].signingKey = key
                configuration.zenkey.clients[0].signingKey = key
                configure(&configuration)
            }, register: { $0.publicKeyPEM = Self.privateKey.publicKey.pemRepresentation }
        ) { try await body($0) }
    }

    private func names(_ page: Browser.Page) -> [String] { page.parameters.items.map(\.name) }

    @Test("A provider that requires signed requests gets one, by the browser")
    func signedRequest() async throws {
        try await withWalk { walk in
            walk.harness.simulator.setFaults([.requestObjectRequired], for: "acme")
            let browser = Browser()
            let asked = try await walk.start(browser, at: "acme", ["login_hint": "jane@example.org"])
            #expect(names(asked) == ["client_id", "response_type", "scope", "request"])
            let done = try await browser.get(try await walk.approved(browser, asked))
            #expect(done.parameters["status"] == "success", "\(done.location)")
            #expect(try await walk.userID(browser) != nil)
        }
    }

    @Test("A carrier that requires signed and pushed requests gets a request object pushed")
    func pushed() async throws {
        try await withWalk { walk in
            walk.harness.simulator.setFaults([.requestObjectRequired, .parRequired], for: SignInHarness.mccmnc)
            let browser = Browser()
            let asked = try await walk.start(browser, at: "zenkey", ["mccmnc": SignInHarness.mccmnc])
            #expect(names(asked) == ["client_id", "request_uri"])
            let pushed = try #require(walk.harness.simulator.log.last(.pushedAuthorization, SignInHarness.mccmnc))
            #expect(pushed["request"] != nil)
            #expect(pushed["redirect_uri"] == nil)
            let done = try await browser.get(try await walk.approved(browser, asked))
            #expect(done.parameters["status"] == "success", "\(done.location)")
        }
    }

    @Test("Without a private key, the sign-in ends at the frontend; with request_object: never it goes unsigned")
    func impossible() async throws {
        try await withWalk {
            $0.providers[0].clients[0].signingKey = nil
        } _: { walk in
            walk.harness.simulator.setFaults([.requestObjectRequired], for: "acme")
            let ended = try await walk.start(Browser(), at: "acme")
            #expect(ended.location.hasPrefix(ProviderWalk.webURI + "?action=login&status=failure"))
            #expect(walk.harness.simulator.log.count(.authorization, "acme") == 0)
        }
        try await withWalk {
            $0.providers[0].extensions.signedRequestObjects = .never
        } _: { walk in
            walk.harness.simulator.setFaults([.requestObjectRequired], for: "acme")
            let asked = try await walk.start(Browser(), at: "acme")
            #expect(asked.parameters["code_challenge"] != nil)
            #expect(try await Browser().get(asked.location).status == 400, "the provider enforces what it requires")
        }
    }

    @Test("A user signs in with a signed response, and an error comes in one, too", arguments: ["jwt", "query.jwt"])
    func signedResponse(_ mode: String) async throws {
        try await withWalk {
            $0.providers[0].rules.responseMode = AuthorizationResponseMode(rawValue: mode) ?? .query
        } _: { walk in
            let browser = Browser()
            let asked = try await walk.start(browser, at: "acme")
            #expect(asked.parameters["response_mode"] == mode)
            let back = try await walk.approved(browser, asked)
            #expect(back.contains("?response="))
            #expect(!back.contains("code="))
            let done = try await browser.get(back)
            #expect(done.parameters["status"] == "success", "\(done.location)")
            #expect(try await Browser().get(back).status == 400, "the state is spent")
            #expect(try await browser.get(back).location == done.location, "the same end for the same browser")
            walk.harness.simulator.setFaults([.authorizationDenied], for: "acme")
            let denied = try await walk.signIn(Browser(), at: "acme")
            #expect(denied.parameters["error"] == "access_denied", "\(denied.location)")
        }
    }

    @Test("A client with ES256 accepts ES256 alone")
    func algorithm() async throws {
        for (algorithm, isAccepted) in [(SigningAlgorithm.es256, true), (.rs256, false)] {
            try await withWalk {
                $0.providers[1].rules.responseMode = .jwt
                $0.providers[1].clients[0].responseSigningAlgorithm = algorithm
            } _: { walk in
                let done = try await walk.signIn(Browser(), at: "globex")
                #expect((done.parameters["status"] == "success") == isAccepted)
                #expect(done.status == (isAccepted ? 303 : 400))
            }
        }
    }

    static let refused: [(CarrierSimulator.Fault, String)] = [
        (.jarmUnsigned, "not signed"), (.jarmMixed, "beside other parameters"), (.jarmOtherIssuer, "(issuer)"),
        (.jarmMissingIssuer, "(issuer)"), (.jarmOtherAudience, "(audience)"), (.jarmMissingAudience, "(audience)"),
        (.jarmExpired, "(expiry)"), (.jarmMissingExpiry, "(expiry)"), (.jarmBadSignature, "(signature)"),
        (.jarmAlgNone, "(format)"), (.authorizationMissingState, "(state)"),
    ]

    @Test(
        "A response that breaks a rule ends on a page, redeems no code, and leaves the sign-in alone",
        arguments: refused)
    func fails(_ fault: CarrierSimulator.Fault, _ says: String) async throws {
        try await withWalk {
            $0.providers[0].rules.responseMode = .jwt
        } _: { walk in
            let browser = Browser()
            let asked = try await walk.start(browser, at: "acme")
            walk.harness.simulator.setFaults([fault], for: "acme")
            let page = try await browser.get(try await walk.approved(browser, asked))
            #expect(page.status == 400)
            #expect(page.text.contains(says), "\(page.text)")
            #expect(page.text.contains("could not be confirmed") && !page.text.contains("entered"), "\(page.text)")
            #expect(walk.harness.simulator.log.count(.token, "acme") == 0)
            walk.harness.simulator.setFaults([], for: "acme")
            let done = try await browser.get(try await walk.approved(browser, asked))
            #expect(done.parameters["status"] == "success", "the state was not spent: \(done.location)")
        }
    }

    @Test("A response for another client of the same provider ends the sign-in with an error, and redeems no code")
    func otherClient() async throws {
        try await withWalk {
            $0.providers[0].rules.responseMode = .jwt
            var other = $0.providers[0].clients[0]
            guard let id = ClientID("another-client") else { return }
            other.id = id
            $0.providers[0].clients.append(other)
        } _: { walk in
            walk.harness.simulator.setFaults([.jarmOtherAudience], for: "acme")
            let done = try await walk.signIn(Browser(), at: "acme", ["client_id": SignInHarness.clientID])
            #expect(done.parameters["error"] == "carrier_error", "\(done.location) \(done.text)")
            #expect(walk.harness.simulator.log.count(.token, "acme") == 0)
        }
    }

    @Test("A JWT that was not asked for is refused")
    func unasked() async throws {
        try await withWalk { walk in
            let browser = Browser()
            let asked = try await walk.start(browser, at: "acme")
            let changed = asked.location + "&response_mode=jwt"
            var form: [String: String] = ["user": "jane", "response_mode": "jwt"]
            for item in asked.parameters.items { form[item.name] = item.value }
            let back = try await browser.post(changed.prefix { $0 != "?" } + "/approve", form: form).location
            #expect(back.contains("response="))
            let page = try await browser.get(back)
            #expect(page.status == 400)
            #expect(page.text.contains("not asked for"))
        }
    }

    @Test("With form_post.jwt the form is sent again with the cookie, and has the JWT only")
    func form() async throws {
        try await withWalk {
            $0.providers[0].rules.responseMode = .jwt
        } _: { walk in
            let browser = Browser()
            let back = try await walk.approved(browser, try await walk.start(browser, at: "acme"))
            let response = String(back.split(separator: "response=").last ?? "")
            let callback = walk.origin + "/auth/acme/callback"
            let passed = try await Browser().post(callback, form: ["response": response])
            #expect(passed.text.contains("name=\"response\""))
            let done = try await browser.post(callback, form: ["response": response, "sent_again": "true"])
            #expect(done.parameters["status"] == "success", "\(done.location)")
        }
    }
}
