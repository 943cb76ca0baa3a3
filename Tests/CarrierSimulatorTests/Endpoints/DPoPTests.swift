import CarrierSimulator
import Crypto
import HTTPServer
import HTTPTypes
import Primitives
import TestSupport
import Testing

/// How a carrier checks DPoP proofs (RFC 9449 section 4.3), and what it binds to their key.
@Suite("DPoP proofs")
struct DPoPTests {
    static let tokenURL = Harness.base + "/carriers/310010/token"
    static let pushURL = Harness.base + "/carriers/310010/par"
    static let userInfoURL = Harness.base + "/carriers/310010/userinfo"
    /// The faults that these tests cover.
    static let faults: [CarrierSimulator.Fault] = [
        .dpopSupported, .dpopRequired, .dpopNonce, .dpopBearer, .dpopEndlessNonces, .dpopLongNonce, .dpopInvalidNonce,
    ]

    /// A proof, which can be changed before it is signed.
    struct Proof: Sendable {
        var key = P256.Signing.PrivateKey()
        var type = "dpop+jwt"
        var algorithm = "ES256"
        var method = "POST"
        var url = DPoPTests.tokenURL
        var age: Int64 = 0
        var id: String? = RandomSource.system.token()
        var accessToken: String?
        var nonce: String?
        /// What `camara:bh` is the hash of; nil for none.
        var body: String?
        var hasPrivateMember = false
        var isForged = false

        var x: String { Base64URL.encode(key.publicKey.rawRepresentation.prefix(32)) }
        var y: String { Base64URL.encode(key.publicKey.rawRepresentation.suffix(32)) }

        var thumbprint: String {
            Base64URL.encode(Digests.sha256(#"{"crv":"P-256","kty":"EC","x":"\#(x)","y":"\#(y)"}"#))
        }

        func text(at now: Timestamp) throws -> String {
            var header = JSONObjectWriter()
            header.add("typ", type)
            header.add("alg", algorithm)
            let isPrivate = hasPrivateMember
            header.add(
                "jwk",
                object: { jwk in
                    for (name, value) in [("kty", "EC"), ("crv", "P-256"), ("x", x), ("y", y)] {
                        jwk.add(named: name, value)
                    }
                    if isPrivate { jwk.add("d", x) }
                })
            var claims = JSONObjectWriter()
            claims.add("htm", method)
            claims.add("htu", url)
            claims.add("iat", now.secondsSinceEpoch - age)
            claims.add("jti", ifPresent: id)
            claims.add("ath", ifPresent: accessToken.map { Base64URL.encode(Digests.sha256($0)) })
            claims.add("nonce", ifPresent: nonce)
            claims.add("camara:bh", ifPresent: body.map { Base64URL.encode(Digests.sha256($0)) })
            let signed = Base64URL.encode(header.finish()) + "." + Base64URL.encode(claims.finish())
            let signer = isForged ? P256.Signing.PrivateKey() : key
            let signature = try signer.signature(for: SHA256.hash(data: Array(signed.utf8))).rawRepresentation
            return signed + "." + Base64URL.encode(Array(signature))
        }

        func with(_ change: (inout Proof) -> Void) -> Proof {
            var proof = self
            change(&proof)
            return proof
        }
    }

    let carriers = Harness()

    private func set(_ faults: CarrierSimulator.Fault...) {
        carriers.simulator.setFaults(Set(faults), for: "310010")
    }

    private func headers(_ proofs: [Proof], _ authorization: String) throws -> HTTPFields {
        var headers = HTTPFields()
        headers[.authorization] = authorization
        let name = try #require(HTTPField.Name("DPoP"))
        for proof in proofs { headers.append(HTTPField(name: name, value: try proof.text(at: carriers.clock.now))) }
        return headers
    }

    private func redeem(_ code: String? = nil, _ proofs: Proof...) async throws -> Response {
        try await carriers.post(
            "/carriers/310010/token", carriers.tokenForm(try code ?? carriers.code(scope: "openid name")),
            headers: try headers(proofs, Forms.basic(id: Harness.clientID, secret: Harness.secret)))
    }

    private func userInfo(_ scheme: String, _ token: String, _ proofs: Proof...) async throws -> Response {
        try await carriers.get(
            "/carriers/310010/userinfo?correlation_id=c-1", headers: try headers(proofs, "\(scheme) \(token)"))
    }

    private func nonce(of response: Response) throws -> String? {
        response.headers[try #require(HTTPField.Name("DPoP-Nonce"))]
    }

    @Test("Metadata says what a carrier supports and demands")
    func metadata() async throws {
        let path = "/carriers/310010/.well-known/openid-configuration"
        let algorithms = "dpop_signing_alg_values_supported"
        #expect(try await carriers.get(path).object()[algorithms] == nil)
        set(.dpopSupported)
        #expect(try await carriers.get(path).object()[algorithms]?.array == [.string("ES256")])
        #expect(try await carriers.get(path).object()["dpop_bound_access_tokens"] == nil)
        set(.dpopRequired)
        #expect(try await carriers.get(path).object()["dpop_bound_access_tokens"]?.bool == true)
    }

    @Test("A token is bound to the key of its proof, and good with proofs of this key only")
    func bound() async throws {
        set(.dpopSupported)
        let proof = Proof()
        let response = try await redeem(nil, proof).object()
        #expect(response["token_type"]?.string == "DPoP")
        let token = try #require(response["access_token"]?.string)
        func use(_ change: (inout Proof) -> Void = { _ in }) -> Proof {
            Proof(key: proof.key, method: "GET", url: Self.userInfoURL, accessToken: token).with(change)
        }
        #expect(try await userInfo("DPoP", token, use()).status == .ok)
        #expect(try await userInfo("Bearer", token).status == .unauthorized)
        #expect(try await userInfo("Bearer", token, use()).status == .unauthorized)
        #expect(try await userInfo("DPoP", token).status == .unauthorized)
        #expect(try await userInfo("DPoP", token, use { $0.key = .init() }).status == .unauthorized)
        #expect(try await userInfo("DPoP", token, use { $0.accessToken = "other" }).status == .unauthorized)
        #expect(try await userInfo("DPoP", token, use { $0.accessToken = nil }).status == .unauthorized)
        let unbound = try await redeem().object()
        #expect(unbound["token_type"]?.string == "Bearer")
        let bearer = try #require(unbound["access_token"]?.string)
        #expect(try await userInfo("DPoP", bearer, use { $0.accessToken = bearer }).status == .unauthorized)
        set(.dpopSupported, .dpopBearer)
        #expect(try await redeem(nil, Proof()).object()["token_type"]?.string == "Bearer")
    }

    static let defects: [(name: String, change: @Sendable (inout Proof) -> Void)] = [
        ("typ", { $0.type = "JWT" }), ("alg", { $0.algorithm = "RS256" }), ("d", { $0.hasPrivateMember = true }),
        ("signature", { $0.isForged = true }), ("htm", { $0.method = "GET" }), ("htu", { $0.url += "?a" }),
        ("iat: old", { $0.age = 61 }), ("iat: future", { $0.age = -61 }), ("jti", { $0.id = nil }),
        ("ath", { $0.accessToken = "t" }),
    ]

    @Test("A wrong proof is refused, and the code stays good")
    func refused() async throws {
        set(.dpopSupported)
        let code = try carriers.code(scope: "openid name")
        for (name, change) in Self.defects {
            let response = try await redeem(code, Proof().with(change))
            #expect(response.status == .badRequest, "\(name)")
            #expect(try response.object()["error"]?.string == "invalid_dpop_proof", "\(name)")
        }
        let two = try await redeem(code, Proof(), Proof())
        #expect(try two.object()["error"]?.string == "invalid_dpop_proof")
        let proof = Proof()
        #expect(try await redeem(code, proof).status == .ok)
        #expect(try await redeem(nil, proof).object()["error"]?.string == "invalid_dpop_proof", "jti was used")
        set(.dpopRequired)
        #expect(try await redeem().object()["error"]?.string == "invalid_dpop_proof", "no proof")
    }

    @Test("A nonce is demanded, good once, and followed by the next one")
    func nonces() async throws {
        set(.dpopSupported, .dpopNonce)
        let code = try carriers.code(scope: "openid name")
        let demand = try await redeem(code, Proof())
        #expect(demand.status == .badRequest)
        #expect(try demand.object()["error"]?.string == "use_dpop_nonce")
        let first = try #require(try nonce(of: demand))
        let proof = Proof(nonce: first)
        let response = try await redeem(code, proof)
        #expect(response.status == .ok)
        let next = try #require(try nonce(of: response))
        #expect(next != first)
        #expect(try await redeem(nil, Proof(nonce: first)).object()["error"]?.string == "use_dpop_nonce")
        let token = try #require(try response.object()["access_token"]?.string)
        let use = Proof(key: proof.key, method: "GET", url: Self.userInfoURL, accessToken: token, nonce: next)
        let challenge = try await userInfo("DPoP", token, use)
        #expect(challenge.status == .unauthorized, "a resource has nonces of its own")
        #expect(challenge.headers[.wwwAuthenticate]?.contains(#"DPoP algs="ES256", error="use_dpop_nonce""#) == true)
        let resourceNonce = try nonce(of: challenge)
        #expect(
            try await userInfo(
                "DPoP", token,
                use.with {
                    $0.nonce = resourceNonce
                    $0.id = "another"
                }
            ).status == .ok)
    }

    @Test(
        "Faults of nonces",
        arguments: [
            (.dpopEndlessNonces, 22), (.dpopLongNonce, 513), (.dpopInvalidNonce, 8),
        ] as [(CarrierSimulator.Fault, Int)])
    func nonceFaults(_ fault: CarrierSimulator.Fault, _ length: Int) async throws {
        set(.dpopSupported, fault)
        for _ in 0..<2 {
            let response = try await redeem(nil, Proof())
            #expect(try response.object()["error"]?.string == "use_dpop_nonce")
            #expect(try nonce(of: response)?.utf8.count == length)
        }
    }

    @Test("A code is bound to the key that dpop_jkt or the proof of the pushed request names")
    func authorization() async throws {
        set(.dpopSupported)
        let proof = Proof(url: Self.pushURL)
        func push(_ changes: [String: String?], _ proofs: Proof...) async throws -> Response {
            try await carriers.post(
                "/carriers/310010/par", carriers.authorizationQuery(changing: changes),
                headers: try headers(proofs, Forms.basic(id: Harness.clientID, secret: Harness.secret)))
        }
        #expect(try await push(["dpop_jkt": "short"]).object()["error"]?.string == "invalid_request")
        let other = Proof().thumbprint
        #expect(try await push(["dpop_jkt": other], proof).object()["error"]?.string == "invalid_dpop_proof")
        for (changes, proofs) in [
            (["dpop_jkt": proof.thumbprint], []), ([:], [proof.with { $0.id = "2" }]),
            (["dpop_jkt": proof.thumbprint], [proof.with { $0.id = "3" }]),
        ] as [([String: String?], [Proof])] {
            let pushed = proofs.isEmpty ? try await push(changes) : try await push(changes, proofs[0])
            let requestURI = try #require(try pushed.object()["request_uri"]?.string)
            let form = [("client_id", Harness.clientID), ("request_uri", requestURI)]
            _ = try await carriers.get("/carriers/310010/authorize?\(Forms.encode(form))")
            let (_, query) = try await carriers.post("/carriers/310010/authorize/approve", form).destination()
            let code = try #require(query["code"])
            #expect(try await redeem(code, Proof()).object()["error"]?.string == "invalid_grant")
        }
    }
}
