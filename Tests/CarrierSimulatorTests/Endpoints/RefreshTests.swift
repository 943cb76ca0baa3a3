import CarrierSimulator
import HTTPServer
import HTTPTypes
import Primitives
import TestSupport
import Testing

/// Refreshes and resources of a provider that is not a carrier.
@Suite("Refreshes and resources")
struct RefreshTests {
    let provider = Harness(carriers: CarrierSimulator.Carrier.defaults + CarrierSimulator.Carrier.otherProviders)

    /// The token response of a sign-in at a provider.
    private func tokens(_ id: String = "meetings", user: String = "jane") async throws -> JSONObject {
        let code = try provider.simulator.issueCode(
            mccmnc: id, clientID: Harness.clientID, redirectURI: Harness.redirectURI,
            codeChallenge: Harness.challenge, user: user)
        return try await provider.post(
            "/providers/\(id)/token", provider.tokenForm(code), headers: [.authorization: authorization]
        ).object()
    }

    private var authorization: String { Forms.basic(id: Harness.clientID, secret: Harness.secret) }

    private func refresh(
        _ token: String?, at path: String = "/providers/meetings/token", authorization: String? = nil
    ) async throws -> Response {
        let form = [("grant_type", "refresh_token")] + (token.map { [("refresh_token", $0)] } ?? [])
        return try await provider.post(path, form, headers: [.authorization: authorization ?? self.authorization])
    }

    private func resource(_ accessToken: String, _ query: String = "type=zak") async throws -> Response {
        try await provider.get(
            "/providers/meetings/v2/users/me/token?\(query)", headers: [.authorization: "Bearer \(accessToken)"])
    }

    private func error(_ response: Response) throws -> String? { try response.object()["error"]?.string }

    @Test("A refresh token is valid once; a second use revokes all tokens of its sign-in")
    func rotation() async throws {
        let first = try await tokens()
        let shown = first["refresh_token"]?.string
        let next = try await refresh(shown).object()
        let access = next["access_token"]?.string ?? ""
        #expect(next["refresh_token"]?.string != shown)
        #expect(next["token_type"]?.string == "Bearer")
        #expect(try await resource(access).object()["token"]?.string == "zak-of-jane")
        #expect(try error(try await refresh(shown)) == "invalid_grant")
        #expect(try error(try await refresh(next["refresh_token"]?.string)) == "invalid_grant")
        #expect(try await resource(access).status == .unauthorized)
    }

    @Test("Without rotation the first refresh token stays valid")
    func withoutRotation() async throws {
        provider.simulator.update("meetings") { $0.rotatesRefreshTokens = false }
        let shown = try await tokens()["refresh_token"]?.string
        for _ in 0..<2 { #expect(try await refresh(shown).object()["refresh_token"] == nil) }
    }

    @Test("Other clients, other providers, carriers and unauthenticated requests cannot refresh")
    func refused() async throws {
        let shown = try await tokens()["refresh_token"]?.string
        let other = Forms.basic(id: "other", secret: "other-secret")
        #expect(try error(try await refresh(shown, authorization: other)) == "invalid_grant")
        #expect(try error(try await refresh(shown, authorization: "Basic x")) == "invalid_client")
        #expect(try error(try await refresh(shown, at: "/providers/acme/token")) == "invalid_grant")
        #expect(try error(try await refresh(shown, at: "/carriers/310010/token")) == "unsupported_grant_type")
        #expect(try error(try await refresh("unknown")) == "invalid_grant")
        #expect(try error(try await refresh(nil)) == "invalid_request")
        #expect(try await refresh(shown).status == .ok, "none of that has spent it")
    }

    @Test("Access tokens expire on time and on demand; a user who revokes the grant ends all tokens")
    func ends() async throws {
        provider.simulator.update("meetings") { $0.accessTokenLifetime = 60 }
        let jane = try await tokens()
        #expect(jane["expires_in"]?.integer == 60)
        let access = jane["access_token"]?.string ?? ""
        provider.clock.advance(bySeconds: 59)
        #expect(try await resource(access).status == .ok)
        #expect(try await resource(access, "type=zpk").status == .badRequest)
        provider.clock.advance(bySeconds: 1)
        #expect(try await resource(access).status == .unauthorized)
        let next = try await refresh(jane["refresh_token"]?.string).object()
        let ravi = try await tokens(user: "ravi")
        provider.simulator.expireAccessTokens(at: "meetings")
        #expect(try await resource(next["access_token"]?.string ?? "").status == .unauthorized)
        provider.simulator.revokeGrants(of: "jane", at: "meetings")
        #expect(try error(try await refresh(next["refresh_token"]?.string)) == "invalid_grant")
        #expect(try await refresh(ravi["refresh_token"]?.string).status == .ok)
    }

    static let faults: [EndpointFaultCase] = [
        .refused(.resource401, .unauthorized, "invalid_token"), .broken(.resource500, .internalServerError),
        .broken(.resourceNotJSON, .ok), .init(.resourceScalar) { $0.text == #""zak""# },
        .init(.resourceHuge) { try $0.body.count > 2 << 20 && $0.object()["token"] != nil },
        .init(.resourceRedirect) {
            $0.status == .found && $0.headers[.location]?.hasSuffix("/providers/meetings/canary/redirect") == true
        },
        .init(.resourceSlow) { $0.status == .ok },
    ]

    @Test("The resource endpoint shows each fault", arguments: faults)
    func resourceFaults(row: EndpointFaultCase) async throws {
        let access = try await tokens()["access_token"]?.string ?? ""
        let usual = try await resource(access)
        let showsAlready = try row.shows(usual)
        #expect(showsAlready == (row.fault == .resourceSlow))
        #expect(provider.pauses.all.isEmpty)
        provider.simulator.setFaults([row.fault], for: "meetings")
        #expect(try row.shows(try await resource(access)))
        #expect(provider.pauses.all == (row.fault == .resourceSlow ? [.seconds(30)] : []))
    }

    @Test("A provider can be late with a refresh")
    func refreshFault() async throws {
        // It waits after the refresh token was replaced.
        provider.simulator.setFaults([.refreshLate], for: "meetings")
        let next = try await tokens()["refresh_token"]?.string
        #expect(try await refresh(next).status == .ok)
        #expect(provider.pauses.all == [.seconds(30)])
        provider.simulator.setFaults([], for: "meetings")
        provider.simulator.update("meetings") { $0.refreshTokenGrace = 10 }
        #expect(try await refresh(next).status == .ok)
        provider.simulator.update("meetings") { $0.refreshTokenGrace = 0 }
        #expect(try error(try await refresh(next)) == "invalid_grant")
        let own = CarrierSimulator.Fault.allCases.filter { fault in
            ["refresh-", "resource-"].contains(where: fault.name.hasPrefix)
        }
        #expect(Set(own) == Set(Self.faults.map(\.fault) + [.refreshLate]))
    }
}
