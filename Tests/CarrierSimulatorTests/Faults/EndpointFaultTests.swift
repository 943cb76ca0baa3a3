import CarrierSimulator
import HTTPServer
import HTTPTypes
import Primitives
import Testing

/// A fault of an endpoint's response and how it shows.
struct EndpointFaultCase: Sendable, CustomTestStringConvertible {
    let fault: CarrierSimulator.Fault
    let shows: @Sendable (Response) throws -> Bool
    var testDescription: String { fault.name }

    init(_ fault: CarrierSimulator.Fault, _ shows: @escaping @Sendable (Response) throws -> Bool) {
        self.fault = fault
        self.shows = shows
    }

    static func broken(
        _ fault: CarrierSimulator.Fault, _ status: HTTPResponse.Status, retryAfter: String? = nil
    ) -> Self {
        Self(fault) {
            $0.status == status && $0.headers[.contentType]?.hasPrefix("text/html") == true
                && $0.headers[.retryAfter] == retryAfter
        }
    }

    static func refused(
        _ fault: CarrierSimulator.Fault, _ status: HTTPResponse.Status, _ code: String
    ) -> Self {
        Self(fault) { try $0.status == status && $0.object()["error"]?.string == code }
    }

    static func redirected(_ fault: CarrierSimulator.Fault, _ status: HTTPResponse.Status) -> Self {
        Self(fault) {
            $0.status == status
                && $0.headers[.location] == "https://carriers.example/carriers/310010/canary/redirect"
        }
    }
}

@Suite("Endpoint faults")
struct EndpointFaultTests {
    let carriers = Harness()

    /// The response shows the fault; without the fault, the response to the same request does not.
    private func check(_ row: EndpointFaultCase, _ ask: () async throws -> Response) async throws {
        #expect(try !row.shows(try await ask()), "the fault shows where there is none")
        carriers.simulator.setFaults([row.fault], for: "310010")
        #expect(try row.shows(try await ask()))
    }

    static let tokenCases: [EndpointFaultCase] = [
        .broken(.token500, .internalServerError),
        .broken(.token503, .serviceUnavailable, retryAfter: "7"),
        .broken(.tokenNotJSON, .ok),
        .redirected(.tokenRedirect, .temporaryRedirect),
        .refused(.tokenInvalidClient, .unauthorized, "invalid_client"),
        .refused(.tokenInvalidGrant, .badRequest, "invalid_grant"),
        .refused(.tokenTemporarilyUnavailable, .badRequest, "temporarily_unavailable"),
        .init(.tokenNotObject) { $0.text.hasPrefix("[{") && $0.text.hasSuffix("}]") },
        .init(.tokenEmpty) { $0.status == .ok && $0.body.isEmpty },
        .init(.tokenTrailingGarbage) { $0.text.hasSuffix(#"} {"and":"more"}"#) },
        .init(.tokenDuplicateMember) { $0.text.matches(of: /"id_token":/).count == 2 },
        .init(.tokenHuge) { try $0.body.count > 2 << 20 && $0.object()["id_token"] != nil },
        .init(.tokenMissingIDToken) { try $0.object()["id_token"] == nil },
        .init(.tokenMissingAccessToken) { try $0.object()["access_token"] == nil },
        .init(.tokenWrongType) { try $0.object()["token_type"]?.string == "mac" },
        .init(.tokenTypeUppercase) { try $0.object()["token_type"]?.string == "BEARER" },
        .init(.tokenMissingExpiresIn) { try $0.object()["expires_in"] == nil },
    ]

    @Test("The token endpoint's response shows the fault", arguments: tokenCases)
    func token(row: EndpointFaultCase) async throws {
        try await check(row) { try await carriers.redeem(try carriers.code()) }
    }

    static let userInfoCases: [EndpointFaultCase] = [
        .refused(.userInfo401, .unauthorized, "invalid_token"),
        .broken(.userInfo500, .internalServerError),
        .broken(.userInfoNotJSON, .ok),
        .redirected(.userInfoRedirect, .found),
        .init(.userInfoWrongSubject) { try $0.object()["sub"]?.string == "310010-another-subject" },
        .init(.userInfoMissingSubject) { try $0.object()["sub"] == nil },
        .init(.userInfoSubjectArray) { try $0.object()["sub"]?.array?.count == 1 },
    ]

    @Test("The userinfo endpoint's response shows the fault", arguments: userInfoCases)
    func userInfo(row: EndpointFaultCase) async throws {
        let token = try await carriers.signIn("310010")["access_token"]?.string ?? ""
        try await check(row) {
            try await carriers.get("/carriers/310010/userinfo", headers: [.authorization: "Bearer \(token)"])
        }
    }

    static let discoveryCases: [EndpointFaultCase] = [
        .broken(.discovery500, .internalServerError),
        .broken(.discoveryNotJSON, .ok),
        .redirected(.discoveryRedirect, .found),
        .init(.discoveryErrorRedirectURI) {
            try $0.status == .ok && $0.object()["error"] != nil
                && $0.object()["redirect_uri"]?.string == "https://carriers.example/ui/discovery-ui"
        },
        .init(.discoveryErrorDescription) {
            try $0.status == .ok && $0.object()["error"] != nil && $0.object()["error_description"] != nil
        },
        .init(.discoveryMissingFields) { try $0.object()["token_endpoint"] == nil && $0.object()["jwks_uri"] == nil },
        .init(.discoveryOtherIssuer) { try $0.object()["issuer"]?.string == "https://example.org/" },
        .init(.discoveryRelativeURLs) { try $0.object()["token_endpoint"]?.string == "token" },
        .init(.discoveryNoBackchannel) { try $0.object()["server_initiated_authorization_endpoint"] == nil },
        .init(.discoveryNoPAR) { try $0.object()["pushed_authorization_request_endpoint"] == nil },
        .init(.discoveryBareGrantType) { try $0.object()["grant_types_supported"]?.string == "authorization_code" },
    ]

    @Test("The discovery response shows the fault, by network code and by issuer", arguments: discoveryCases)
    func discovery(row: EndpointFaultCase) async throws {
        try await check(row) {
            try await carriers.get("/.well-known/openid_configuration?client_id=shop&mccmnc=310010")
        }
        carriers.simulator.setFaults([], for: "310010")
        try await check(row) { try await carriers.get("/carriers/310010/.well-known/openid-configuration") }
    }

    static let keyCases: [EndpointFaultCase] = [
        .broken(.keys500, .internalServerError),
        .broken(.keysNotJSON, .ok),
        .redirected(.keysRedirect, .found),
        .init(.keysEmpty) { try $0.object()["keys"]?.array == [] },
        .init(.keysHuge) { try $0.body.count > 2 << 20 && $0.object()["keys"]?.array?.count == 1 },
    ]

    @Test("The key set response shows the fault", arguments: keyCases)
    func keys(row: EndpointFaultCase) async throws {
        try await check(row) { try await carriers.get("/carriers/310010/jwks") }
    }

    @Test("Broken keys surround the valid key")
    func junkKeys() async throws {
        let token = try SignedToken(
            try await carriers.signIn("310010", [.keysJunkEntries])["id_token"]?.string.required ?? "")
        let entries = try await carriers.get("/carriers/310010/jwks").object()["keys"]?.array ?? []
        let good = entries.indices.filter { entries[$0].object.map { token.isSigned(by: $0) } ?? false }
        #expect(good.count == 1)
        #expect(good.first.map { $0 > 5 && $0 < entries.count - 5 } == true)
    }

    @Test("Keys of other types and uses share the signing key's kid", arguments: ["310010", "311870"])
    func sharedKeyID(mccmnc: String) async throws {
        let token = try SignedToken(
            try await carriers.signIn(mccmnc, [.keysSharedKeyID])["id_token"]?.string.required ?? "")
        let keys = try await carriers.keySet(mccmnc)
        #expect(keys.count == 4)
        #expect(keys.allSatisfy { $0["kid"]?.string == token.keyID })
        #expect(keys.count { token.isSigned(by: $0) } == 1)
        #expect(keys.count { $0["use"]?.string == "enc" } == 2)
    }

    static let slowCases: [(CarrierSimulator.Fault, String)] = [
        (.discoverySlow, "/.well-known/openid_configuration?client_id=shop&mccmnc=310010"),
        (.keysSlow, "/carriers/310010/jwks"),
        (.userInfoSlow, "/carriers/310010/userinfo"),
    ]

    @Test("A slow endpoint waits for the carrier's delay and then responds as usual", arguments: slowCases)
    func slow(fault: CarrierSimulator.Fault, target: String) async throws {
        let usual = try await carriers.get(target)
        #expect(carriers.pauses.all.isEmpty)
        carriers.simulator.update("310010") { carrier in
            carrier.faults = [fault]
            carrier.delay = .seconds(9)
        }
        let late = try await carriers.get(target)
        #expect(late.status == usual.status && late.body == usual.body)
        #expect(carriers.pauses.all == [.seconds(9)])
    }

    @Test("A slow token endpoint waits and then responds")
    func slowToken() async throws {
        #expect(try await carriers.signIn("310010", [.tokenSlow])["id_token"] != nil)
        #expect(carriers.pauses.all == [.seconds(30)])
    }

    @Test("A token endpoint can refuse with any error, and the code stays valid")
    func tokenRefusal() async throws {
        let code = try carriers.code()
        carriers.simulator.update("310010") { $0.tokenRefusal = "user_not_found" }
        let refused = try await carriers.redeem(code)
        #expect(refused.status == .badRequest)
        #expect(try refused.object()["error"]?.string == "user_not_found")
        carriers.simulator.update("310010") { $0.tokenRefusal = nil }
        #expect(try await carriers.redeem(code).status == .ok)
    }

    @Test("A token endpoint can accept a used code")
    func reusableCode() async throws {
        carriers.simulator.setFaults([.tokenReusableCode], for: "310010")
        let code = try carriers.code()
        for _ in 0..<2 { #expect(try await carriers.redeem(code).status == .ok) }
    }

    @Test("A carrier's faults do not affect other carriers")
    func separate() async throws {
        carriers.simulator.setFaults([.token500], for: "310410")
        #expect(try await carriers.redeem(try carriers.code()).status == .ok)
    }

    @Test("Every fault has a test case and its own summary")
    func everyFaultIsTested() {
        let endpoints =
            Self.tokenCases + Self.userInfoCases + Self.discoveryCases + Self.keyCases
        let tokens = IDTokenFaultTests.claimCases + IDTokenFaultTests.signatureCases
        let tested =
            endpoints.map(\.fault) + tokens.map(\.fault) + IDTokenFaultTests.others + Self.slowCases.map(\.0)
            + [.tokenSlow, .tokenReusableCode, .keysJunkEntries, .keysSharedKeyID] + AuthorizationTests.faults
            + BackchannelAuthenticationTests.endpointCases.map(\.fault)
            + BackchannelAuthenticationTests.notificationFaults
            + [.backchannelSlow] + LogoutEndpointTests.faults
            + PushedAuthorizationTests.faultCases.map(\.fault) + [.parRequired, .parSlow] + DPoPTests.faults
            + SignedAuthorizationTests.faults + [.clientAssertionStrict, .userInfoSigned]
            + ProviderBackchannelTests.faults
        // Migration tests cover the faults of port tokens, resource tests those of resources, operators' tests theirs.
        let own = CarrierSimulator.Fault.allCases.filter { fault in
            !["port-token-", "refresh-", "resource-", "operator-"].contains(where: fault.name.hasPrefix)
        }
        #expect(Set(tested) == Set(own))
        #expect(tested.count == own.count)
        let summaries = CarrierSimulator.Fault.allCases.map(\.summary)
        #expect(summaries.allSatisfy { $0.hasSuffix(".") })
        #expect(Set(summaries).count == summaries.count)
    }
}
