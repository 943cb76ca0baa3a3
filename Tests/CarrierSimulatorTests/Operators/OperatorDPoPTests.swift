import CarrierSimulator
import Crypto
import HTTPServer
import HTTPTypes
import Primitives
import TestSupport
import Testing

/// How an operator binds access tokens to a key (CAMARA Security and Interoperability Profile r4.2, section
/// "Sender-Constrained Tokens").
@Suite("DPoP at an operator")
struct OperatorDPoPTests {
    private typealias Proof = DPoPTests.Proof

    private let operators = OperatorHarness()
    private static let path = "/operators/northwind"
    private static let check = path + "/api/sim-swap/v2/check"
    private static let body = #"{"phoneNumber":"+12025550123"}"#

    private func headers(_ proof: Proof?, _ authorization: String? = nil) throws -> HTTPFields {
        var headers = HTTPFields()
        headers[.authorization] = authorization
        if let proof {
            headers[try #require(HTTPField.Name("DPoP"))] = try proof.text(at: operators.carriers.clock.now)
        }
        return headers
    }

    private func token(_ proof: Proof?) async throws -> Response {
        try await operators.carriers.post(
            Self.path + "/token",
            [
                ("grant_type", "client_credentials"), ("scope", "dpv:FraudPreventionAndDetection sim-swap:check"),
                ("client_assertion", try operators.assertion()),
                ("client_assertion_type", OperatorHarness.assertionType),
            ], headers: try headers(proof))
    }

    private func call(_ authorization: String, _ proof: Proof?) async throws -> Response {
        var headers = try headers(proof, authorization)
        headers[.contentType] = "application/json"
        return try await operators.simulator.router.respond(
            to: try Request(.post, Self.check, headers: headers, body: Array(Self.body.utf8)))
    }

    private func nonce(of response: Response) throws -> String? {
        response.headers[try #require(HTTPField.Name("DPoP-Nonce"))]
    }

    private static let tokenProof = Proof(url: Harness.base + path + "/token")

    @Test("An operator that demands DPoP of a client lists the algorithms only, and gives no token without a proof")
    func demanded() async throws {
        operators.simulator.update("northwind") { $0.operatorProfile?.demandsDPoP = true }
        let metadata = try await operators.carriers.get(Self.path + "/.well-known/openid-configuration").object()
        #expect(metadata["dpop_signing_alg_values_supported"]?.array == [.string("ES256")])
        #expect(metadata["dpop_bound_access_tokens"] == nil)
        #expect(try Refused(try await token(nil)) == Refused(400, "invalid_dpop_proof"))
        #expect(try await token(Self.tokenProof).object()["token_type"]?.string == "DPoP")
    }

    @Test("A bound token is good at an API with a proof of its key that names it, and with no other")
    func bound() async throws {
        operators.simulator.setFaults([.dpopSupported], for: "northwind")
        let response = try await token(Self.tokenProof).object()
        let token = try #require(response["access_token"]?.string)
        func use(_ change: (inout Proof) -> Void = { _ in }) -> Proof {
            Proof(key: Self.tokenProof.key, url: Harness.base + Self.check, accessToken: token).with(change)
        }
        for (scheme, proof) in [
            ("Bearer", nil), ("Bearer", use()), ("DPoP", nil), ("DPoP", use { $0.key = .init() }),
            ("DPoP", use { $0.accessToken = nil }), ("DPoP", use { $0.url += "/" }),
        ] as [(String, Proof?)] {
            let refused = try await call("\(scheme) \(token)", proof)
            #expect(try Refused(refused) == Refused(401, "UNAUTHENTICATED"))
        }
        #expect(try await call("DPoP \(token)", use()).status == .ok)
    }

    @Test("Where it demands camara:bh, a proof must have the hash of the body, and the metadata says so")
    func bodyHash() async throws {
        operators.simulator.setFaults([.dpopSupported], for: "northwind")
        let token = try #require(try await token(Self.tokenProof).object()["access_token"]?.string)
        operators.simulator.update("northwind") {
            $0.operatorProfile?.demandedProofClaims = ["camara:bh", "camara:qh"]
        }
        let metadata = try await operators.carriers.get(Self.path + "/.well-known/openid-configuration").object()
        #expect(metadata["camara_dpop_claims_required"]?.array == [.string("camara:bh"), .string("camara:qh")])
        let proof = Proof(key: Self.tokenProof.key, url: Harness.base + Self.check, accessToken: token)
        for body in [nil, "", Self.body + " "] {
            let refused = try await call("DPoP \(token)", proof.with { $0.body = body })
            #expect(try Refused(refused) == Refused(401, "UNAUTHENTICATED"))
        }
        #expect(try await call("DPoP \(token)", proof.with { $0.body = Self.body }).status == .ok)
    }

    @Test("A nonce is demanded at the token endpoint and at the APIs, each its own, and each response has the next one")
    func nonces() async throws {
        operators.simulator.setFaults([.dpopRequired, .dpopNonce], for: "northwind")
        let demand = try await token(Self.tokenProof)
        #expect(try Refused(demand) == Refused(400, "use_dpop_nonce"))
        let first = try #require(try nonce(of: demand))
        let granted = try await token(Self.tokenProof.with { ($0.nonce, $0.id) = (first, "second") })
        let ofToken = try #require(try nonce(of: granted))
        let token = try #require(try granted.object()["access_token"]?.string)
        func use(_ nonce: String?) -> Proof {
            Proof(key: Self.tokenProof.key, url: Harness.base + Self.check, accessToken: token, nonce: nonce)
        }
        let challenge = try await call("DPoP \(token)", use(ofToken))
        #expect(try Refused(challenge) == Refused(401, "UNAUTHENTICATED"))
        #expect(challenge.headers[.wwwAuthenticate]?.contains(#"error="use_dpop_nonce""#) == true)
        let ofAPI = try #require(try nonce(of: challenge))
        let done = try await call("DPoP \(token)", use(ofAPI))
        #expect(done.status == .ok)
        #expect(try nonce(of: done) != nil)
    }
}
