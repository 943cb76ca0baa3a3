import HTTPTypes
import LatchkeyConfiguration
import Logging
import OpenIDConnect
import PhoneVerification
import Primitives
import SignIn
import TestSupport
import Testing

/// What the error codes of an operator's OAuth endpoints become for the app, and in the log.
@Suite("An error code of a mobile operator")
struct OperatorErrorTests {
    /// Where the operator says it, and what the app asked for.
    enum Place: String, Sendable, CaseIterable {
        case authorization, pushedRequest, code, operatorToken, backchannel, poll, simSwap
        case verification, verificationOfCode, verificationByToken

        /// Whether a browser brings the code, which could bring any.
        var isInBrowser: Bool { self == .authorization || self == .verification }
        var isOfVerification: Bool { rawValue.hasPrefix("verification") }
    }

    struct Row: Sendable, CustomTestStringConvertible {
        let place: Place
        let code: String
        let error: String
        let status: Int
        let level: Logger.Level
        var testDescription: String { "\(code) at \(place)" }
    }

    /// The code, what it becomes, and how it is logged; at the authorization endpoint a fault is a warning.
    private static let codes: [(code: String, error: String, status: Int, level: Logger.Level)] = [
        ("invalid_request", "carrier_error", 502, .error), ("invalid_scope", "carrier_error", 502, .error),
        ("invalid_client", "carrier_error", 502, .error), ("unauthorized_client", "carrier_error", 502, .error),
        ("unsupported_grant_type", "carrier_error", 502, .error),
        ("request_uri_not_supported", "carrier_error", 502, .error),
        ("server_error", "carrier_error", 502, .warning), ("temporarily_unavailable", "carrier_error", 502, .warning),
        ("unknown_user_id", "carrier_error", 502, .warning), ("expired_token", "carrier_error", 502, .warning),
        ("a_code_of_its_own", "carrier_error", 502, .warning), ("invalid_token", "carrier_error", 502, .warning),
        ("login_required", "not_on_mobile_network", 401, .info), ("access_denied", "access_denied", 401, .info),
        ("consent_required", "consent_required", 401, .info), ("invalid_grant", "invalid_grant", 401, .info),
    ]

    static let rows = Place.allCases.flatMap { place in
        codes.map { row in
            Row(
                place: place, code: row.code, error: row.error, status: row.status,
                level: place.isInBrowser && row.level == .error ? .warning : row.level)
        }
    }

    private static func app(_ row: Row) throws -> NumberApp {
        var policy = SIMSwapPolicy()
        policy.ifSwapped = row.place == .simSwap ? .refuse : .off
        let app = try NumberApp(simSwap: policy)
        let refusal: FakeOperator.Answer = { _ in .json(#"{"error":"\#(row.code)"}"#, status: 400) }
        let northwind = app.northwind
        northwind.script { script in
            switch row.place {
            case .authorization, .verification: break
            case .pushedRequest:
                script.metadata["pushed_authorization_request_endpoint"] = "\"\(northwind.pushURL)\""
                script.metadata["require_pushed_authorization_requests"] = "true"
                script.push = refusal
            case .code, .operatorToken, .verificationByToken, .verificationOfCode: script.token = refusal
            case .backchannel: script.backchannel = refusal
            case .poll: script.polls = [row.code]
            case .simSwap:
                script.token = { [northwind] request throws(OutboundError) in
                    let isForClient = String(decoding: request.body, as: UTF8.self).contains("client_credentials")
                    guard isForClient else { return northwind.tokens(request) }
                    return try refusal(request)
                }
            }
        }
        if row.place == .backchannel || row.place == .poll { northwind.useBackchannel() }
        return app
    }

    /// The code of the app's error, and its status if there is a response.
    private static func outcome(_ app: NumberApp, _ row: Row) async throws -> (error: String?, status: Int?) {
        switch row.place {
        case .authorization:
            let state = try #require(try await app.start().parameters["state"])
            return (try await app.finish("state=\(state)&error=\(row.code)")["error"], nil)
        case .pushedRequest:
            let answer = try await app.send(.get, NumberApp.query(), [.accept: "application/json"])
            let location = try #require(answer.headers[.location], "\(answer.body)")
            return (NumberApp.Authorization(location).parameters["error"], nil)
        case .code, .simSwap: return (try await app.outcome()["error"], nil)
        case .operatorToken, .backchannel, .poll:
            let answer = try await app.signIn()
            return (answer.error, answer.status)
        case .verification, .verificationOfCode, .verificationByToken:
            return try await verification(PhoneVerificationWalk(app), row)
        }
    }

    private static func verification(
        _ walk: PhoneVerificationWalk, _ row: Row
    ) async throws -> (error: String?, status: Int?) {
        guard row.place != .verificationByToken else {
            let answer = try await walk.post(
                #""operator_token":"TS43","operator":"northwind","phone_number":"+14155550101""#)
            // What is about the user is an outcome.
            guard answer.status == 200 else { return (answer.error, answer.status) }
            return (answer.text("error"), nil)
        }
        let started = try await walk.start()
        let back: [String: String]
        if row.place == .verification {
            let state = try #require(started.authorization.parameters["state"])
            back = try await walk.app.finish("state=\(state)&error=\(row.code)")
        } else {
            back = try await walk.open(started)
        }
        let answer = try await walk.confirm(started.id, try #require(back["confirmation"]))
        #expect(answer.text("status") == "failed", "\(answer.body)")
        return (answer.text("error"), nil)
    }

    @Test("is the app's, or becomes one after which clients go on, and an alert for the operator", arguments: rows)
    func table(_ row: Row) async throws {
        let app = try Self.app(row)
        let (error, status) = try await Self.outcome(app, row)
        #expect(error == row.error)
        if let status { #expect(status == row.status) }
        let message = row.place.isOfVerification ? "phone verification" : "sign-in refused"
        let lines = app.log.lines.filter { $0.message == message && $0.metadata["outcome"] == row.error }
        #expect(lines.map(\.level).max() == row.level, "\(app.log.text)")
        guard row.level > .info else { return }
        let line = try #require(lines.first { $0.level == row.level })
        let name = row.place.isOfVerification ? line.metadata["operator"] : line.metadata["provider"]
        #expect(name == (row.place.isOfVerification ? "northwind" : "number/northwind"))
        #expect(line.metadata["carrier_error"] == row.code)
        #expect(line.metadata["host"] == "auth.northwind.example")
        #expect(line.metadata["cause"]?.contains("endpoint") == true || row.place.isInBrowser, "\(line.metadata)")
    }

    @Test("is neither shown nor logged if it does not look like one", arguments: ["%22%3E%3Cscript%3E", "a%20b", "7"])
    func junk(_ code: String) async throws {
        let app = try NumberApp()
        let state = try #require(try await app.start().parameters["state"])
        let outcome = try await app.finish("state=\(state)&error=\(code)")
        #expect(outcome["error"] == "carrier_error")
        #expect(!app.log.text.contains("script") && app.log.signIns.last?.metadata["carrier_error"] == nil)
    }
}
