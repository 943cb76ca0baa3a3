import CarrierSimulator
import HTTPServer
import HTTPTypes
import Primitives
import Testing

@Suite("Discovery")
struct DiscoveryTests {
    let carriers = Harness()
    static let path = "/.well-known/openid_configuration"

    @Test("A known network gets its carrier's metadata in ZenKey's form, cacheable for ten days")
    func metadata() async throws {
        let response = try await carriers.get("\(Self.path)?client_id=shop&mccmnc=310410")
        #expect(response.status == .ok)
        #expect(response.headers[.cacheControl] == "max-age=864000")
        let document = try response.object()
        let issuer = "https://carriers.example/carriers/310410"
        #expect(document["issuer"]?.string == issuer)
        #expect(document["authorization_endpoint"]?.string == issuer + "/authorize")
        #expect(document["token_endpoint"]?.string == issuer + "/token")
        #expect(document["userinfo_endpoint"]?.string == issuer + "/userinfo")
        #expect(document["jwks_uri"]?.string == issuer + "/jwks")
        #expect(document["mccmnc"]?.integer == 310410)
        #expect(document["acr_values_supported"]?.array == [.string("a1"), .string("a3")])
        #expect(document["response_types_supported"]?.array == [.string("code"), .string("async_token")])
        #expect(document["server_initiated_authorization_endpoint"]?.string == issuer + "/server-initiated")
        #expect(document["code_challenge_methods_supported"]?.array == [.string("S256")])
        #expect(document["authorization_response_iss_parameter_supported"]?.bool == true)
    }

    @Test("The issuer serves the same document")
    func issuersOwn() async throws {
        let byNetwork = try await carriers.get("\(Self.path)?client_id=shop&mccmnc=311870")
        let byIssuer = try await carriers.get("/carriers/311870/.well-known/openid-configuration")
        #expect(byNetwork.body == byIssuer.body)
        #expect(
            try byIssuer.object()["id_token_signing_alg_values_supported"]?.array == [.string("ES256")])
    }

    @Test(
        "If the carrier is unknown, the response names the page that asks the user",
        arguments: [
            ("client_id=shop&mccmnc=99999", HTTPResponse.Status.notFound), ("client_id=shop", .ok),
            ("client_id=shop&mccmnc=310010&prompt=true", .ok),
        ])
    func askTheUser(query: String, status: HTTPResponse.Status) async throws {
        let response = try await carriers.get("\(Self.path)?\(query)")
        #expect(response.status == status)
        #expect(try response.object()["error"] != nil)
        #expect(try response.object()["redirect_uri"]?.string == "https://carriers.example/ui/discovery-ui")
    }

    @Test(
        "An invalid request gets an error",
        arguments: [
            ("mccmnc=310010", HTTPResponse.Status.unauthorized), ("client_id=nobody&mccmnc=310010", .unauthorized),
            ("client_id=shop&mccmnc=3100", .badRequest), ("client_id=shop&mccmnc=31001a", .badRequest),
            ("client_id=shop&mccmnc=3100100", .badRequest),
        ])
    func refused(query: String, status: HTTPResponse.Status) async throws {
        let response = try await carriers.get("\(Self.path)?\(query)")
        #expect(response.status == status)
        #expect(try response.object()["error_description"] != nil)
    }

    @Test("Rotation replaces the key: a new token has the new key, and the old key is removed")
    func rotation() async throws {
        let before = try await carriers.keySet("310010")
        let response = try await carriers.post("/carriers/310010/keys/rotate", [])
        #expect(try response.object()["rotated"]?.bool == true)
        let after = try await carriers.keySet("310010")
        #expect(after.count == 1 && after[0]["kid"] != before[0]["kid"] && after[0]["n"] != before[0]["n"])
        let token = try SignedToken(try await carriers.signIn("310010")["id_token"]?.string.required ?? "")
        #expect(token.isSigned(by: after[0]) && !token.isSigned(by: before[0]))
    }
}

@Suite("Discovery UI")
struct DiscoveryUITests {
    let carriers = Harness()
    static let path = "/ui/discovery-ui"
    static let query = [("client_id", "shop"), ("redirect_uri", Harness.redirectURI), ("state", "s&1")]

    @Test("The page offers every carrier")
    func page() async throws {
        let page = try await carriers.get("\(Self.path)?\(Forms.encode(Self.query))")
        #expect(page.status == .ok)
        for carrier in carriers.simulator.carriers {
            #expect(page.text.contains(carrier.name) && page.text.contains(carrier.mccmnc))
        }
    }

    @Test("The choice returns to the client with its state, and without a hint on the user's own phone")
    func choice() async throws {
        let response = try await carriers.post(Self.path, Self.query + [("mccmnc", "310410")])
        #expect(response.status == .seeOther)
        let (address, query) = try response.destination()
        #expect(address == Harness.redirectURI)
        #expect(query.items.map(\.name) == ["mccmnc", "state"])
        #expect(query["mccmnc"] == "310410" && query["state"] == "s&1")
    }

    @Test(
        "An unregistered redirect URI or an unknown carrier causes no redirect",
        arguments: [
            ("client_id", "nobody"), ("redirect_uri", "https://evil.example/"), ("mccmnc", "99999"), ("mccmnc", ""),
        ])
    func refused(name: String, value: String) async throws {
        let form = (Self.query + [("mccmnc", "310010")]).map { $0.0 == name ? (name, value) : $0 }
        let response = try await carriers.post(Self.path, form)
        #expect(response.status == .badRequest)
        #expect(response.headers[.location] == nil)
    }
}
