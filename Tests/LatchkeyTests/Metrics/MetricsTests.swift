import CarrierSimulator
import Foundation
import HTTPServer
import LatchkeyAPI
import LatchkeyConfiguration
import LatchkeyService
import OpenIDConnect
import Primitives
import TestSupport
import Testing

/// `GET /metrics` of a running service.
@Suite(.serialized) struct MetricsTests {
    @Test("Requests, sign-ins and their steps, carrier requests, sessions and the store's commits are counted")
    func counts() async throws {
        try await SignInHarness.with { harness in
            let app = harness.app
            let signedUp = try await app.signIn(harness.authorizedResponse())
            let token = try #require(signedUp.token)
            _ = try await app.signIn(
                harness.authorizedResponse(scope: "openid email").merging(["scope": "openid email"]) { $1 })
            _ = try await app.me(token)
            let refreshToken = try #require(signedUp.refreshToken)
            let successor = try #require(try await app.refresh(refreshToken).token)
            _ = try await app.refresh(refreshToken)
            _ = try await app.signOut(successor)
            _ = try await app.me(token)
            _ = try await app.send("PROPFIND", "/users/me")

            let metrics = try await app.metrics()
            let requests = "latchkey_http_requests_total"
            #expect(metrics.sum(requests, #"route="/auth/zenkey-signin",method="POST",status="200""#) == 2)
            #expect(metrics.sum(requests, #"route="/users/me",method="GET",status="200""#) == 1)
            #expect(metrics.sum(requests, #"route="/users/me",method="GET",status="401""#) == 1)
            #expect(metrics.sum(requests, #"route="/users/me",method="other",status="405""#) == 1)
            #expect(
                metrics.sum("latchkey_http_request_duration_seconds_count", #"route="/auth/zenkey-signin""#) == 2)
            let zenkey = [#"provider="zenkey",mccmnc="310010",kind="sign_in""#]
            let signIns = "latchkey_sign_ins_total"
            #expect(metrics.sum(signIns, zenkey[0], #"outcome="signed_up""#) == 1)
            #expect(metrics.sum(signIns, zenkey[0], #"outcome="signed_in""#) == 1)
            #expect(metrics.sum("latchkey_sign_in_duration_seconds_count", #"kind="sign_in""#) == 2)
            for (step, count) in [("discovery", 2.0), ("token", 2), ("validate", 2), ("userinfo", 1), ("store", 2)] {
                let steps = metrics.sum("latchkey_sign_in_step_duration_seconds_count", "step=\"\(step)\"")
                #expect(steps == count, "\(step)")
            }
            let asked = "latchkey_carrier_request_duration_seconds_count"
            // With the issuer's own configuration.
            #expect(metrics.sum(asked, #"issuer="",kind="discovery",outcome="ok""#) == 2)
            #expect(metrics.sum(asked, #"kind="token",outcome="ok""#) == 2)
            #expect(metrics.sum(asked, #"kind="keys",outcome="ok""#) == 1)
            #expect(metrics.sum(asked, #"kind="userinfo",outcome="ok""#) == 1)
            #expect(metrics.sum("latchkey_key_refreshes_total", #"outcome="ok""#) == 1)
            #expect(metrics.samples.count { $0.name == "latchkey_keys_age_seconds" } == 1)
            #expect(metrics.sum("latchkey_sessions_started_total") == 2)
            #expect(metrics.sum("latchkey_session_refreshes_total", #"outcome="ok""#) == 1)
            #expect(metrics.sum("latchkey_session_refreshes_total", #"outcome="again""#) == 1)
            #expect(metrics.sum("latchkey_sessions_ended_total", #"reason="signed_out""#) == 1)
            #expect(metrics.sum("latchkey_session_cache_lookups_total", #"result="hit""#) >= 1)
            #expect(metrics.sum("latchkey_store_call_duration_seconds_count", #"kind="write""#) >= 3)
            #expect(metrics.sum("latchkey_store_commits_total") >= 3)
            #expect(metrics.sum("latchkey_http_requests_in_progress") == 0)
            #expect(metrics.sum("latchkey_http_connections") >= 1)
            #expect(metrics.sum("latchkey_build_info") == 1)
            #expect(metrics.sum("process_open_fds") > 3)
        }
    }

    @Test("Failures are counted by cause: the failed check, the carrier's timeout, the open circuit breaker")
    func failures() async throws {
        try await SignInHarness.with(configure: {
            $0.outbound.bulkhead.failures = 1
            $0.outbound.limits.tokenTimeout = OutboundLimits.shortTimeout
        }) { harness in
            harness.simulator.setFaults([.idTokenWrongNonce], for: SignInHarness.mccmnc)
            #expect(try await harness.app.signIn(harness.authorizedResponse()).error == "invalid_id_token")
            _ = try await harness.app.signIn(["client_id": "nobody"])
            harness.simulator.setFaults([.tokenSlow], for: SignInHarness.mccmnc)
            _ = try await harness.app.signIn(harness.authorizedResponse())
            let metrics = try await harness.app.metrics()
            #expect(metrics.sum("latchkey_id_token_refusals_total", #"check="nonce""#) == 1)
            #expect(metrics.sum("latchkey_sign_ins_total", #"mccmnc="310010""#, #"outcome="invalid_id_token""#) == 1)
            #expect(metrics.sum("latchkey_sign_ins_total", #"mccmnc="310010""#, #"outcome="carrier_timeout""#) == 1)
            #expect(metrics.sum("latchkey_carrier_breaker_open", #"kind="token""#) == 1)
            #expect(metrics.sum("latchkey_carrier_breaker_open") == 1)
        }
    }

    @Test("No request can create a series by its path, method, network, provider or client")
    func hostile() async throws {
        try await SignInHarness.with { harness in
            // Sends one hostile request of each kind.
            func attack(_ number: Int) async throws {
                let app = harness.app
                _ = try await app.send("GET", "/x\(number)/y")
                _ = try await app.send("GET", "/auth/p\(number)/start")
                _ = try await app.send("GET", "/auth/zenkey-async-signin/h\(number)")
                _ = try await app.send("M\(number)", "/users/me")
                _ = try await app.send("M\(number)", "/z\(number)")
                _ = try await app.send("GET", "/x\(number).html")
                var fields = try harness.authorizedResponse()
                fields["mccmnc"] = String(999_000 + number)
                _ = try await app.signIn(fields)
                _ = try await app.post("/auth/p\(number)/sign-in", fields)
                fields["client_id"] = "c\(number)"
                _ = try await app.signIn(fields)
            }
            try await attack(0)
            // A request for the metrics is counted only after its response.
            _ = try await harness.app.metrics()
            let before = try await harness.app.metrics().series
            for number in 1...20 { try await attack(number) }
            let after = try await harness.app.metrics().series
            #expect(after.subtracting(before) == [])
            let text = try await harness.app.metrics().text
            for trace in ["999001", "x1", "M1", "p1", "c1"] { #expect(!text.contains("\"\(trace)"), "\(trace)") }
        }
    }

    @Test("promtool accepts the metrics")
    func promtool() async throws {
        try await SignInHarness.with { harness in
            _ = try await harness.app.signIn(harness.authorizedResponse())
            let ending = try await Promtool.check(metrics: try await harness.app.metrics().text)
            #expect(ending.status == 0 && ending.output.isEmpty, "\(ending.output)")
        }
    }

    @Test("The response is Prometheus text with Cache-Control: no-store")
    func form() async throws {
        try await SignInHarness.with { harness in
            let answer = try await harness.app.send("GET", "/metrics", headers: ["Accept-Encoding: gzip"])
            #expect(answer.status == 200)
            #expect(answer.response["content-type"] == "text/plain; version=0.0.4; charset=utf-8")
            #expect(answer.response["cache-control"] == "no-store")
            #expect(try await harness.app.send("POST", "/metrics").status == 405)
        }
    }

    private static let passedOn = [
        "X-Forwarded-For: 127.0.0.1", "X-Forwarded-For: 203.0.113.9", "Forwarded: for=127.0.0.1", "Via: 1.1 proxy",
        "X-Real-IP: 203.0.113.9", "X-Forwarded-Proto: https", "X-Forwarded-Host: login.example",
    ]

    @Test("A proxied request gets no metrics, whatever its headers claim", arguments: passedOn)
    func proxied(field: String) async throws {
        try await SignInHarness.with { harness in
            let answer = try await harness.app.send("GET", "/metrics", headers: [field])
            #expect(answer.status == 404)
            #expect(answer.error == "not_found")
        }
    }

    @Test("Access through a trusted proxy depends on the client address that the proxy reports")
    func trustedProxy() async throws {
        func allow(_ text: String) throws -> [IPAddressRange] { [try #require(IPAddressRange(text))] }
        let loopback = try allow("127.0.0.1")
        let network = try allow("10.1.0.0/16")
        try await SignInHarness.with(configure: {
            $0.requestLimits.proxies.ranges = loopback
            $0.metrics.allowedAddresses = network
        }) { harness in
            for (field, status) in [
                ("X-Forwarded-For: 10.1.2.3", 200), ("X-Forwarded-For: 10.2.0.1", 404),
                ("X-Forwarded-For: 10.1.2.3, 203.0.113.9", 404), ("X-Forwarded-For: 203.0.113.9, 10.1.2.3", 200),
                ("X-Forwarded-For: 127.0.0.1", 404), ("X-Other: 1", 404),
            ] {
                let answer = try await harness.app.send("GET", "/metrics", headers: [field])
                #expect(answer.status == status, "\(field)")
            }
        }
    }

    @Test("With metrics.port, only that port serves the metrics, to every client, and it does not serve the API")
    func ownAddress() async throws {
        try await SignInHarness.with(configure: { $0.metrics.port = 0 }) { harness in
            #expect(try await harness.app.send("GET", "/metrics").status == 404)
            let other = App(port: try #require(harness.addresses.last?.port))
            #expect(other.port != harness.app.port)
            let answer = try await other.send("GET", "/metrics", headers: ["X-Forwarded-For: 203.0.113.9"])
            #expect(answer.status == 200)
            #expect(try await other.send("GET", "/healthz").status == 200)
            let client = try await RawClient(port: other.port, limit: .seconds(10))
            try await client.send("GET /auth/providers HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            #expect(try await client.readResponse().status == 404)
            await client.close()
        }
    }
}
