import HTTPServer
import LatchkeyAPI
import Observability
import SignIn

enum ServerMetrics {
    static func metrics(_ statistics: @escaping @Sendable () -> ServerStatistics?) -> [any Metric] {
        func sampled(
            _ name: String, _ kind: MetricDescription.Kind, _ help: String,
            _ value: @escaping @Sendable (ServerStatistics) -> Double
        ) -> SampledMetric { SampledMetric(name, kind, help, { statistics().map(value) }) }
        return [
            sampled("latchkey_http_connections", .gauge, "Open client connections.") { Double($0.connections) },
            sampled("latchkey_http_connections_accepted_total", .counter, "Client connections accepted.") {
                Double($0.accepted)
            },
            sampled(
                "latchkey_http_connections_refused_total", .counter,
                "Client connections refused because of a limit, in total or for one address.", { Double($0.refused) }
            ),
            SampledMetric(
                "latchkey_http_connections_limited_total",
                "Client connections refused or closed because of a limit.",
                by: .init(
                    "reason",
                    "`full`, refused because no other connection could make room; `address_share`, refused because its "
                        + "address had its share; `unanswered`, refused without a response; `evicted`, closed to make "
                        + "room; `handshake_evicted`, closed during its TLS handshake to make room; `unsent_output`, "
                        + "closed because its client did not read; `incomplete_requests`, refused because requests "
                        + "that had not arrived in full took too much memory")
            ) {
                (statistics()?.limited ?? [:]).sorted { $0.key.rawValue < $1.key.rawValue }.map {
                    ($0.key.rawValue, $0.value)
                }
            },
            sampled(
                "latchkey_http_unsent_bytes", .gauge,
                "Memory for output that clients have not received, in this process and in the system's buffers."
            ) { Double($0.unsentBytes) },
            sampled(
                "latchkey_http_incomplete_request_bytes", .gauge,
                "Memory for requests that have not arrived in full, of connections with more than 4 KiB of them."
            ) { Double($0.incompleteBytes) },
            sampled("latchkey_tls_handshakes_in_progress", .gauge, "TLS handshakes in progress.") {
                Double($0.handshakes)
            },
            sampled("latchkey_tls_handshakes_failed_total", .counter, "TLS handshakes that failed.") {
                Double($0.failedHandshakes)
            },
            SampledMetric(
                "latchkey_http_requests_refused_total",
                "Requests refused because they were malformed, or their connection was beyond a limit.",
                by: .init("status", "the status of the response")
            ) {
                (statistics()?.refusedRequests ?? [:]).sorted { $0.key < $1.key }.map { (String($0.key), $0.value) }
            },
        ]
    }

    static func metrics(_ load: @escaping @Sendable () -> RequestLoad?) -> [any Metric] {
        [
            SampledMetric(
                "latchkey_http_requests_in_progress", .gauge, "Requests being handled.",
                { load().map { Double($0.inProgress) } }),
            SampledMetric(
                "latchkey_http_requests_shed_total",
                "Requests answered 503 because of overload, before any work was done for them.",
                by: .init(
                    "reason",
                    "`concurrent`, at the limit on concurrent requests; `late`, while an event loop has more to do "
                        + "than it can")
            ) { (load()?.shed ?? []).map { ($0.reason.rawValue, $0.count) } },
            SampledMetric(
                "latchkey_http_requests_rate_limited_total", "Requests answered 429 because of a rate limit.",
                by: .init("limit", "the exceeded limit, as in `RateLimit-Policy`")
            ) { (load()?.rateLimited ?? []).map { ($0.limit, $0.count) } },
        ]
    }

    static func metrics(of sessions: Sessions) -> [any Metric] {
        let statistics = { @Sendable in sessions.statistics }
        return [
            SampledMetric(
                "latchkey_sessions_started_total", .counter, "Sessions started.", { Double(statistics().started) }),
            SampledMetric(
                "latchkey_session_refreshes_total", "Session refreshes.",
                by: .init(
                    "outcome",
                    "`ok`; `again` for a retry that got the same tokens; `reused` for a used token, which ended the "
                        + "session")
            ) {
                let now = statistics()
                return [("ok", now.refreshed), ("again", now.refreshedAgain), ("reused", now.reused)]
            },
            SampledMetric(
                "latchkey_sessions_ended_total", "Sessions ended before they expired.",
                by: .init(
                    "reason",
                    "`signed_out`; `revoked` by another session or a service; `provider` for a back-channel logout; "
                        + "`reused` for a used refresh token")
            ) {
                let now = statistics()
                return [
                    ("signed_out", now.signedOut), ("revoked", now.revoked), ("provider", now.endedByProvider),
                    ("reused", now.reused),
                ]
            },
            SampledMetric(
                "latchkey_session_cache_lookups_total", "Lookups of sessions in the memory cache.",
                by: .init("result", "`hit`, or `miss` if the store was asked")
            ) {
                let now = statistics()
                return [("hit", now.cacheHits), ("miss", now.cacheMisses)]
            },
        ]
    }
}

/// Measures the lag of the event loops once a second.
struct LoopProbe: Sendable {
    /// From a tenth of a millisecond.
    private static let bounds: [UInt64] = [100_000, 250_000] + Histogram.latencies.dropLast(2)

    let lag = Histogram(
        "latchkey_event_loop_lag_seconds",
        "Time until an event loop starts new work; measured once a second on each loop.", bounds: bounds)

    /// Runs until the task is cancelled.
    func run(_ server: Server) async {
        while (try? await Task.sleep(for: .seconds(1))) != nil {
            for delay in await server.loopDelays() { lag.observe(UInt64(max(0, delay / .nanoseconds(1)))) }
        }
    }
}
