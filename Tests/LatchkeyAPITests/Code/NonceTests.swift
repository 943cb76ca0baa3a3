import HTTPTypes
import OpenIDConnect
import Primitives
import SignIn
import StorageModel
import TestSupport
import Testing

/// Nonces that the server issues.
@Suite("An issued nonce")
struct NonceTests {
    private func nonce(_ app: TestApp) async throws -> String {
        let answer = try await app.send(.post, "/auth/zenkey/attempts")
        #expect(answer.status == 200)
        #expect(answer.integer("expires_in") == 600)
        #expect(answer.text("state")?.isEmpty == false)
        let nonce = try #require(answer.text("nonce"))
        app.carrier.script { $0.nonce = nonce }
        return nonce
    }

    private func body(_ nonce: String, code: String) -> SignInBody {
        SignInBody().code(code).with("nonce", "\"\(nonce)\"")
    }

    @Test("is valid for one sign-in and its retries")
    func once() async throws {
        let app = try TestApp(client: { $0.nonce = .issued })
        let nonce = try await nonce(app)
        #expect(try await app.signIn(body(nonce, code: "CODE-1")).status == 200)
        #expect(try await app.signIn(body(nonce, code: "CODE-1")).status == 200)
        let stolen = try await app.signIn(body(nonce, code: "CODE-2"))
        #expect(stolen.status == 400)
        #expect(stolen.description.contains("nonce was not issued"))
        #expect(app.carrier.tokenPosts == 1)
    }

    @Test("expires after ten minutes")
    func expired() async throws {
        let app = try TestApp(client: { $0.nonce = .issued })
        let nonce = try await nonce(app)
        app.clock.advance(bySeconds: 601)
        #expect(try await app.signIn(body(nonce, code: "CODE-1")).status == 400)
    }

    @Test("is required for a client configured for issued nonces")
    func ownNonce() async throws {
        let app = try TestApp(client: { $0.nonce = .issued })
        #expect(try await app.signIn().status == 400)
        let without = try await app.signIn(SignInBody().with("nonce", nil))
        #expect(without.description.contains("nonce is missing"))
        #expect(app.carrier.tokenPosts == 0)
    }

    @Test("is not spent if the carrier cannot be reached")
    func carrierAway() async throws {
        let app = try TestApp(client: { $0.nonce = .issued })
        let nonce = try await nonce(app)
        let unreachable: FakeCarrier.Answer = { _ throws(OutboundError) in
            throw OutboundError(.unreachable, mayHaveBeenSent: false, reason: "scripted")
        }
        app.carrier.script { $0.discovery = unreachable }
        #expect(try await app.signIn(body(nonce, code: "CODE-1")).status == 502)
        app.carrier.script {
            $0.discovery = nil
            $0.token = unreachable
        }
        #expect(try await app.signIn(body(nonce, code: "CODE-1")).status == 502)
        #expect(try await app.signIn(body(nonce, code: "CODE-2")).status == 400)
        app.carrier.script { $0.token = nil }
        #expect(try await app.signIn(body(nonce, code: "CODE-1")).status == 200)
    }

    @Test("is issued for known providers only")
    func unknownProvider() async throws {
        #expect(try await TestApp().send(.post, "/auth/nobody/attempts").status == 404)
    }
}
