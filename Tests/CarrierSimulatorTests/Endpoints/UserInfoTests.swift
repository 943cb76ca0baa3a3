import CarrierSimulator
import Crypto
import HTTPServer
import HTTPTypes
import Primitives
import TestSupport
import Testing

@Suite("Userinfo endpoint")
struct UserInfoTests {
    let carriers = Harness()

    private func userInfo(_ mccmnc: String, scope: String) async throws -> (claims: JSONObject, subject: String?) {
        let response = try await carriers.redeem(try carriers.code(mccmnc, scope: scope), at: mccmnc).object()
        let token = try SignedToken(try response["id_token"]?.string.required ?? "")
        let claims = try await carriers.get(
            "/carriers/\(mccmnc)/userinfo",
            headers: [.authorization: "Bearer \(response["access_token"]?.string ?? "")"]
        ).object()
        return (claims, token.claims["sub"]?.string)
    }

    @Test("The subject is that of the ID token, at each carrier", arguments: ["310010", "310410"])
    func subject(mccmnc: String) async throws {
        let (claims, subject) = try await userInfo(mccmnc, scope: "openid")
        #expect(claims["sub"]?.string == subject)
        #expect(claims.members.count == 1)
    }

    static let scopes = [
        ("name", ["sub", "name"], ["sub", "name", "given_name", "family_name"]),
        ("email", ["sub", "email"], ["sub", "email", "email_verified"]),
        ("phone", ["sub", "phone"], ["sub", "phone_number", "phone_number_verified"]),
        ("address", ["sub", "address"], ["sub", "address"]),
        ("birthdate", ["sub", "birthdate"], ["sub", "birthdate"]),
        ("postal_code", ["sub", "postal_code"], ["sub", "postal_code"]),
        ("is_adult_18", ["sub", "is_adult_18"], ["sub", "is_adult_18"]),
        ("is_adult_21", ["sub", "is_adult_21"], ["sub", "is_adult_21"]),
        ("is_over_13", ["sub", "is_over_13"], ["sub", "is_over_13"]),
        ("is_adult", ["sub", "is_adult"], ["sub", "is_adult"]),
        ("last_4_social", ["sub", "last_4_social"], ["sub", "last_4_social"]),
        ("proofing", ["sub", "proofing"], ["sub", "proofing"]),
    ]

    @Test("A scope grants only its own claims, in both shapes", arguments: scopes)
    func scope(_ row: (scope: String, nested: [String], flat: [String])) async throws {
        let nested = try await userInfo("310010", scope: "openid \(row.scope)").claims
        let flat = try await userInfo("310410", scope: "openid \(row.scope)").claims
        #expect(nested.members.map(\.name) == row.nested)
        #expect(flat.members.map(\.name) == row.flat)
    }

    @Test("The nested shape has an object for each attribute")
    func nestedShape() async throws {
        let claims = try await userInfo("310010", scope: "openid name email phone address is_adult_18").claims
        #expect(claims["name"]?.object?["value"]?.string == "Jane Doe")
        #expect(claims["name"]?.object?["given_name"]?.string == "Jane")
        #expect(claims["email"]?.object?["value"]?.string == "jane.doe@example.com")
        #expect(claims["phone"]?.object?["value"]?.string == "+12025550123")
        #expect(claims["address"]?.object?["value"]?.object?["postal_code"]?.string == "97477")
        #expect(claims["is_adult_18"]?.object?["value"]?.bool == true)
    }

    @Test("The flat shape has strings, and flags as strings")
    func flatShape() async throws {
        let claims = try await userInfo("310410", scope: "openid name email phone address").claims
        #expect(claims["name"]?.string == "Jane Doe")
        #expect(claims["email_verified"]?.string == "true")
        #expect(claims["phone_number"]?.string == "+12025550123")
        #expect(claims["address"]?.object?["locality"]?.string == "Springfield")
    }

    @Test("The claims are those of the chosen user")
    func otherUser() async throws {
        let code = try carriers.simulator.issueCode(
            mccmnc: "310410", clientID: Harness.clientID, redirectURI: Harness.redirectURI,
            codeChallenge: Harness.challenge, scope: "openid name", user: "ravi")
        let response = try await carriers.redeem(code, at: "310410").object()
        let claims = try await carriers.get(
            "/carriers/310410/userinfo", headers: [.authorization: "bearer \(response["access_token"]?.string ?? "")"]
        ).object()
        #expect(claims["name"]?.string == "Ravi Okafor")
    }

    @Test("An access token expires after ten minutes", arguments: [(599, true), (600, false)])
    func expiry(seconds: Int64, isGood: Bool) async throws {
        let token = try await carriers.signIn("310010")["access_token"]?.string ?? ""
        carriers.clock.advance(bySeconds: seconds)
        let response = try await carriers.get(
            "/carriers/310010/userinfo", headers: [.authorization: "Bearer \(token)"])
        #expect(response.status == (isGood ? .ok : .unauthorized))
    }

    @Test("A request without a valid access token is refused", arguments: [nil, "Bearer x", "Basic x", "x"])
    func badTokens(authorization: String?) async throws {
        var headers = HTTPFields()
        headers[.authorization] = authorization
        let response = try await carriers.get("/carriers/310010/userinfo", headers: headers)
        #expect(response.status == .unauthorized)
        #expect(response.headers[.wwwAuthenticate]?.hasPrefix("Bearer") == true)
    }

    @Test("A token in the query is refused, also beside one in the field")
    func tokenInQuery() async throws {
        let token = try await carriers.signIn("310010")["access_token"]?.string ?? ""
        let target = "/carriers/310010/userinfo?access_token=\(token)"
        for headers in [[:], [.authorization: "Bearer \(token)"]] as [HTTPFields] {
            let response = try await carriers.get(target, headers: headers)
            #expect(try response.object()["error"]?.string == "invalid_request")
        }
    }

    @Test("A signed response has the issuer and the client, and the carrier's signature")
    func signed() async throws {
        let token = try await carriers.signIn("310010", [.userInfoSigned])["access_token"]?.string ?? ""
        let response = try await carriers.get(
            "/carriers/310010/userinfo", headers: [.authorization: "Bearer \(token)"])
        #expect(response.headers[.contentType] == "application/jwt")
        let signed = try SignedToken(response.text)
        #expect(signed.claims["iss"]?.string == Harness.base + "/carriers/310010")
        #expect(signed.claims["aud"]?.string == Harness.clientID)
        #expect(signed.claims["sub"]?.string?.isEmpty == false)
        #expect(signed.isSigned(by: try await carriers.keySet("310010")[0]))
    }

    @Test("A response is encrypted for a client that is registered so, signed or not", arguments: [true, false])
    func encrypted(isSigned: Bool) async throws {
        let key = P256.KeyAgreement.PrivateKey()
        let carriers = Harness {
            $0.userInfoEncryption = .init(.ecdhES, .a256GCM, publicKeyPEM: key.publicKey.pemRepresentation)
        }
        let token = try await carriers.signIn("310010", isSigned ? [.userInfoSigned] : [])["access_token"]?.string
        let response = try await carriers.get(
            "/carriers/310010/userinfo", headers: [.authorization: "Bearer \(token ?? "")"])
        #expect(response.headers[.contentType] == "application/jwt")
        let parts = response.text.split(separator: ".", omittingEmptySubsequences: false)
        #expect(parts.count == 5 && parts[1].isEmpty)
        let header = try JSONValue(parsing: try #require(Base64URL.decode(String(parts[0])))).object
        #expect(header?["alg"] == "ECDH-ES" && header?["enc"] == "A256GCM")
        #expect(header?["cty"] == (isSigned ? "JWT" : nil))
    }

    @Test("Another carrier's access token is refused")
    func otherCarriersToken() async throws {
        let token = try await carriers.signIn("310410")["access_token"]?.string ?? ""
        let response = try await carriers.get(
            "/carriers/310010/userinfo", headers: [.authorization: "Bearer \(token)"])
        #expect(response.status == .unauthorized)
    }
}
