import CarrierSimulator
import Crypto
import Primitives
import TestSupport
import Testing

/// Access tokens that are bound to a key.
extension CAMARARequirements {
    static let ofDPoP: [CAMARAScenario] = [
        CAMARAScenario(
            id: "Sender-Constrained Tokens", what: "DPoP, where the operator demands it by the client's registration",
            verdict: "every token request and every call of an API has a proof, at the APIs with `ath`",
            simSwap: "{if_swapped: report}", check: everyRequestHasAProof),
        CAMARAScenario(
            id: "Sender-Constrained Tokens", what: "DPoP, where the metadata demands it or only lists it",
            verdict: "the same", simSwap: "{if_swapped: report}", check: everyRequestHasAProofByMetadata),
        CAMARAScenario(
            id: "Sender-Constrained Tokens", what: "the operator's nonces in proofs",
            verdict: "a request is sent once more with the nonce demanded, and the next ones have the newest nonce",
            simSwap: "{if_swapped: report}", check: noncesAreAnsweredOnce),
        CAMARAScenario(
            id: "Sender-Constrained Tokens", what: "`camara:bh` and `camara:qh`, where the metadata demands them",
            verdict: "every proof has the hash of the body, and of the query where there is one; otherwise neither",
            simSwap: "{if_swapped: report}", check: contentIsBound),
        CAMARAScenario(
            id: "Sender-Constrained Tokens", what: "tokens that are not bound in spite of a proof",
            verdict: "uses a Bearer token where the metadata does not demand bound ones; `dpop: always` refuses it",
            simSwap: "{if_swapped: report}", check: bearerTokensInSpiteOfAProof),
    ]

    private typealias Preparation = @Sendable (NumberWalk) -> Void

    @Sendable private static func everyRequestHasAProof(_ walk: NumberWalk) async throws {
        let prepare: Preparation = { walk in
            walk.simulator.update("northwind") { $0.operatorProfile?.demandsDPoP = true }
        }
        try await walk.expectProofs(prepare)
    }

    @Sendable private static func everyRequestHasAProofByMetadata(_ walk: NumberWalk) async throws {
        try await walk.expectProofs { $0.set([.dpopSupported]) }
        try await NumberWalk.with(simSwap: "{if_swapped: report}") { walk in
            try await walk.expectProofs { $0.set([.dpopRequired]) }
        }
    }

    @Sendable private static func noncesAreAnsweredOnce(_ walk: NumberWalk) async throws {
        try await walk.expectProofs { $0.set([.dpopRequired, .dpopNonce]) }
        // The authorization server and the APIs give nonces of their own: one demand of each.
        let demanded = try walk.bound.filter { try NumberWalk.claims($0.proof)["nonce"] == nil }
        #expect(demanded.map(\.endpoint) == [.token, .devicePhoneNumber])
    }

    @Sendable private static func contentIsBound(_ walk: NumberWalk) async throws {
        try await walk.expectProofs { walk in
            walk.simulator.update("northwind") { carrier in
                carrier.operatorProfile?.demandsDPoP = true
                carrier.operatorProfile?.demandedProofClaims = ["camara:bh", "camara:qh"]
            }
        }
        // No request of Latchkey to an operator has a query. `DPoPProofTests` has one.
        for request in walk.bound {
            let claims = try NumberWalk.claims(request.proof)
            #expect(claims["camara:bh"]?.string?.utf8.count == 43 && claims["camara:qh"] == nil)
        }
        try await NumberWalk.with { (walk) async throws in
            walk.simulator.update("northwind") { $0.operatorProfile?.demandsDPoP = true }
            #expect(try await walk.signIn().result == "success")
            for request in walk.bound { #expect(try NumberWalk.claims(request.proof)["camara:bh"] == nil) }
        }
    }

    @Sendable private static func bearerTokensInSpiteOfAProof(_ walk: NumberWalk) async throws {
        walk.set([.dpopSupported, .dpopBearer])
        try await walk.useEveryRequest()
        #expect(walk.all(.token).allSatisfy { $0.proof != nil })
        let calls = walk.bound.filter { $0.endpoint != .token }
        #expect(calls.allSatisfy { $0.proof == nil && $0.authorization?.hasPrefix("Bearer ") == true })
        try await NumberWalk.with(more: ["dpop: always"]) { (walk) async throws in
            walk.set([.dpopSupported, .dpopBearer])
            #expect(try await walk.signIn().result == "carrier_error")
            #expect(walk.count(.devicePhoneNumber) == 0)
        }
    }
}

extension NumberWalk {
    /// The requests that a token is bound by or used in, oldest first.
    fileprivate var bound: [CarrierSimulator.RequestLog.Entry] {
        let endpoints: Set<Endpoint> = [.token, .devicePhoneNumber, .numberVerify, .simSwapCheck]
        return simulator.log.entries.filter { endpoints.contains($0.endpoint) && $0.mccmnc == "northwind" }
    }

    /// Signs in by redirects and with an operator token, and verifies a number: every API that Latchkey uses.
    fileprivate func useEveryRequest() async throws {
        let first = try await signIn()
        #expect(first.result == "success")
        #expect(try await signInByToken().result == "success")
        let answer = try await harness.app.asUser(
            "POST", "/users/me/phone/verifications", try #require(first.token),
            ["operator": "northwind", "operator_token": try #require(simulator.makeOperatorToken(at: "northwind"))])
        #expect(answer.json["status"]?.string == "verified", "\(answer.response)")
    }

    /// Expects proofs in all requests, also in those for operator tokens by backchannel authentication.
    /// - Parameter prepare: Sets what the operator demands.
    fileprivate func expectProofs(_ prepare: @Sendable (NumberWalk) -> Void) async throws {
        prepare(self)
        try await useEveryRequest()
        #expect(Set(bound.map(\.endpoint)) == [.token, .devicePhoneNumber, .numberVerify, .simSwapCheck])
        #expect(grants == ["authorization_code", "jwt-bearer", "client_credentials"])
        #expect(try last(.authorization)["dpop_jkt"]?.utf8.count == 43)
        try expectProofsInRequests()
        try await NumberWalk.with(simSwap: "{if_swapped: report}") { walk in
            prepare(walk)
            walk.simulator.update("northwind") { $0.operatorProfile?.acceptsJWTBearer = false }
            #expect(try await walk.signInByToken().result == "success")
            #expect(walk.grants == ["ciba", "client_credentials"])
            try walk.expectProofsInRequests()
        }
    }

    private var grants: Set<String> {
        Set(all(.token).compactMap { $0["grant_type"]?.split(separator: ":").last.map(String.init) })
    }

    /// Expects a proof in each request, of its own, that names the access token if there is one.
    private func expectProofsInRequests() throws {
        var ids: Set<String> = []
        for request in bound {
            let claims = try NumberWalk.claims(request.proof)
            ids.insert(claims["jti"]?.string ?? "")
            guard request.endpoint != .token else {
                #expect(claims["ath"] == nil)
                continue
            }
            let words = request.authorization?.split(separator: " ").map(String.init) ?? []
            #expect(words.first == "DPoP" && words.count == 2)
            let hash = Base64URL.encode(Array(SHA256.hash(data: Array((words.last ?? "").utf8))))
            #expect(claims["ath"]?.string == hash)
        }
        #expect(ids.count == bound.count)
        #expect(simulator.log.refusals(at: "northwind").isEmpty)
    }
}
