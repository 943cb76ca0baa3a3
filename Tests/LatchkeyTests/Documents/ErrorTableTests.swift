import CarrierSimulator
import Primitives
import TestSupport
import Testing

/// What apps are told for each error code of a carrier, over real sockets: the app kits' map, in which a remedy goes with
/// each kind.
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
        "discoveryStateError": "Run carrier discovery", "unknownError": "contact the operator",
    ]

    static let rows: [Row] = [
        Row(code: "invalid_request", type: "configurationError"),
        Row(code: "unauthorized_client", type: "configurationError"),
        Row(code: "invalid_client", type: "configurationError"), Row(code: "access_denied", type: "requestDenied"),
        Row(code: "request_denied", type: "requestDenied"), Row(code: "device_unavailable", type: "requestDenied"),
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

    /// Those for which the carrier, or this server's registration with it, is at fault.
    static let carriersFaults: Set = [
        "unauthorized_client", "invalid_client", "temporarily_unavailable", "server_error",
    ]

    @Test("A carrier's error code reaches the app with its kind and a remedy", arguments: rows)
    func told(row: Row) async throws {
        try await Stage.with { stage in
            let session = try #require(try await stage.session())
            stage.simulator.update(Stage.mccmnc) { $0.tokenRefusal = row.code }
            let answers = [
                try await stage.app.signIn(try stage.authorizedResponse()),
                try await stage.app.authorize(try stage.transaction(), session),
            ]
            for answer in answers {
                let text = answer.json["error_description"]?.string ?? ""
                if Self.carriersFaults.contains(row.code) {
                    #expect(answer.status == 502)
                    #expect(answer.error == "carrier_error")
                    #expect(text.contains("[\(row.code)]"))
                } else {
                    #expect(answer.status == 401)
                    #expect(answer.error == row.code)
                }
                #expect(answer.json["error_type"]?.string == row.type)
                #expect(text.contains(Self.remedies[row.type] ?? "no such type"), "\(text)")
                #expect(answer.json["correlation_id"]?.string != nil)
            }
        }
    }
}
