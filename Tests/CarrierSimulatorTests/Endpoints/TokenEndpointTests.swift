import CarrierSimulator
import HTTPServer
import HTTPTypes
import Primitives
import TestSupport
import Testing

@Suite("Token endpoint")
struct TokenEndpointTests {
    let carriers = Harness()

    @Test("A valid request gets every member of a token response, which is not cacheable")
    func goodRequest() async throws {
        let code = try carriers.code(scope: "openid email")
        let response = try await carriers.redeem(code, changing: ["correlation_id": "c-1"])
        #expect(response.status == .ok)
        #expect(response.headers[.cacheControl] == "no-store")
        let answer = try response.object()
        #expect(answer["token_type"]?.string == "Bearer")
        #expect(answer["expires_in"]?.integer == 600)
        #expect(answer["correlation_id"]?.string == "c-1")
        #expect(answer["scope"]?.string == "openid email")
        #expect(answer["access_token"]?.string?.count == 43)
        #expect(answer["refresh_token"]?.string?.count == 43)
    }

    @Test("expires_in is a string if the carrier writes it as one")
    func expiresInAsText() async throws {
        #expect(try await carriers.signIn("310260")["expires_in"]?.string == "600")
    }

    @Test("The ID token has the requested claims and the clock's time")
    func claims() async throws {
        let code = try carriers.code(context: "Pay 5.00")
        carriers.clock.advance(bySeconds: 20)
        let response = try await carriers.redeem(code).object()
        let token = try SignedToken(try response["id_token"]?.string.required ?? "")
        #expect(token.header["typ"]?.string == "JWT")
        #expect(token.claims["iss"]?.string == "https://carriers.example/carriers/310010")
        #expect(token.claims["aud"]?.string == "shop")
        #expect(token.claims["nonce"]?.string == "n-1")
        #expect(token.claims["acr"]?.string == "a1")
        #expect(token.claims["context"]?.string == "Pay 5.00")
        #expect(token.claims["auth_time"]?.integer == 1_800_000_000)
        #expect(token.claims["iat"]?.integer == 1_800_000_020)
        #expect(token.claims["exp"]?.integer == 1_800_000_620)
        #expect(token.claims["sub"]?.string?.hasPrefix("310010-") == true)
        #expect(token.claims["at_hash"] == nil)
    }

    @Test("The published key verifies the ID token", arguments: [("310010", "RS256"), ("311870", "ES256")])
    func signature(mccmnc: String, algorithm: String) async throws {
        let token = try SignedToken(try await carriers.signIn(mccmnc)["id_token"]?.string.required ?? "")
        let keys = try await carriers.keySet(mccmnc)
        #expect(keys.count == 1)
        #expect(token.algorithm == algorithm)
        #expect(keys[0]["alg"]?.string == algorithm)
        #expect(keys[0]["kid"]?.string == token.keyID)
        #expect(token.isSigned(by: keys[0]))
    }

    @Test("No carrier's key verifies another carrier's token")
    func keysDiffer() async throws {
        let token = try SignedToken(try await carriers.signIn("310010")["id_token"]?.string.required ?? "")
        for key in try await carriers.keySet("310410") {
            #expect(!token.isSigned(by: key))
        }
    }

    @Test("at_hash is the left half of the access token's hash, if the carrier includes it")
    func accessTokenHash() async throws {
        let response = try await carriers.signIn("310260")
        let token = try SignedToken(try response["id_token"]?.string.required ?? "")
        let hash = Digests.sha256(try response["access_token"]?.string.required ?? "")
        #expect(token.claims["at_hash"]?.string == Base64URL.encode(hash.prefix(16)))
    }

    @Test("A subject is stable and differs between clients and between carriers")
    func pairwiseSubjects() async throws {
        func subject(_ mccmnc: String) async throws -> String? {
            try SignedToken(try await carriers.signIn(mccmnc)["id_token"]?.string.required ?? "").claims["sub"]?.string
        }
        let code = try carriers.simulator.issueCode(
            mccmnc: "310010", clientID: "other", redirectURI: "https://other.example/back",
            codeChallenge: Harness.challenge)
        let response = try await carriers.redeem(
            code, changing: ["redirect_uri": "https://other.example/back"],
            authorization: Forms.basic(id: "other", secret: "other-secret")
        ).object()
        let others = try SignedToken(try response["id_token"]?.string.required ?? "").claims["sub"]?.string
        let first = try await subject("310010")
        #expect(try await subject("310010") == first)
        #expect(try await subject("310410")?.dropFirst(7) != first?.dropFirst(7))
        #expect(others != first)
    }

    struct Refused: Sendable, CustomTestStringConvertible {
        let title: String
        let changes: [String: String?]
        let error: String
        var testDescription: String { title }
    }

    @Test(
        "An invalid request is refused",
        arguments: [
            Refused(title: "another grant type", changes: ["grant_type": "password"], error: "unsupported_grant_type"),
            Refused(title: "no code", changes: ["code": nil], error: "invalid_request"),
            Refused(title: "an unknown code", changes: ["code": "unknown"], error: "invalid_grant"),
            Refused(title: "no redirect URI", changes: ["redirect_uri": nil], error: "invalid_request"),
            Refused(
                title: "the client's other redirect URI", changes: ["redirect_uri": "com.example.shop:/back"],
                error: "invalid_grant"),
            Refused(
                title: "a redirect URI with a slash more", changes: ["redirect_uri": Harness.redirectURI + "/"],
                error: "invalid_grant"),
            Refused(title: "no verifier", changes: ["code_verifier": nil], error: "invalid_request"),
            Refused(
                title: "a verifier that is too short", changes: ["code_verifier": String(repeating: "v", count: 42)],
                error: "invalid_request"),
            Refused(
                title: "a verifier that is too long", changes: ["code_verifier": String(repeating: "v", count: 129)],
                error: "invalid_request"),
            Refused(
                title: "a verifier with other characters",
                changes: ["code_verifier": String(repeating: "v", count: 43) + "="], error: "invalid_request"),
            Refused(
                title: "another verifier", changes: ["code_verifier": String(repeating: "v", count: 43)],
                error: "invalid_grant"),
            Refused(title: "client_id beside Basic", changes: ["client_id": "shop"], error: "invalid_request"),
            Refused(title: "client_secret beside Basic", changes: ["client_secret": "x"], error: "invalid_request"),
        ])
    func refused(row: Refused) async throws {
        let response = try await carriers.redeem(try carriers.code(), changing: row.changes)
        #expect(response.status == .badRequest)
        #expect(try response.object()["error"]?.string == row.error)
    }

    @Test("Each carrier has its own error for a wrong code verifier")
    func wrongVerifierNames() async throws {
        let response = try await carriers.redeem(
            try carriers.code("310410"), at: "310410",
            changing: ["code_verifier": String(repeating: "v", count: 43)])
        #expect(try response.object()["error"]?.string == "request_denied")
    }

    @Test("A repeated parameter is refused")
    func repeatedParameter() async throws {
        let form = carriers.tokenForm(try carriers.code()) + [("scope", "openid"), ("scope", "openid")]
        let response = try await carriers.post(
            "/carriers/310010/token", form,
            headers: [.authorization: Forms.basic(id: Harness.clientID, secret: Harness.secret)])
        #expect(try response.object()["error"]?.string == "invalid_request")
    }

    @Test("Content that is not a form is refused")
    func otherContentType() async throws {
        let response = try await carriers.post("/carriers/310010/token", json: "{}")
        #expect(try response.object()["error"]?.string == "invalid_request")
    }

    @Test("A code is valid once; a second use also revokes the access token of the first")
    func singleUse() async throws {
        let code = try carriers.code()
        let response = try await carriers.redeem(code).object()
        let bearer: HTTPFields = [.authorization: "Bearer \(try response["access_token"]?.string.required ?? "")"]
        #expect(try await carriers.get("/carriers/310010/userinfo", headers: bearer).status == .ok)
        #expect(try await carriers.redeem(code).object()["error"]?.string == "invalid_grant")
        #expect(try await carriers.get("/carriers/310010/userinfo", headers: bearer).status == .unauthorized)
    }

    @Test("A wrong code verifier spends the code")
    func wrongVerifierSpends() async throws {
        let code = try carriers.code()
        _ = try await carriers.redeem(code, changing: ["code_verifier": String(repeating: "v", count: 43)])
        #expect(try await carriers.redeem(code).object()["error"]?.string == "invalid_grant")
    }

    @Test("A code is valid for five minutes", arguments: [(299, true), (300, false)])
    func expiry(seconds: Int64, isGood: Bool) async throws {
        let code = try carriers.code()
        carriers.clock.advance(bySeconds: seconds)
        #expect(try await carriers.redeem(code).status == (isGood ? .ok : .badRequest))
    }

    @Test("Beyond ten thousand codes, a new code replaces the oldest")
    func boundedCodes() async throws {
        let oldest = try carriers.code()
        let second = try carriers.code()
        for _ in 0..<9_999 { _ = try carriers.code() }
        #expect(try await carriers.redeem(oldest).object()["error"]?.string == "invalid_grant")
        #expect(try await carriers.redeem(second).status == .ok)
    }

    @Test("Another carrier or another client cannot redeem a code and does not spend it")
    func otherCarrierAndClient() async throws {
        let code = try carriers.code()
        #expect(try await carriers.redeem(code, at: "310410").object()["error"]?.string == "invalid_grant")
        let other = Forms.basic(id: "other", secret: "other-secret")
        #expect(try await carriers.redeem(code, authorization: other).object()["error"]?.string == "invalid_grant")
        #expect(try await carriers.redeem(code).status == .ok)
    }

    @Test(
        "Unauthenticated clients get 401 with a Basic challenge",
        arguments: [
            nil, "Bearer abc", "Basic", "Basic ***", Forms.basic(encoded: "shop"),
            Forms.basic(id: "shop", secret: "wrong"), Forms.basic(id: "nobody", secret: Harness.secret),
            // The secret without form encoding: its colon makes three parts.
            Forms.basic(encoded: "shop:\(Harness.secret)"),
        ])
    func badClients(authorization: String?) async throws {
        let code = try carriers.code()
        let response = try await carriers.redeem(code, authorization: authorization)
        #expect(response.status == .unauthorized)
        #expect(response.headers[.wwwAuthenticate]?.hasPrefix("Basic") == true)
        #expect(try response.object()["error"]?.string == "invalid_client")
        #expect(try await carriers.redeem(code).status == .ok)
    }

    @Test("An unknown carrier is not found")
    func unknownCarrier() async throws {
        await #expect(throws: HTTPError.self) { try await carriers.post("/carriers/99999/token", []) }
    }
}
