import CarrierSimulator
import HTTPServer
import HTTPTypes
import Primitives
import TestSupport
import Testing

/// What the stand-ins of well-known providers refuse.
@Suite("Stand-ins")
struct StandInRefusalTests {
    private let harness = Harness(carriers: CarrierSimulator.StandIn.all.map(\.carrier))

    /// An authorization request of the code flow, with some parameters changed, or removed if nil.
    private func request(_ changes: [String: String?]) -> [(String, String)] {
        var items = [
            ("client_id", Harness.clientID), ("redirect_uri", Harness.redirectURI), ("response_type", "code"),
            ("state", "s-1"), ("scope", "openid email"), ("code_challenge", Harness.challenge),
            ("code_challenge_method", "S256"),
        ]
        for (name, value) in changes.sorted(by: { $0.key < $1.key }) {
            items.removeAll { $0.0 == name }
            if let value { items.append((name, value)) }
        }
        return items
    }

    private static let noPKCE: [String: String?] = ["code_challenge": nil, "code_challenge_method": nil]

    private static func with(_ more: [String: String?], _ base: [String: String?] = noPKCE) -> [String: String?] {
        base.merging(more) { $1 }
    }

    @Test(
        "An authorization request that the provider documents as wrong is refused, and a right one is not",
        arguments: [
            ("google", [:], nil), ("google", ["access_type": "offline", "nonce": "n"], nil),
            ("google", ["correlation_id": "c"], "invalid_request"),
            ("google", ["scope": "openid all"], "invalid_scope"),
            ("google", ["scope": "email"], "invalid_scope"),
            ("linkedin", noPKCE, nil), ("linkedin", [:], "invalid_request"),
            ("apple", ["response_mode": "form_post"], nil), ("apple", [:], "invalid_request"),
            ("x", ["scope": "users.read offline.access"], nil), ("x", with(["scope": "users.read"]), "invalid_request"),
            ("discord", ["scope": "identify email"], nil), ("discord", ["scope": "identify,email"], "invalid_scope"),
            ("tiktok", with(["client_id": nil, "client_key": Harness.clientID, "scope": "user.info.basic"]), nil),
            (
                "tiktok",
                with([
                    "client_id": nil, "client_key": Harness.clientID, "scope": "user.info.basic,video.list",
                ]), nil
            ),
            (
                "tiktok",
                with([
                    "client_id": nil, "client_key": Harness.clientID, "scope": "user.info.basic video.list",
                ]), "invalid_scope"
            ),
            ("tiktok", with(["scope": "user.info.basic"]), "unauthorized_client"),
            ("wechat", with(["client_id": nil, "appid": Harness.clientID, "scope": "snsapi_login"]), nil),
            ("wechat", with(["scope": "snsapi_login"]), "unauthorized_client"),
            ("login-gov", [:], "invalid_request"),
        ] as [(String, [String: String?], String?)])
    func authorization(_ name: String, _ changes: [String: String?], _ error: String?) async throws {
        let response = try await harness.get("/providers/\(name)/authorize?\(Forms.encode(request(changes)))")
        let refusal = harness.simulator.log.refusals(at: name).last
        #expect(refusal?.code == error)
        #expect((response.status == .ok) == (error == nil))
    }

    @Test("A client that authenticates otherwise than the provider takes it is refused")
    func authentication() async throws {
        let basic: HTTPFields = [.authorization: Forms.basic(id: Harness.clientID, secret: Harness.secret)]
        let form = [("client_id", Harness.clientID), ("client_secret", Harness.secret)]
        for (name, takesBasic, takesForm) in [
            ("google", true, true), ("linkedin", false, true), ("spotify", true, false), ("apple", false, false),
        ] {
            let items = [("grant_type", "refresh_token"), ("refresh_token", "none")]
            let withBasic = try await harness.post("/providers/\(name)/token", items, headers: basic).object()
            let withForm = try await harness.post("/providers/\(name)/token", items + form).object()
            #expect(withBasic["error"]?.string == (takesBasic ? "invalid_grant" : "invalid_client"), "\(name)")
            #expect(withForm["error"]?.string == (takesForm ? "invalid_grant" : "invalid_client"), "\(name)")
        }
    }

    @Test(
        "Each refuses a token request under another method than its own, and GitHub and WeChat refuse with status 200")
    func method() async throws {
        let form = [
            ("grant_type", "authorization_code"), ("code", "c"), ("redirect_uri", Harness.redirectURI),
            ("client_id", Harness.clientID), ("client_secret", Harness.secret), ("code_verifier", Harness.verifier),
        ]
        let github = try await harness.post("/providers/github/token", form)
        #expect(github.status == .ok)
        #expect(try github.object()["error"]?.string == "bad_verification_code")
        let get = try await harness.get("/providers/google/token?\(Forms.encode(form))")
        #expect(try get.object()["error"]?.string == "invalid_request")
        let wechat =
            [("appid", Harness.clientID), ("secret", Harness.secret)] + form.filter { !$0.0.hasPrefix("client") }
        let refused = try await harness.get("/providers/wechat/token?\(Forms.encode(wechat))")
        #expect(refused.status == .ok)
        #expect(try refused.object()["errcode"]?.integer == 40029)
    }

    @Test("Each has its own name, by which it is found")
    func names() throws {
        let names = CarrierSimulator.StandIn.all.map(\.name)
        #expect(names == names.sorted())
        #expect(Set(names).count == names.count)
        #expect(names.allSatisfy { CarrierSimulator.StandIn.named($0)?.name == $0 })
        #expect(CarrierSimulator.StandIn.named("nobody")?.name == nil)
    }
}
