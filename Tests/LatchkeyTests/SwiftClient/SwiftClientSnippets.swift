import CarrierSimulator
import Foundation
import LatchkeyClient
import LatchkeyConfiguration
import Registration
import SignIn
import TestSupport
import Testing

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The Swift code of docs/mobile-apps.md, which is copied from here.
@Suite(.serialized) struct SwiftClientSnippets {
    private let clientID = SignInHarness.clientID
    private let apiKey = "test-key"
    private let store = MemoryTokenStore()

    @Test("A new user signs in, registers, reads the account and signs out as docs/mobile-apps.md says")
    func signIn() async throws {
        try await SignInHarness.with(configure: { $0.registration.mode = .required }) { harness in
            let baseURL = try harness.url
            let fields = try harness.authorizedResponse()
            let (code, mccmnc, redirectURI) = (fields["code"] ?? "", SignInHarness.mccmnc, SignInHarness.redirectURI)
            let (codeVerifier, nonce) = (fields["code_verifier"], fields["nonce"])
            // snippet: swift-sign-in
            let latchkey = Latchkey(.init(baseURL: baseURL, clientID: clientID, apiKey: apiKey), tokens: store)
            // The values of the carrier's SDK, under its names.
            let response = AuthorizedResponse(
                code: code, mccmnc: mccmnc, redirectURI: redirectURI, codeVerifier: codeVerifier, nonce: nonce)
            do throws(LatchkeyError) {
                _ = try await latchkey.signIn(with: response)
            } catch {
                // If registration is required: send the carrier's attributes and the fields of a form.
                guard var registration = error.registration?.registration() else { throw error }
                registration.profile[.email] = "jo@example.org"
                registration.profile[.name] = "Jo"
                _ = try await latchkey.register(registration)
            }
            // end
            // snippet: swift-session
            let user = try await latchkey.me()
            let orders = try await latchkey.data(for: URLRequest(url: baseURL.appendingPathComponent("orders")))
            for session in try await latchkey.sessions() where !session.isCurrent {
                try await latchkey.revokeSession(session.id)
            }
            try await latchkey.signOut()
            // end
            #expect(user.profile[.email] == "jo@example.org")
            #expect(orders.1.statusCode == 404)
            #expect(await store.load() == nil)
        }
    }

    @Test("A user manages the account as docs/mobile-apps.md says")
    func account() async throws {
        try await ProviderWalk.with { walk in
            let latchkey = try walk.harness.client()
            _ = try await walk.harness.client().signIn(with: try walk.harness.sdkResponse())
            _ = try await latchkey.signIn(with: try walk.harness.sdkResponse())
            let fields = try walk.code(at: "acme")
            let other = AuthorizedResponse(
                code: fields["code"] ?? "", redirectURI: SignInHarness.redirectURI,
                codeVerifier: fields["code_verifier"], nonce: fields["nonce"])
            // snippet: swift-account
            let ended = try await latchkey.revokeOtherSessions()
            let identity = try await latchkey.linkIdentity(with: other, at: "acme")
            for known in try await latchkey.identities() where known != identity {
                try await latchkey.unlinkIdentity(known.id)
            }
            try await latchkey.eraseAccount()
            // end
            #expect(ended == 1)
            #expect(try await latchkey.isSignedIn() == false)
            _ = try await latchkey.signIn(with: try walk.harness.sdkResponse())
            #expect(try await latchkey.identities().count == 1, "of a new user")
        }
    }

    @Test("A user signs in through a browser and on the phone as docs/mobile-apps.md says")
    func otherWays() async throws {
        try await BackchannelHarness.with(configure: { configuration in
            configuration.zenkey.clients[0].redirectURIs.append("com.example.app:/signed-in")
        }) { harness in
            let latchkey = try harness.base.client()
            let mccmnc = SignInHarness.mccmnc
            func open(_ url: URL) async throws -> URL {
                let browser = Browser()
                let asked = try await browser.get(url.absoluteString + "&mccmnc=" + mccmnc)
                let back = try await browser.get(try await browser.approve(asked).location)
                return try #require(URL(string: back.location))
            }
            // snippet: swift-redirect
            let signIn = latchkey.startRedirect(to: "com.example.app:/signed-in")
            let callback = try await open(signIn.url)  // an ASWebAuthenticationSession for signIn.callbackScheme
            let session = try await latchkey.finish(signIn, callback: callback)
            // end
            let redirectURI = SignInHarness.redirectURI
            // snippet: swift-phone
            let request = try await latchkey.askOnPhone("+12025550123", mccmnc: mccmnc, redirectURI: redirectURI)
            // end
            #expect(try await harness.answerLatest(.approved) == [204])
            // snippet: swift-phone-wait
            let onPhone = try await latchkey.waitForApproval(request)
            // end
            #expect(session.isNewUser)
            #expect(!onPhone.isNewUser, "the user of the browser")
        }
    }
}
