import CarrierSimulator
import HTTPServer
import HTTPTypes
import Primitives
import Testing

/// A provider's end-session endpoint and its logout tokens.
struct LogoutEndpointTests {
    static let faults: [CarrierSimulator.Fault] = [.logoutOtherState, .logoutMissingState]

    private let carriers: Harness = {
        Harness(carriers: CarrierSimulator.Carrier.defaults + CarrierSimulator.Carrier.otherProviders)
    }()

    private func logout(_ change: [String: String] = [:]) async throws -> Response {
        let fields = [
            "client_id": "shop", "post_logout_redirect_uri": Harness.loggedOutURI, "state": "s&1",
        ].merging(change) { $1 }
        return try await carriers.post(
            "/providers/acme/logout", fields.sorted { $0.key < $1.key }.map { ($0.key, $0.value) })
    }

    @Test("A browser returns with its state, only to a registered redirect URI")
    func endSession() async throws {
        #expect(try await logout().destination().query["state"] == "s&1")
        let get = try await carriers.get(
            "/providers/acme/logout?client_id=shop&post_logout_redirect_uri=https%3A%2F%2Fshop.example%2Fout")
        #expect(get.status == .seeOther)
        for change in [["client_id": "nobody"], ["post_logout_redirect_uri": Harness.redirectURI]] {
            #expect(try await logout(change).status == .badRequest)
        }
    }

    @Test("The redirect shows the fault", arguments: faults)
    func faulty(fault: CarrierSimulator.Fault) async throws {
        carriers.simulator.setFaults([fault], for: "acme")
        let state = try await logout().destination().query["state"]
        #expect(fault == .logoutMissingState ? state == nil : state != nil && state != "s&1")
    }

    @Test("A logout token has the required claims and the provider's signature")
    func token() async throws {
        let text = try await carriers.simulator.logoutToken(
            of: "acme", clientID: "shop", user: "jane", sessionID: "sid-1")
        let token = try SignedToken(text)
        #expect(token.header["typ"]?.string == "logout+jwt")
        #expect(token.claims["iss"]?.string == "https://carriers.example/providers/acme")
        #expect(token.claims["aud"]?.string == "shop")
        #expect(token.claims["sid"]?.string == "sid-1")
        #expect(token.claims["sub"]?.string?.hasPrefix("acme-") == true)
        #expect(token.claims["jti"]?.string?.isEmpty == false)
        let event = "http://schemas.openid.net/event/backchannel-logout"
        #expect(token.claims["events"]?.object?[event]?.object != nil)
        #expect(token.claims["nonce"] == nil)
        var texts = [text]
        for defect in CarrierSimulator.LogoutDefect.allCases {
            texts.append(
                try await carriers.simulator.logoutToken(
                    of: "acme", clientID: "shop", user: "jane", sessionID: "sid-1", defect: defect))
        }
        #expect(Set(texts).count == texts.count)
    }

    @Test("ID tokens of providers have sid; those of carriers do not")
    func sessionIDs() async throws {
        #expect(carriers.simulator.latestSessionID(at: "acme") == nil)
        let code = try carriers.simulator.issueCode(
            mccmnc: "acme", clientID: "shop", redirectURI: Harness.redirectURI, codeChallenge: Harness.challenge)
        var headers = HTTPFields()
        headers[.authorization] = Forms.basic(id: Harness.clientID, secret: Harness.secret)
        let response = try await carriers.post("/providers/acme/token", carriers.tokenForm(code), headers: headers)
        let token = try SignedToken(try response.object()["id_token"]?.string ?? "")
        #expect(token.claims["sid"]?.string == carriers.simulator.latestSessionID(at: "acme"))
        #expect(token.claims["sid"] != nil)
        let carriersToken = try await carriers.redeem(try carriers.code()).object()["id_token"]?.string
        #expect(try SignedToken(carriersToken ?? "").claims["sid"] == nil)
    }
}
