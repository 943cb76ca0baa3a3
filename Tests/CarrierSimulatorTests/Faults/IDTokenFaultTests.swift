import CarrierSimulator
import CryptoExtras
import HTTPServer
import HTTPTypes
import Primitives
import Testing

/// An ID token of a carrier with a fault, and the key set published after it.
struct Issued {
    let token: SignedToken
    let keys: [JSONObject]

    func claim(_ name: String) -> JSONValue? { token.claims[name] }
    func time(_ name: String) -> Int64? { token.claims[name]?.integer.map { $0 - 1_800_000_000 } }
    var isGenuine: Bool { keys.contains { token.isSigned(by: $0) } }
}

/// A fault and how it shows.
struct IDTokenFaultCase: Sendable, CustomTestStringConvertible {
    let fault: CarrierSimulator.Fault
    let shows: @Sendable (Issued) throws -> Bool
    var testDescription: String { fault.name }

    init(_ fault: CarrierSimulator.Fault, _ shows: @escaping @Sendable (Issued) throws -> Bool) {
        self.fault = fault
        self.shows = shows
    }
}

@Suite("ID-token faults")
struct IDTokenFaultTests {
    let carriers = Harness()

    private func issue(_ fault: CarrierSimulator.Fault?, _ mccmnc: String = "310260") async throws -> Issued {
        let response = try await carriers.signIn(mccmnc, fault.map { [$0] } ?? [], context: "Pay 5.00")
        return Issued(
            token: try SignedToken(try response["id_token"]?.string.required ?? ""),
            keys: try await carriers.keySet(mccmnc))
    }

    static let claimCases: [IDTokenFaultCase] = [
        .init(.idTokenOtherIssuer) { $0.claim("iss")?.string == "https://example.org/" },
        .init(.idTokenNeighbourIssuer) { $0.claim("iss")?.string == "https://carriers.example/carriers/310010" },
        .init(.idTokenMissingIssuer) { $0.claim("iss") == nil },
        .init(.idTokenOtherAudience) { $0.claim("aud")?.string == "another-client" },
        .init(.idTokenMissingAudience) { $0.claim("aud") == nil },
        .init(.idTokenEmptyAudience) { $0.claim("aud")?.array == [] },
        .init(.idTokenExtraAudience) { $0.claim("aud")?.array == [.string("shop"), .string("another-client")] },
        .init(.idTokenAudienceArray) { $0.claim("aud")?.array == [.string("shop")] },
        .init(.idTokenMissingSubject) { $0.claim("sub") == nil },
        .init(.idTokenEmptySubject) { $0.claim("sub")?.string == "" },
        .init(.idTokenLongSubject) { $0.claim("sub")?.string?.utf8.count == 256 },
        .init(.idTokenMissingIssuedAt) { $0.claim("iat") == nil },
        .init(.idTokenMissingExpiry) { $0.claim("exp") == nil },
        .init(.idTokenTextExpiry) { $0.claim("exp")?.string == "1800000600" },
        .init(.idTokenExpired) { $0.time("exp") == -360 && $0.time("iat") == -480 },
        .init(.idTokenOld) { $0.time("iat") == -604_800 && $0.time("exp") == 600 },
        .init(.idTokenFuture) { $0.time("iat") == 600 },
        .init(.idTokenNotYetValid) { $0.time("nbf") == 600 },
        .init(.idTokenWrongNonce) { $0.claim("nonce")?.string.map { $0 != "n-1" } == true },
        .init(.idTokenMissingNonce) { $0.claim("nonce") == nil },
        .init(.idTokenWrongACR) { $0.claim("acr")?.string == "a0" },
        .init(.idTokenMissingACR) { $0.claim("acr") == nil },
        .init(.idTokenOtherContext) { $0.claim("context")?.string.map { $0 != "Pay 5.00" } == true },
        .init(.idTokenMissingContext) { $0.claim("context") == nil },
        .init(.idTokenOldAuthentication) { $0.time("auth_time") == -86_400 },
        .init(.idTokenFutureAuthentication) { $0.time("auth_time") == 600 },
        .init(.idTokenMissingAuthenticationTime) { $0.claim("auth_time") == nil },
        .init(.idTokenWrongAccessTokenHash) {
            $0.claim("at_hash")?.string == Base64URL.encode(Digests.sha256("another-access-token").prefix(16))
        },
        .init(.idTokenOtherAuthorizedParty) { $0.claim("azp")?.string == "another-client" },
        .init(.idTokenUnsolicitedClaims) { $0.claim("admin")?.bool == true && $0.claim("groups")?.array?.count == 1 },
        .init(.idTokenHuge) { $0.token.parts[1].utf8.count > 65_536 },
    ]

    @Test("A token with a wrong claim shows the fault, and its signature is valid", arguments: claimCases)
    func claims(row: IDTokenFaultCase) async throws {
        let flawless = try await issue(nil)
        #expect(try !row.shows(flawless), "the fault shows where there is none")
        let issued = try await issue(row.fault)
        #expect(try row.shows(issued))
        #expect(issued.isGenuine)
    }

    static let signatureCases: [IDTokenFaultCase] = [
        .init(.idTokenBadSignature) { !$0.isGenuine && $0.token.signature.count == 256 },
        .init(.idTokenNoSignature) { $0.token.signature.isEmpty && $0.token.algorithm == "RS256" },
        .init(.idTokenAlgNone) {
            $0.token.signature.isEmpty && $0.token.header.members.map(\.value) == [.string("none")]
        },
        .init(.idTokenAlgNoneMixedCase) { $0.token.signature.isEmpty && $0.token.algorithm == "nOnE" },
        .init(.idTokenHS256ByPublicKey) {
            guard let pem = $0.keys.first.flatMap(SignedToken.rsaKey)?.pemRepresentation else { return false }
            return $0.token.algorithm == "HS256" && $0.token.isAuthenticated(by: Array(pem.utf8))
        },
        .init(.idTokenHS256BySecret) {
            $0.token.algorithm == "HS256" && $0.token.isAuthenticated(by: Array(Harness.secret.utf8))
        },
        .init(.idTokenHS256ByEmptyKey) { $0.token.algorithm == "HS256" && $0.token.isAuthenticated(by: []) },
        .init(.idTokenPS256) { $0.token.algorithm == "PS256" && $0.isGenuine },
        .init(.idTokenRS512) { $0.token.algorithm == "RS512" && $0.isGenuine },
        .init(.idTokenUnknownKeyID) { issued in
            issued.isGenuine && !issued.keys.contains { $0["kid"]?.string == issued.token.keyID }
        },
        .init(.idTokenStrangerKey) { issued in
            !issued.isGenuine && issued.keys.contains { $0["kid"]?.string == issued.token.keyID }
        },
        .init(.idTokenKeyIDAbsentSingle) {
            $0.isGenuine && $0.token.keyID == nil && $0.keys.count == 1 && $0.keys[0]["kid"] == nil
        },
        .init(.idTokenKeyIDAbsentMultiple) { issued in
            issued.isGenuine && issued.token.keyID == nil && issued.keys.allSatisfy { $0["kid"] == nil }
                && issued.keys.count { issued.token.isSigned(by: $0) } == 1 && issued.keys.count == 3
        },
        .init(.idTokenWeakKey) {
            $0.isGenuine && $0.keys[0]["n"]?.string.flatMap { Base64URL.decode($0) }?.count == 128
        },
        .init(.idTokenEmbeddedKey) {
            guard let key = $0.token.header["jwk"]?.object else { return false }
            return !$0.isGenuine && $0.token.isSigned(by: key)
        },
        .init(.idTokenEmbeddedKeyURL) { !$0.isGenuine && $0.token.header["jku"] != nil },
        .init(.idTokenCritical) { $0.token.header["crit"]?.array?.count == 1 && $0.isGenuine },
    ]

    @Test("A token with a wrong signature or form shows the fault", arguments: signatureCases)
    func signatures(row: IDTokenFaultCase) async throws {
        let flawless = try await issue(nil)
        #expect(flawless.isGenuine)
        #expect(try !row.shows(flawless), "the fault shows where there is none")
        #expect(try row.shows(try await issue(row.fault)))
    }

    @Test("ES256 signatures can be invalid too")
    func badES256Signature() async throws {
        #expect(try await issue(nil, "311870").isGenuine)
        let spoilt = try await issue(.idTokenBadSignature, "311870")
        #expect(spoilt.token.algorithm == "ES256" && spoilt.token.signature.count == 64 && !spoilt.isGenuine)
    }

    @Test("An ES256 carrier uses and publishes an RSA key if the fault requires RSA")
    func rsaFaultAtES256Carrier() async throws {
        #expect(try await issue(.idTokenPS256, "311870").isGenuine)
    }

    @Test("The key at the token's jku verifies it, and the log notes requests for that key")
    func canary() async throws {
        let issued = try await issue(.idTokenEmbeddedKeyURL)
        let address = try issued.token.header["jku"]?.string.required ?? ""
        #expect(carriers.simulator.log.count(.canary) == 0)
        let keys = try await carriers.get(String(address.dropFirst(Harness.base.count))).object()["keys"]?.array
        let key = try keys?.first?.object.required
        #expect(try issued.token.isSigned(by: key.required))
        #expect(carriers.simulator.log.count(.canary) == 1)
    }

    @Test("The carrier rotates its keys just before each signing")
    func rotation() async throws {
        let before = try await carriers.keySet("310260")
        let issued = try await issue(.idTokenRotatedKey)
        #expect(issued.isGenuine)
        #expect(!before.contains { issued.token.isSigned(by: $0) })
        #expect(before[0]["kid"] != issued.keys[0]["kid"])
    }

    @Test("A claim occurs twice")
    func duplicateClaim() async throws {
        let response = try await carriers.signIn("310260", [.idTokenDuplicateClaim])
        let parts = try response["id_token"]?.string.required.split(separator: ".") ?? []
        let claims = String(decoding: try Base64URL.decode(String(parts[1])).required, as: UTF8.self)
        #expect(claims.matches(of: /"sub":/).count == 2)
    }

    @Test(
        "A token can have two or five parts",
        arguments: [(CarrierSimulator.Fault.idTokenFiveParts, 5), (.idTokenTwoParts, 2)])
    func parts(fault: CarrierSimulator.Fault, count: Int) async throws {
        let response = try await carriers.signIn("310260", [fault])
        #expect(response["id_token"]?.string?.split(separator: ".", omittingEmptySubsequences: false).count == count)
    }

    /// The faults with a test of their own above.
    static let others: [CarrierSimulator.Fault] = [
        .idTokenRotatedKey, .idTokenDuplicateClaim, .idTokenFiveParts, .idTokenTwoParts,
    ]

    @Test("Two faults combine")
    func together() async throws {
        let response = try await carriers.signIn("310260", [.idTokenExpired, .idTokenAlgNone])
        let token = try SignedToken(try response["id_token"]?.string.required ?? "")
        #expect(token.algorithm == "none")
        #expect(token.claims["exp"]?.integer == 1_799_999_640)
    }
}
