import CarrierSimulator
import Foundation
import OpenIDConnect
import Primitives
import Testing

/// A failed sign-in is explained by its single log line: the tests read only the log of a real server process, and name
/// the carrier's host, the step, and the cause.
@Suite(.serialized, .onOneServer) struct FailedSignInLogTests {
    struct Row: Sendable {
        /// The step and the cause, as ``explanation(by:)`` reads them.
        let explanation: String
        /// The carrier's host; nil for that of the simulated carriers.
        var host: String?
        var flow = "sign-in"
        let changes: [ConformanceCase.Change]

        init(
            _ explanation: String, host: String? = nil, flow: String = "sign-in", _ changes: ConformanceCase.Change...
        ) {
            self.explanation = explanation
            self.host = host
            self.flow = flow
            self.changes = changes
        }
    }

    /// What a line says about the cause, and nothing else.
    private static func explanation(by line: LogLine) -> String {
        var causes = [
            line["transport"], line["status"].map { "status \($0)" }, line["carrier_error"].map { "code \($0)" },
            line["check"].map { "check \($0)" },
        ]
        if line["carrier_error"] == nil, line["check"] == nil, line["transport"] == nil { causes.append(line["cause"]) }
        return (line["failed_step"] ?? "callback") + ": " + causes.compactMap(\.self).joined(separator: ", ")
    }

    // MARK: Error codes of carriers

    /// Those of the mobile SDKs, of RFC 6749 and of OpenID Connect Core section 3.1.2.6, and one of a carrier's own.
    static let codes = [
        "access_denied", "account_selection_required", "authentication_timed_out", "consent_required",
        "device_unavailable", "interaction_required", "invalid_client", "invalid_grant", "invalid_login_hint",
        "invalid_login_hint_token", "invalid_request", "invalid_request_object", "invalid_request_uri", "invalid_scope",
        "login_required", "network_failure", "registration_not_supported", "request_denied", "request_not_supported",
        "request_uri_not_supported", "server_error", "temporarily_unavailable", "unauthorized_client",
        "unsupported_grant_type", "unsupported_response_type", "user_not_found", "user_unsupported", "sim_swapped",
    ]

    private static func refusal(_ code: String) -> String { #"{"error":"\#(code)","error_description":"d"}"# }

    static let refusals: [Row] = codes.flatMap { code in
        [
            Row("token: status 400, code \(code)", .answer(.token, 400, refusal(code))),
            Row("discovery: status 200, code \(code)", .answer(.discovery, 200, refusal(code))),
            Row(
                "callback: code \(code)", .redirect,
                .callback { items in
                    items.removeAll { $0.name == "code" }
                    items.append(.init(name: "error", value: code))
                }),
        ]
    }

    // MARK: Responses and the transport

    static let responses: [Row] = [
        Row("userinfo: status 401, code invalid_token", .answer(.userInfo, 401, refusal("invalid_token"))),
        Row("token: status 500, code server_error", .answer(.token, 500, refusal("server_error"))),
        Row(
            "token: status 503, The token endpoint's response, of status 503, is not a JSON object.",
            .answer(.token, 503, "text/html", "<p>down</p>")),
        Row(
            "token: status 302, The token endpoint's response, of status 302, is not a JSON object.",
            .redirect(.token, 302)),
        Row("token: status 200, The token endpoint's response has no id_token.", .tokens("id_token", nil)),
        Row(
            "token: status 200, The token endpoint's response has no access_token of visible ASCII characters.",
            .tokens("access_token", nil)),
        Row(
            "token: status 200, The token endpoint's response has a token_type other than Bearer.",
            .tokens("token_type", "mac")),
        Row(
            "token: status 200, The token endpoint's response has an expires_in that is not a number of seconds.",
            .tokens("expires_in", "soon")),
        Row(
            "discovery: status 200, In the provider's metadata, jwks_uri is missing or not acceptable.",
            .metadata("jwks_uri", nil)),
        Row(
            "discovery: status 404, The discovery response, of status 404, is not a JSON object.",
            .answer(.discovery, 404, "text/html", "<p>what?</p>")),
        Row(
            "keys: status 500, The provider's key set, of status 500, cannot be read, or is empty.",
            .answer(.keys, 500, "{}")),
        Row(
            "userinfo: status 503, The userinfo response is not status 200 with a JSON object.",
            .answer(.userInfo, 503, "{}")),
        Row("token: connection refused", host: "127.0.0.1:9", .metadata("token_endpoint", "http://127.0.0.1:9/token")),
        Row("token: closed without an answer", .raw(.token, Scripts.closeAtOnce)),
        Row("token: closed without an answer", .raw(.token, Scripts.resetAtOnce)),
        Row("token: the connection ended before the response was complete", .raw(.token, Scripts.closeInBody)),
        Row("token: the response is not HTTP/1", .raw(.token, Scripts.noHTTP)),
        Row("token: the response's Content-Length is not valid", .raw(.token, Scripts.twoLengths)),
        Row("token: the response's head is too large", .raw(.token, Scripts.endlessHead)),
        Row("token: timed out after 3 s, without an answer", .raw(.token, Scripts.silence)),
        Row("token: timed out after 3 s, before the response was complete", .raw(.token, Scripts.drippedBody)),
        Row(
            "token: timed out after 3 s, in the TLS handshake",
            .object(.discovery) { metadata in
                let url = metadata["token_endpoint"]?.string ?? ""
                metadata["token_endpoint"] = .string(url.replacing("http://", with: "https://"))
            }),
        Row("discovery: closed without an answer", .raw(.discovery, Scripts.closeAtOnce)),
        Row("keys: closed without an answer", .raw(.keys, Scripts.closeAtOnce)),
        Row("userinfo: closed without an answer", .raw(.userInfo, Scripts.closeAtOnce)),
    ]

    // MARK: Pushed authorization requests

    private static func push(_ explanation: String, _ changes: ConformanceCase.Change...) -> Row {
        let common: [ConformanceCase.Change] = [
            .redirect, .fault(.parRequired), .steps { [try await $0.startInVain()] },
        ]
        return Row("par: " + explanation, changes: common + changes)
    }

    private static let pushedResponse = "The response of the pushed authorization request endpoint"

    static let pushes: [Row] =
        codes.map { push("status 400, code \($0)", .answer(.pushedAuthorization, 400, refusal($0))) } + [
            push("status 401, code invalid_client", .fault(.parInvalidClient)),
            push("status 500, \(pushedResponse), of status 500, is not a JSON object.", .fault(.par500)),
            push("status 307, \(pushedResponse), of status 307, is not a JSON object.", .fault(.parRedirect)),
            push(
                "status 200, \(pushedResponse), of status 200, has neither a request_uri nor an error.",
                .fault(.parStatus200)),
            push("status 503, code server_error", .answer(.pushedAuthorization, 503, refusal("server_error"))),
            push(
                "status 201, \(pushedResponse) has no expires_in that is a positive number of seconds.",
                .fault(.parExpired)),
            push("closed without an answer", .raw(.pushedAuthorization, Scripts.closeAtOnce)),
            push("timed out after 3 s, without an answer", .raw(.pushedAuthorization, Scripts.silence)),
            push(
                "In the provider's metadata, pushed_authorization_request_endpoint is missing or not acceptable.",
                .fault(.discoveryNoPAR)),
        ]

    // MARK: Checks of the ID token

    private static func checked(_ check: IDTokenCheck, _ changes: ConformanceCase.Change...) -> (IDTokenCheck, Row) {
        (check, Row("validate: check \(check.rawValue)", changes: changes))
    }

    static let checks: [(check: IDTokenCheck, row: Row)] = [
        (.encryption, Row("token: check encryption", .client(ConformanceHarness.encryptedClient))),
        checked(.format, .fault(.idTokenFiveParts)), checked(.criticalHeader, .fault(.idTokenCritical)),
        checked(.idTokenClaims, .header("typ", "at+jwt"), .claim("scope", "openid")),
        checked(.type, .header("typ", "logout+jwt")), checked(.algorithm, .fault(.idTokenPS256)),
        checked(.key, .fault(.idTokenUnknownKeyID)), checked(.signature, .fault(.idTokenBadSignature)),
        checked(.claims, .fault(.idTokenDuplicateClaim)), checked(.issuer, .fault(.idTokenOtherIssuer)),
        checked(.subject, .fault(.idTokenMissingSubject)), checked(.audience, .fault(.idTokenOtherAudience)),
        checked(.authorizedParty, .fault(.idTokenOtherAuthorizedParty)), checked(.expiry, .fault(.idTokenExpired)),
        checked(.issuedAt, .fault(.idTokenOld)), checked(.notBefore, .fault(.idTokenNotYetValid)),
        checked(.nonce, .fault(.idTokenWrongNonce)), checked(.acr, .asks(acr: "a3"), .fault(.idTokenWrongACR)),
        checked(.accessTokenHash, .fault(.idTokenWrongAccessTokenHash)),
        checked(.context, .asks(context: "Pay 10"), .fault(.idTokenOtherContext)),
        (
            .userInfoSubject,
            Row("userinfo: status 200, check userinfo_subject", .fault(.userInfoWrongSubject))
        ),
        (
            .authTime,
            Row(
                "validate: check auth_time", flow: "transaction", .transaction, .fault(.idTokenOldAuthentication))
        ),
        (
            .sameUser,
            Row(
                "store: check same_user", flow: "transaction", .transaction,
                .draft { $0.claims["sub"] = $0.claims["sub"]?.appending("-of-another") })
        ),
        (
            .requestID,
            Row(
                "store: check auth_req_id", flow: "backchannel authentication", .phone, .notified(400),
                .fault(.idTokenOtherRequestID))
        ),
    ]

    @Test("Each error code of a carrier is in the line, with the step, the host and the status")
    func refused() async throws {
        for row in Self.refusals { try await explain(row) }
    }

    @Test("Each unusable response and each failure of the transport is in the line")
    func unusable() async throws {
        for row in Self.responses { try await explain(row) }
    }

    @Test("Each failure of a pushed authorization request is in the line")
    func pushed() async throws {
        for row in Self.pushes { try await explain(row) }
    }

    @Test("Each check of the ID token is in the line")
    func unverified() async throws {
        #expect(Set(Self.checks.map(\.check)) == Set(IDTokenCheck.allCases))
        for (_, row) in Self.checks { try await explain(row) }
    }

    @Test("A carrier whose circuit breaker is open is in the line")
    func suspended() async throws {
        let run = try Self.run(Row("", .raw(.token, Scripts.closeAtOnce)))
        for _ in 0..<6 { _ = try await run.signIn() }
        let lines = try await Self.lines(of: run, "sign-in", count: 6)
        #expect(lines.map(Self.explanation).last == "token: the circuit breaker of the provider is open")
        let host = try Self.carriersHost
        #expect(lines.last?["host"] == host)
    }

    @Test("At verbose each outbound request has a line with its step, host, outcome and duration")
    func outboundRequests() async throws {
        let good = try Self.run(Row("", .app { $0["correlation_id"] = "verbose-good" }))
        #expect(try await good.signIn().status == 200)
        let bad = try Self.run(
            Row("", .app { $0["correlation_id"] = "verbose-bad" }, .raw(.token, Scripts.closeAtOnce)))
        #expect(try await bad.signIn().status == 502)
        let said = try await Self.harness.process.wait { said in
            let isRefused = LogLine.all(in: said).contains {
                $0.text.contains("sign-in refused") && $0["correlation_id"] == "verbose-bad"
            }
            return isRefused ? said : nil
        }
        let host = try Self.carriersHost
        let lines = LogLine.all(in: said).filter { $0.text.contains(" verbose outbound request ") }
        let ofGood = lines.filter { $0["correlation_id"] == "verbose-good" }
        #expect(ofGood.map { $0["step"] } == ["discovery", "token", "keys", "userinfo"])
        #expect(ofGood.map { $0["method"] } == ["GET", "POST", "GET", "GET"])
        for line in ofGood {
            #expect(line["status"] == "200")
            #expect(line["host"] == host)
            #expect(line["ms"].flatMap(Double.init) != nil, "\(line.text)")
            #expect(!line.text.contains("/carriers/"), "\(line.text)")
        }
        let failed = lines.filter { $0["correlation_id"] == "verbose-bad" }.last
        #expect(failed?["step"] == "token")
        #expect(failed?["transport"] == "closed without an answer")
    }

    @Test("A request that is refused for its fields has a line, if it names the sign-in")
    func fields() async throws {
        let run = try Self.run(
            Row(
                "",
                .app { fields in
                    fields["correlation_id"] = "without-code"
                    fields["code"] = nil
                }))
        #expect(try await run.signIn().status == 400)
        let line = try await Self.harness.process.wait { said in
            LogLine.all(in: said).first { $0["correlation_id"] == "without-code" }
        }
        #expect(line.text.contains("request refused"))
        #expect(line["outcome"] == "invalid_request")
        #expect(line["cause"] == "code is missing.")
    }

    // MARK: Running a row

    private static var harness: ConformanceHarness {
        get throws { try #require(ConformanceHarness.current) }
    }

    private static var carriersHost: String? {
        get throws { String(try harness.proxy.url.dropFirst("http://".count)) }
    }

    private static func run(_ row: Row) throws -> ConformanceRun {
        let run = ConformanceRun(ConformanceCase(row.explanation, .unexpected, row.changes), on: try harness)
        run.misbehave()
        return run
    }

    /// The lines of refusals at a run's carrier. The last step of a backchannel authentication, which the app asks for,
    /// only repeats the cause.
    private static func lines(of run: ConformanceRun, _ flow: String, count: Int) async throws -> [LogLine] {
        try await harness.process.wait { said in
            let lines = LogLine.all(in: said).filter {
                $0["mccmnc"] == run.mccmnc && $0.text.contains("refused") && $0["step"] != "end"
            }
            return lines.count >= count ? lines : nil
        }
    }

    private func explain(_ row: Row) async throws {
        let run = try Self.run(row)
        let answer = try #require(try await run.answers().first)
        #expect(answer.token == nil, "\(row.explanation)")
        let lines = try await Self.lines(of: run, row.flow, count: 1)
        #expect(lines.count == 1, "\(row.explanation): \(lines.map(\.text))")
        let line = try #require(lines.first)
        #expect(Self.explanation(by: line) == row.explanation, "\(line.text)")
        let host = try row.host ?? Self.carriersHost
        #expect(line["host"] == host, "\(line.text)")
        #expect(line.text.contains(" \(row.flow) refused "), "\(line.text)")
        #expect(line["cause"]?.isEmpty == false, "\(line.text)")
        #expect(line["correlation_id"]?.isEmpty == false, "\(line.text)")
        if let id = answer.json["correlation_id"]?.string { #expect(line["correlation_id"] == id) }
        #expect(!run.secretsHeard(in: line.text))
        // What the app's user is told is general.
        let told = answer.json["message"]?.string ?? ""
        for detail in [line["host"], line["transport"], line["carrier_error"]].compactMap(\.self) {
            #expect(!told.contains(detail), "\(told)")
        }
    }
}

extension FailedSignInLogTests.Row {
    fileprivate init(_ explanation: String, changes: [ConformanceCase.Change]) {
        self.explanation = explanation
        self.changes = changes
    }
}
