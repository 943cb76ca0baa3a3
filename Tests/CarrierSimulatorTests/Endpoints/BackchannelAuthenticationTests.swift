import CarrierSimulator
import Crypto
import HTTPServer
import HTTPTypes
import Primitives
import TestSupport
import Testing

@Suite("Backchannel authentication")
struct BackchannelAuthenticationTests {
    let carriers = Harness()
    static let path = "/carriers/310010/server-initiated"

    /// A request object with some claims changed, or removed if nil.
    private func object(
        notificationURL: String = "http://127.0.0.1:9/told", changing changes: [String: String?] = [:],
        key: P256.Signing.PrivateKey = Harness.signingKey
    ) throws -> String {
        var claims: [String: String?] = [
            "iss": "\"shop\"", "aud": "\"https://carriers.example/carriers/310010\"", "iat": "1800000000",
            "exp": "1800000300", "jti": "\"j-1\"", "client_id": "\"shop\"", "response_type": "\"async_token\"",
            "redirect_uri": "\"\(Harness.redirectURI)\"", "scope": "\"openid email\"",
            "login_hint": "\"+12025550123\"", "state": "\"s-1\"", "nonce": "\"n-1\"", "context": "\"Pay 5.00\"",
            "client_notification_endpoint": "\"\(notificationURL)\"",
            "client_notification_token": "\"an-unguessable-notification-token\"",
        ]
        claims.merge(changes) { _, new in new }
        let payload = TokenText.object(claims.compactMap { name, json in json.map { (name: name, json: $0) } })
        var failure: (any Error)?
        let text = TokenText.compact(header: #"{"alg":"ES256","kid":"k"}"#, payload: payload) { signed in
            do {
                return Array(try key.signature(for: signed).rawRepresentation)
            } catch {
                failure = error
                return []
            }
        }
        if let failure { throw failure }
        return text
    }

    private func start(_ object: String, clientID: String = "shop") async throws -> Response {
        try await carriers.post(
            Self.path,
            json: #"{"client_id":"\#(clientID)","response_type":"async_token","scope":"openid","request":"\#(object)"}"#
        )
    }

    @Test("A request object of the client is accepted, in JSON and in a form")
    func takenOn() async throws {
        let response = try await start(try object())
        #expect(response.status == .ok)
        let id = try response.object()["auth_req_id"]?.string.required
        #expect(try response.object()["expires_in"]?.integer == 300)
        let form = try await carriers.post(
            Self.path,
            [("client_id", "shop"), ("response_type", "async_token"), ("request", try object())])
        #expect(form.status == .ok)
        #expect(carriers.simulator.backchannelAuthenticationRequests(at: "310010").first == id)
        #expect(carriers.simulator.backchannelAuthenticationRequests(at: "310010").count == 2)
        #expect(carriers.simulator.backchannelAuthenticationRequests(at: "310410").isEmpty)
        #expect(carriers.simulator.log.count(.backchannelAuthentication, "310010") == 2)
    }

    @Test(
        "An invalid request object is refused with the OAuth error",
        arguments: [
            ("iss", "\"other\"", "invalid_request_object"), ("client_id", "\"other\"", "invalid_request_object"),
            ("aud", "\"https://carriers.example/carriers/310410\"", "invalid_request_object"),
            ("exp", "1799999000", "invalid_request_object"), ("exp", nil, "invalid_request_object"),
            ("iat", "1800000100", "invalid_request_object"), ("jti", nil, "invalid_request_object"),
            ("response_type", "\"code\"", "invalid_request_object"),
            ("redirect_uri", "\"https://evil.example/\"", "invalid_request"),
            ("client_notification_token", nil, "invalid_request"),
            ("client_notification_token", "\"short\"", "invalid_request"),
            ("client_notification_endpoint", "\"https://example.org/\"", "invalid_request"),
            ("scope", "\"openid shoe_size\"", "invalid_scope"), ("login_hint", nil, "invalid_login_hint"),
            ("login_hint", "\"+12025550000\"", "user_not_found"), ("acr_values", "\"a0\"", "invalid_request"),
        ] as [(String, String?, String)])
    func refused(claim: String, json: String?, error: String) async throws {
        let response = try await start(try object(changing: [claim: json]))
        #expect(response.status == .badRequest)
        #expect(try response.object()["error"]?.string == error)
        #expect(carriers.simulator.backchannelAuthenticationRequests(at: "310010").isEmpty)
    }

    @Test("A request object that the client did not sign is refused")
    func notSigned() async throws {
        let stranger = try object(key: P256.Signing.PrivateKey())
        #expect(try await start(stranger).object()["error"]?.string == "invalid_request_object")
        #expect(try await start("a.b.c").object()["error"]?.string == "invalid_request_object")
        #expect(try await start(try object(), clientID: "other").object()["error"]?.string == "invalid_request_object")
        #expect(try await start(try object(), clientID: "x").object()["error"]?.string == "unauthorized_client")
    }

    static let endpointCases: [EndpointFaultCase] = [
        .broken(.backchannel500, .internalServerError),
        .broken(.backchannelNotJSON, .ok),
        .redirected(.backchannelRedirect, .temporaryRedirect),
        .refused(.backchannelUserUnsupported, .badRequest, "user_unsupported"),
        .init(.backchannelMissingID) {
            try $0.status == .ok && $0.object()["auth_req_id"] == nil && $0.object()["expires_in"] != nil
        },
    ]

    @Test("The endpoint's response shows the fault", arguments: endpointCases)
    func fault(row: EndpointFaultCase) async throws {
        #expect(try !row.shows(try await start(try object())))
        carriers.simulator.setFaults([row.fault], for: "310010")
        #expect(try row.shows(try await start(try object())))
    }

    @Test("A slow endpoint waits and then responds")
    func slow() async throws {
        carriers.simulator.setFaults([.backchannelSlow], for: "310010")
        #expect(try await start(try object()).status == .ok)
        #expect(carriers.pauses.all == [.seconds(30)])
    }

    // MARK: Notifications

    /// Notifies a relying party of a decision, with some faults, and returns the received requests.
    private func told(
        _ decision: CarrierSimulator.Decision, _ faults: Set<CarrierSimulator.Fault> = []
    ) async throws -> [RawHTTPPeer.Request] {
        let peer = try RawHTTPPeer { connection in
            while connection.readRequest() != nil { connection.send("HTTP/1.1 204 No Content\r\n\r\n") }
        }
        defer { peer.stop() }
        carriers.simulator.setFaults(faults, for: "310010")
        let response = try await start(try object(notificationURL: peer.url("/told?x=1")))
        if faults != [.notificationBeforeResponse] {
            let id = try response.object()["auth_req_id"]?.string.required ?? ""
            let statuses = try await carriers.simulator.complete(id, decision)
            #expect(statuses.allSatisfy { $0 == 204 })
        }
        return peer.requests
    }

    private func members(_ request: RawHTTPPeer.Request?) throws -> JSONObject {
        try JSONValue(parsing: try request.required.body).object.required
    }

    @Test("The relying party is notified of an approval, with a verifiable ID token")
    func approved() async throws {
        let requests = try await told(.approved)
        #expect(requests.count == 1)
        #expect(requests.first?.startLine == "POST /told?x=1 HTTP/1.1")
        #expect(requests.first?.fields["authorization"] == "Bearer an-unguessable-notification-token")
        let members = try members(requests.first)
        #expect(members["state"]?.string == "s-1")
        #expect(
            members["auth_req_id"]?.string == carriers.simulator.backchannelAuthenticationRequests(at: "310010").first)
        let token = try SignedToken(try members["id_token"]?.string.required ?? "")
        let key = try await carriers.keySet("310010").first.required
        #expect(token.isSigned(by: key))
        #expect(token.claims["nonce"]?.string == "n-1")
        #expect(token.claims["context"]?.string == "Pay 5.00")
        #expect(token.claims["aud"]?.string == "shop")
        #expect(token.claims["urn:openid:params:jwt:claim:auth_req_id"] == members["auth_req_id"])
        let access = members["access_token"]?.string ?? ""
        let user = try await carriers.get("/carriers/310010/userinfo", headers: [.authorization: "Bearer \(access)"])
        #expect(try user.object()["sub"] == token.claims["sub"])
    }

    @Test("The relying party is notified of a refusal, with the carrier's error code and no token")
    func denied() async throws {
        let members = try members(try await told(.failed("authentication_timed_out")).first)
        #expect(members["error"]?.string == "authentication_timed_out")
        #expect(members["id_token"] == nil && members["access_token"] == nil)
        #expect(members["state"]?.string == "s-1")
    }

    static let notificationFaults: [CarrierSimulator.Fault] = [
        .notificationBeforeResponse, .notificationTwice, .notificationWrongToken, .notificationOtherID,
        .notificationOtherState, .notificationMissingIDToken, .idTokenOtherRequestID,
    ]

    @Test("The notification shows the fault", arguments: notificationFaults)
    func notificationFault(fault: CarrierSimulator.Fault) async throws {
        let requests = try await told(.approved, [fault])
        #expect(requests.count == (fault == .notificationTwice ? 2 : 1))
        let members = try members(requests.first)
        let id = carriers.simulator.backchannelAuthenticationRequests(at: "310010").first
        let isRight = requests.first?.fields["authorization"] == "Bearer an-unguessable-notification-token"
        #expect(isRight == (fault != .notificationWrongToken))
        #expect((members["auth_req_id"]?.string == id) == (fault != .notificationOtherID))
        #expect((members["state"]?.string == "s-1") == (fault != .notificationOtherState))
        #expect((members["id_token"] == nil) == (fault == .notificationMissingIDToken))
        guard let text = members["id_token"]?.string else { return }
        let claim = try SignedToken(text).claims["urn:openid:params:jwt:claim:auth_req_id"]?.string
        #expect((claim == id) == (fault != .idTokenOtherRequestID))
    }

    @Test("The user's decision can be posted, and an unknown request is 404")
    func controls() async throws {
        let peer = try RawHTTPPeer { connection in
            let refusal = "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n"
            while connection.readRequest() != nil { connection.send(refusal) }
        }
        defer { peer.stop() }
        let id = try await start(try object(notificationURL: peer.url("/x"))).object()["auth_req_id"]?.string ?? ""
        let approved = try await carriers.post("\(Self.path)/\(id)/approve", [])
        #expect(try approved.object()["notified"]?.array == [.integer(401)])
        let denied = try await carriers.post("\(Self.path)/\(id)/deny", [("error", "device_unavailable")])
        #expect(denied.status == .ok)
        #expect(try members(peer.requests.last)["error"]?.string == "device_unavailable")
        #expect(try await carriers.post("\(Self.path)/latest/approve", []).status == .ok)
        #expect(peer.requests.count == 3)
        #expect(try await carriers.post("/carriers/310410/server-initiated/latest/approve", []).status == .notFound)
        #expect(try await carriers.post("\(Self.path)/unknown/approve", []).status == .notFound)
        #expect(try await carriers.post("/carriers/310410/server-initiated/\(id)/approve", []).status == .notFound)
    }
}
