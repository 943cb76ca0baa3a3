import CarrierSimulator
import Primitives
import TestSupport
import Testing

/// The error responses for each error code of a carrier, over real sockets: the app kits' map, in which a remedy
/// belongs to each error type.
@Suite(.serialized) struct ErrorTableTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let code: String
        let type: String
        var testDescription: String { code }
    }

    static let remedies = [
        "invalidRequest": "Check the parameters", "requestDenied": "Tell the user that the request was denied",
        "requestTimeout": "offer another try", "serverError": "Try again later",
        "networkFailure": "check the connection", "configurationError": "portal",
        "discoveryStateError": "run carrier discovery", "unknownError": "contact the administrator",
    ]

    static let rows: [Row] = [
        Row(code: "invalid_request", type: "configurationError"),
        Row(code: "unauthorized_client", type: "configurationError"),
        Row(code: "invalid_client", type: "configurationError"), Row(code: "access_denied", type: "requestDenied"),
        Row(code: "request_denied", type: "requestDenied"), Row(code: "device_unavailable", type: "requestDenied"),
        Row(code: "user_cancelled_authorize", type: "requestDenied"),
        Row(code: "user_cancelled_login", type: "requestDenied"),
        Row(code: "invalid_grant", type: "requestDenied"), Row(code: "invalid_scope", type: "invalidRequest"),
        Row(code: "invalid_request_object", type: "invalidRequest"),
        Row(code: "temporarily_unavailable", type: "serverError"), Row(code: "server_error", type: "serverError"),
        Row(code: "network_failure", type: "networkFailure"),
        Row(code: "authentication_timed_out", type: "requestTimeout"),
        Row(code: "user_not_found", type: "discoveryStateError"),
        Row(code: "user_unsupported", type: "discoveryStateError"),
        Row(code: "invalid_login_hint", type: "discoveryStateError"),
        Row(code: "invalid_login_hint_token", type: "discoveryStateError"),
        Row(code: "sim_swapped", type: "unknownError"),
    ]

    /// The codes whose cause is the carrier or this server's registration with it.
    static let carriersFaults: Set = [
        "unauthorized_client", "invalid_client", "temporarily_unavailable", "server_error",
    ]

    @Test("A carrier's error code reaches the app with its error type and a remedy", arguments: rows)
    func told(row: Row) async throws {
        try await SignInHarness.with { harness in
            let session = try #require(try await harness.session())
            harness.simulator.update(SignInHarness.mccmnc) { $0.tokenRefusal = row.code }
            let responses = [
                try await harness.app.signIn(try harness.authorizedResponse()),
                try await harness.app.authorize(try harness.transaction(), session),
            ]
            for response in responses {
                let text = response.json["error_description"]?.string ?? ""
                if Self.carriersFaults.contains(row.code) {
                    #expect(response.status == 502)
                    #expect(response.error == "carrier_error")
                    #expect(text.contains("[\(row.code)]"))
                } else {
                    #expect(response.status == 401)
                    #expect(response.error == row.code)
                }
                #expect(response.json["error_type"]?.string == row.type)
                // The user has denied nothing if the code or its verifier is wrong.
                let remedy = row.code == "invalid_grant" ? "new authorization request" : Self.remedies[row.type]
                #expect(text.contains(remedy ?? "no such type"), "\(text)")
                #expect(row.code != "invalid_grant" || !text.contains("denied"), "\(text)")
                #expect(response.json["correlation_id"]?.string != nil)
            }
        }
    }
}
