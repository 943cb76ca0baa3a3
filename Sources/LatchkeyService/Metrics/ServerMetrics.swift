import HTTPServer
import LatchkeyAPI
import Observability
import OutboundHTTP
import SignIn

/// What the parts of a running service have to do, asked for when the metrics are read.
enum ServerMetrics {
    static func metrics(_ statistics: @escaping @Sendable () -> ServerStatistics?) -> [any Metric] {
        [
            SampledMetric(
                "latchkey_http_connections", .gauge, "Open connections of clients.",
                { statistics().map { Double($0.connections) } }),
            SampledMetric(
                "latchkey_http_connections_accepted_total", .counter, "Connections of clients that were taken.",
                { statistics().map { Double($0.accepted) } }),
            SampledMetric(
                "latchkey_http_connections_refused_total", .counter,
                "Connections of clients that were too many, in all or of one address.",
                { statistics().map { Double($0.turnedAway) } }),
            SampledMetric(
                "latchkey_tls_handshakes_in_progress", .gauge, "TLS handshakes of clients under way.",
                { statistics().map { Double($0.handshakes) } }),
            SampledMetric(
                "latchkey_tls_handshakes_failed_total", .counter, "TLS handshakes of clients that came to nothing.",
                { statistics().map { Double($0.failedHandshakes) } }),
            SampledMetric(
                MetricDescription(
                    "latchkey_http_requests_refused_total", .counter,
                    "Requests that were refused before they were whole or could be read.",
                    labels: [.init("status", "of the answer")])
            ) {
                (statistics()?.refusedRequests ?? [:]).sorted { $0.key < $1.key }
                    .map { .init(Double($0.value), [String($0.key)]) }
            },
        ]
    }

    static func metrics(_ load: @escaping @Sendable () -> RequestLoad?) -> [any Metric] {
        [
            SampledMetric(
                "latchkey_http_requests_in_progress", .gauge, "Requests being handled.",
                { load().map { Double($0.underWay) } }),
            SampledMetric(
                "latchkey_http_requests_shed_total", .counter,
                "Requests answered 503 because as many were being handled as may be.",
                { load().map { Double($0.shed) } }),
            SampledMetric(
                MetricDescription(
                    "latchkey_http_requests_rate_limited_total", .counter, "Requests answered 429.",
                    labels: [.init("limit", "the limit that they were beyond (`RateLimit-Policy` has it, too)")])
            ) { (load()?.rateLimited ?? []).map { .init(Double($0.count), [$0.limit]) } },
        ]
    }

    static func metrics(of sessions: Sessions) -> [any Metric] {
        [
            SampledMetric(
                "latchkey_sessions_started_total", .counter, "Sessions that were begun.",
                { Double(sessions.statistics.started) }),
            SampledMetric(
                MetricDescription(
                    "latchkey_session_refreshes_total", .counter, "Sessions that were refreshed.",
                    labels: [
                        .init(
                            "outcome",
                            "`ok`, `again` for an answer that was lost and sent again, `reused` for a token "
                                + "that was spent and ended the session")
                    ])
            ) {
                let now = sessions.statistics
                return [
                    .init(Double(now.refreshed), ["ok"]), .init(Double(now.refreshedAgain), ["again"]),
                    .init(Double(now.reused), ["reused"]),
                ]
            },
            SampledMetric(
                MetricDescription(
                    "latchkey_sessions_ended_total", .counter, "Sessions that were ended before their time.",
                    labels: [
                        .init(
                            "reason",
                            "`signed_out`, `revoked` by another session or a service, `provider` for a logout that the "
                                + "provider told of, `reused` for a refresh token that was spent")
                    ])
            ) {
                let now = sessions.statistics
                return [
                    .init(Double(now.signedOut), ["signed_out"]), .init(Double(now.revoked), ["revoked"]),
                    .init(Double(now.endedByProvider), ["provider"]), .init(Double(now.reused), ["reused"]),
                ]
            },
            SampledMetric(
                MetricDescription(
                    "latchkey_session_cache_lookups_total", .counter, "Sessions that were looked for in memory.",
                    labels: [.init("result", "`hit`, or `miss` where the store had to be asked")])
            ) {
                let now = sessions.statistics
                return [.init(Double(now.cacheHits), ["hit"]), .init(Double(now.cacheMisses), ["miss"])]
            },
        ]
    }
}
