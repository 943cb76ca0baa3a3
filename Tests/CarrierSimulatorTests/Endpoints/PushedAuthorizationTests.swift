import CarrierSimulator
import HTTPServer
import HTTPTypes
import Primitives
import TestSupport
import Testing

@Suite("Pushed authorization requests")
struct PushedAuthorizationTests {
    let carriers = Harness()
    static let endpoint = "/carriers/310010/par"
    static let page = "/carriers/310010/authorize"

    private func push(
        _ changes: [String: String?] = [:], at endpoint: String = endpoint,
        authorization: String? = Forms.basic(id: Harness.clientID, secret: Harness.secret), to carriers: Harness? = nil
    ) async throws -> Response {
        let carriers = carriers ?? self.carriers
        var headers = HTTPFields()
        headers[.authorization] = authorization
        return try await carriers.post(
            endpoint, carriers.authorizationQuery(changing: changes), headers: headers)
    }

    private func pushed() async throws -> String { try await push().object()["request_uri"]?.string.required ?? "" }

    private func show(_ form: [(String, String)], at page: String = page) async throws -> Response {
        try await carriers.get("\(page)?\(Forms.encode(form))")
    }

    private func show(_ requestURI: String) async throws -> Response {
        try await show([("client_id", "shop"), ("request_uri", requestURI)])
    }

    private func approve(_ requestURI: String) async throws -> Response {
        try await carriers.post(
            Self.page + "/approve", [("client_id", "shop"), ("request_uri", requestURI), ("user", "ravi")])
    }

    /// The error of a page.
    private func error(_ response: Response) -> String? {
        guard response.status != .ok, response.headers[.location] == nil else { return nil }
        return response.text.firstMatch(of: /<code>([a-z_]+)<\/code>/).map { String($0.1) }
    }

    @Test("A browser that brings a pushed request is shown its page, and an approval has a valid code")
    func flow() async throws {
        let response = try await push()
        #expect(response.status == .created)
        #expect(response.headers[.cacheControl] == "no-store")
        #expect(try response.object()["expires_in"]?.integer == 60)
        let requestURI = try response.object()["request_uri"]?.string ?? ""
        #expect(requestURI.hasPrefix("urn:ietf:params:oauth:request_uri:"))
        let page = try await show(requestURI)
        #expect(page.status == .ok)
        #expect(page.text.contains("Your name"))
        #expect(!page.text.contains("s&amp;1"), "the page has no parameter of the request")
        let (address, query) = try await approve(requestURI).destination()
        #expect(address == Harness.redirectURI)
        #expect(query["state"] == "s&1")
        #expect(try await carriers.redeem(try query["code"].required).status == .ok)
    }

    @Test("A request_uri is shown once and answered once, and only after it was shown")
    func once() async throws {
        let requestURI = try await pushed()
        #expect(error(try await approve(requestURI)) == "invalid_request_uri", "it was not shown")
        #expect(try await show(requestURI).status == .ok)
        #expect(error(try await show(requestURI)) == "invalid_request_uri")
        #expect(try await approve(requestURI).status == .seeOther)
        #expect(error(try await approve(requestURI)) == "invalid_request_uri")
        #expect(error(try await show(requestURI)) == "invalid_request_uri")
    }

    @Test("A browser must bring a request_uri within a minute, and may then take its time", arguments: [59, 60])
    func expiry(seconds: Int64) async throws {
        let requestURI = try await pushed()
        carriers.clock.advance(bySeconds: seconds)
        #expect(error(try await show(requestURI)) == (seconds < 60 ? nil : "invalid_request_uri"))
        carriers.clock.advance(bySeconds: 600)
        if seconds < 60 { #expect(try await approve(requestURI).status == .seeOther) }
    }

    @Test("Beside request_uri there is client_id, once, and nothing else; it is the client's and the carrier's own")
    func frontChannel() async throws {
        let requestURI = try await pushed()
        let good = [("client_id", "shop"), ("request_uri", requestURI)]
        let rows: [([(String, String)], String)] = [
            ([("request_uri", requestURI)], "invalid_request"), (good + [("state", "s")], "invalid_request"),
            (good + [("prompt", "none")], "invalid_request"), (good + good, "invalid_request"),
            ([("client_id", "shop"), ("request_uri", "")], "invalid_request"),
            ([("client_id", "other"), ("request_uri", requestURI)], "invalid_request_uri"),
            ([("client_id", "shop"), ("request_uri", requestURI + "x")], "invalid_request_uri"),
        ]
        for (form, expected) in rows { #expect(error(try await show(form)) == expected, "\(form)") }
        #expect(error(try await show(good, at: "/carriers/310410/authorize")) == "invalid_request_uri")
        #expect(try await show(good).status == .ok, "none of these has spent it")
    }

    @Test("A carrier that requires pushed requests says so, and refuses any other request with a page")
    func required() async throws {
        let path = "/carriers/310010/.well-known/openid-configuration"
        let usual = try await carriers.get(path).object()
        #expect(usual["require_pushed_authorization_requests"]?.bool == false)
        #expect(usual["pushed_authorization_request_endpoint"]?.string == Harness.base + Self.endpoint)
        carriers.simulator.setFaults([.parRequired], for: "310010")
        #expect(try await carriers.get(path).object()["require_pushed_authorization_requests"]?.bool == true)
        #expect(error(try await show(carriers.authorizationQuery())) == "invalid_request")
        let requestURI = try await pushed()
        #expect(try await show(requestURI).status == .ok)
        #expect(try await approve(requestURI).status == .seeOther)
    }

    static let refusals: [(changes: [String: String?], status: Int, error: String)] = [
        (["client_id": nil], 400, "invalid_request"), (["client_id": "other"], 400, "invalid_request"),
        (["request_uri": "urn:x"], 400, "invalid_request"), (["code_challenge": nil], 400, "invalid_request"),
        (["redirect_uri": "https://evil.example"], 400, "invalid_request"),
        (["response_type": "token"], 400, "unsupported_response_type"), (["scope": "name"], 400, "invalid_scope"),
        (["client_secret": "s"], 400, "invalid_request"),
    ]

    @Test("A request is checked when it is pushed, and the error is JSON", arguments: refusals)
    func refused(changes: [String: String?], status: Int, error: String) async throws {
        let response = try await push(changes)
        #expect(response.status.code == status)
        #expect(try response.object()["error"]?.string == error)
    }

    @Test("The client must authenticate", arguments: [nil, Forms.basic(id: "shop", secret: "wrong")])
    func authentication(_ authorization: String?) async throws {
        let response = try await push(authorization: authorization)
        #expect(response.status == .unauthorized)
        #expect(try response.object()["error"]?.string == "invalid_client")
    }

    @Test("The credentials of a client in the form are none of the request's parameters")
    func credentials() async throws {
        let carriers = Harness(authentication: .clientSecretPost)
        let response = try await push(["client_secret": Harness.secret], authorization: nil, to: carriers)
        #expect(response.status == .created)
    }

    static let faultCases: [EndpointFaultCase] = [
        .broken(.par500, .internalServerError), .broken(.parNotJSON, .ok),
        .redirected(.parRedirect, .temporaryRedirect),
        .refused(.parInvalidClient, .unauthorized, "invalid_client"),
        .refused(.parInvalidRequest, .badRequest, "invalid_request"),
        .init(.parStatus200) { $0.status == .ok },
        .init(.parMissingRequestURI) { try $0.object()["request_uri"] == nil },
        .init(.parControlCharacter) { try $0.object()["request_uri"]?.string?.contains("\r\n") == true },
        .init(.parLongRequestURI) { try $0.object()["request_uri"]?.string?.utf8.count == 513 },
        .init(.parMissingExpiresIn) { try $0.object()["expires_in"] == nil },
        .init(.parExpired) { try $0.object()["expires_in"]?.integer == 0 },
        .init(.parHuge) { $0.body.count > 2 << 20 },
    ]

    @Test("The response shows the fault", arguments: faultCases)
    func faults(row: EndpointFaultCase) async throws {
        #expect(try !row.shows(try await push()), "the fault shows where there is none")
        carriers.simulator.setFaults([row.fault], for: "310010")
        #expect(try row.shows(try await push()))
    }

    @Test("A slow endpoint waits for the carrier's delay")
    func slow() async throws {
        carriers.simulator.setFaults([.parSlow], for: "310010")
        #expect(try await push().status == .created)
        #expect(carriers.pauses.all == [.seconds(30)])
    }
}
