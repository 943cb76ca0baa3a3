import CarrierSimulator
import Foundation
import LatchkeyClient
import Synchronization
import TestSupport
import Testing

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Digital credentials with the Swift client. The server offers iOS the link only, so that the other cases are at a
/// scripted one.
@Suite("The Swift client with a digital credential")
struct DigitalCredentialClientTests {
    private static let redirectURI = "com.example.app:/signed-in"
    private static let request =
        #"{"data":{"dcql_query":{"credentials":[]},"nonce":"n/1"},"protocol":"openid4vp-v1-unsigned"}"#
    private static let credential = #"{"protocol":"openid4vp-v1-unsigned","data":{"vp_token":{"phone":"a~b"}}}"#

    private static let methods = """
        {"methods": [{"method": "of_another_year", "provider": "x", "requires": "y"},
        {"method": "digital_credential", "provider": "carriers", "requires": "credential_manager"},
        {"method": "redirect", "provider": "number", "operator": "northwind", "requires": "mobile_data"}],
        "fallback": ["google"], "correlation_id": "c"}
        """

    private static let tokens =
        #"{"token":"t","refresh_token":"r","token_type":"bearer","expires":3600,"new_user":true,"correlation_id":"c"}"#

    /// The app of a signed-in user.
    private func client(_ server: ScriptedServer) throws -> Latchkey {
        let tokens = Tokens(token: "t", refreshToken: "r", expiresAt: Date(timeIntervalSinceNow: 3600))
        return Latchkey(
            .init(baseURL: try #require(URL(string: ScriptedServer.origin)), clientID: "app", apiKey: "key"),
            tokens: MemoryTokenStore(tokens), transport: server)
    }

    @Test("The request goes to the system as it is, and the system's whole response to the server")
    func signIn() async throws {
        let server = ScriptedServer([
            "/auth/number/methods": (200, Self.methods),
            "/auth/carriers/start": (201, #"{"sign_in_id": "s/1", "request": \#(Self.request), "expires_in": 300}"#),
            "/auth/carriers/start/s%2F1/confirmation": (200, Self.tokens),
        ])
        var phone = Phone(mccmnc: "310260")
        phone.digitalCredential = { request in
            #expect(request.json == Self.request)
            return DigitalCredential(json: Self.credential)
        }
        let outcome = try await client(server).signInByNumber(
            on: phone, to: Self.redirectURI, phoneNumber: "+12025550123")
        #expect(outcome.method == .digitalCredential)
        #expect(server.fields("/auth/carriers/start") == [["mccmnc": "310260", "method": "digital_credential"]])
        #expect(server.bodies("/auth/carriers/start/s%2F1/confirmation") == [Self.credential])
        #expect(server.query("/auth/number/methods") == "platform=ios&mccmnc=310260")
    }

    @Test("A verification ends with the credential, too; a mismatch is an outcome")
    func verification() async throws {
        let path = "/users/me/phone/verifications"
        let server = ScriptedServer([
            "/auth/number/methods": (200, Self.methods),
            path: (201, #"{"verification_id": "v", "status": "pending", "request": \#(Self.request)}"#),
            path + "/v/confirmation": (
                200,
                """
                {"verification_id": "v", "status": "mismatch", "phone_number": "+12025550123",
                "operator": "carriers", "checked_at": 1800000000, "sim_swapped": null}
                """
            ),
        ])
        var phone = Phone()
        phone.digitalCredential = { _ in DigitalCredential(json: Self.credential) }
        let verification = try await client(server).verifyPhoneNumber("+12025550123", on: phone, to: Self.redirectURI)
        #expect(verification.status == .mismatch && verification.id == "v")
        #expect(server.bodies(path).count == 1 && server.bodies(path + "/v/confirmation") == [Self.credential])
        // The phone knows no network, so that the number finds the operator.
        #expect(server.query("/auth/number/methods") == "platform=ios&phone_number=%2B12025550123")
    }

    /// What the second call of a digital credential ends with, and whether the next way is tried, or nil if the error
    /// is thrown.
    static let refusals: [(status: Int, code: String, goesOn: Bool?)] = [
        (401, "credential_invalid", true), (401, "invalid_grant", true), (502, "aggregator_error", true),
        (401, "invalid_id_token", true), (504, "carrier_timeout", true), (400, "operator_unknown", true),
        (401, "request_denied", true),
        (409, "user_already_exists", false), (403, "sim_swapped", false), (401, "access_denied", false),
        (400, "invalid_request", nil), (403, "user_not_registered", nil), (429, "rate_limited", nil),
    ]

    @Test("A refusal about the phone leads to the next way, one about the user ends", arguments: refusals)
    func refused(status: Int, code: String, goesOn: Bool?) async throws {
        let server = ScriptedServer([
            "/auth/number/methods": (200, Self.methods),
            "/auth/carriers/start": (201, #"{"sign_in_id": "s", "request": \#(Self.request)}"#),
            "/auth/carriers/start/s/confirmation": (status, #"{"error": "\#(code)"}"#),
            "/auth/number/start": (401, #"{"error": "consent_required"}"#),
        ])
        var phone = Phone(cellular: SocketCellularNetwork())
        phone.digitalCredential = { _ in DigitalCredential(json: Self.credential) }
        let latchkey = try client(server)
        guard let goesOn else {
            let error = try await failure { [phone] () async throws(LatchkeyError) in
                try await latchkey.signInByNumber(on: phone, to: Self.redirectURI)
            }
            return #expect(error.code.rawValue == code && server.count("/auth/number/start") == 0)
        }
        let outcome = try await latchkey.signInByNumber(on: phone, to: Self.redirectURI)
        #expect(server.count("/auth/number/start") == (goesOn ? 1 : 0))
        #expect(outcome.reason?.rawValue == (goesOn ? "consent_required" : code))
        guard case .otherWay(_, let providers) = outcome else { return }
        #expect(providers == ["google"])
    }

    @Test(
        "A server that cannot tell the ways leaves the other providers",
        arguments: [(502, "carrier_error", true), (503, "temporarily_unavailable", true), (429, "rate_limited", false)])
    func untold(status: Int, code: String, isOtherWay: Bool) async throws {
        let latchkey = try client(
            ScriptedServer(["/auth/number/methods": (status, #"{"error": "\#(code)"}"#)]))
        guard isOtherWay else {
            let error = try await failure { () async throws(LatchkeyError) in
                try await latchkey.signInByNumber(on: Phone(), to: Self.redirectURI)
            }
            return #expect(error.code.rawValue == code)
        }
        let outcome = try await latchkey.signInByNumber(on: Phone(), to: Self.redirectURI)
        #expect(outcome.reason?.rawValue == code)
    }

    @Test("A call that is cancelled while the system asks is not continued in another way")
    func cancelled() async throws {
        let server = ScriptedServer([
            "/auth/number/methods": (200, Self.methods),
            "/auth/carriers/start": (201, #"{"sign_in_id": "s", "request": \#(Self.request)}"#),
        ])
        var phone = Phone(cellular: SocketCellularNetwork())
        phone.digitalCredential = { _ in throw CancellationError() }
        let latchkey = try client(server)
        let error = try await failure { [phone] () async throws(LatchkeyError) in
            try await latchkey.signInByNumber(on: phone, to: Self.redirectURI)
        }
        #expect(error.code == .cancelled && server.count("/auth/number/start") == 0)
    }

    @Test("A phone that cannot ask for a credential begins none, and a dismissed one is not sent")
    func dismissed() async throws {
        for hasCredentials in [false, true] {
            let server = ScriptedServer([
                "/auth/number/methods": (200, Self.methods),
                "/auth/carriers/start": (201, #"{"sign_in_id": "s", "request": \#(Self.request)}"#),
            ])
            var phone = Phone()
            if hasCredentials { phone.digitalCredential = { _ in throw URLError(.userCancelledAuthentication) } }
            let outcome = try await client(server).signInByNumber(on: phone, to: Self.redirectURI)
            #expect(outcome.reason == .phoneRefused)
            #expect(server.count("/auth/carriers/start") == (hasCredentials ? 1 : 0))
            #expect(server.count("/auth/carriers/start/s/confirmation") == 0)
        }
    }

    @Test("A phone that names no network is signed in by a link of the aggregator, and by none over Wi-Fi")
    func link() async throws {
        try await ProviderWalk.withAggregator { walk in
            let (simulator, network) = (walk.harness.simulator, SocketCellularNetwork())
            let (latchkey, phone) = (try walk.harness.client(), Phone(cellular: network))
            simulator.device = .wifi
            let refused = try await latchkey.signInByNumber(on: phone, to: ProviderWalk.appURI)
            #expect(refused.reason == .authorizationStopped)
            simulator.device = .cellular(operator: "harbor", user: "otto")
            let outcome = try await latchkey.signInByNumber(on: phone, to: ProviderWalk.appURI)
            #expect(outcome.method == .digitalCredential)
            #expect(try await latchkey.me().profile[.phoneNumber] == "+12025550169")
            #expect(network.requests.allSatisfy { $0.fieldNames == SocketCellularNetwork.namesWithoutApp })
            let cases: [(String, LatchkeyClient.PhoneVerification.Status)] = [
                ("+12025550169", .verified), ("+12025550190", .mismatch),
            ]
            for (number, status) in cases {
                let verification = try await latchkey.verifyPhoneNumber(number, on: phone, to: ProviderWalk.appURI)
                #expect(verification.status == status)
            }
        }
    }
}

/// A server whose responses are written here: a status and a body for each path.
final class ScriptedServer: Transport {
    static let origin = "http://127.0.0.1:1"

    private let responses: [String: (status: Int, body: String)]
    private let sent = Mutex<[URLRequest]>([])

    init(_ responses: [String: (status: Int, body: String)]) { self.responses = responses }

    /// The path and the query, as they were sent.
    private static func target(of request: URLRequest) -> [String] {
        (request.url?.absoluteString.dropFirst(origin.count) ?? "").split(separator: "?").map(String.init)
    }

    private func requests(_ path: String) -> [URLRequest] {
        sent.withLock { $0.filter { Self.target(of: $0).first == path } }
    }

    func count(_ path: String) -> Int { requests(path).count }

    func bodies(_ path: String) -> [String] {
        requests(path).map { String(decoding: $0.httpBody ?? Data(), as: UTF8.self) }
    }

    /// The members of JSON bodies.
    func fields(_ path: String) -> [[String: String]] {
        requests(path).compactMap { try? JSONDecoder().decode([String: String].self, from: $0.httpBody ?? Data()) }
    }

    func query(_ path: String) -> String? { requests(path).first.flatMap { Self.target(of: $0).last } }

    func send(_ request: URLRequest) async throws -> (Data, HTTPURLResponse) {
        sent.withLock { $0.append(request) }
        guard let url = request.url, let (status, body) = responses[Self.target(of: request).first ?? ""],
            let response = HTTPURLResponse(url: url, statusCode: status, httpVersion: nil, headerFields: nil)
        else { throw URLError(.badServerResponse) }
        return (Data(body.utf8), response)
    }
}
