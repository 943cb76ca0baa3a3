import OpenIDConnect
import Primitives
import SignIn

extension ServiceStatus {
    /// On one line. Changes only with the status.
    var json: JSONValue {
        .object(of: [
            ("version", .string(version)), ("started_at", .integer(startedAt.secondsSinceEpoch)),
            ("minutes", .array(minutes.map { Self.json($0.outcomes, from: $0.beginning) })),
            ("carriers", .array(carriers.map(Self.json))),
            ("failures", .array(failures.map(Self.json))), ("sessions", sessionCounts), ("load", loads),
        ])
    }

    private var sessionCounts: JSONValue {
        .object(of: [
            ("started", Self.count(sessions.started)), ("refreshed", Self.count(sessions.refreshed)),
            ("signed_out", Self.count(sessions.signedOut)), ("revoked", Self.count(sessions.revoked)),
            ("ended_by_provider", Self.count(sessions.endedByProvider)), ("reused", Self.count(sessions.reused)),
        ])
    }

    private var loads: JSONValue {
        .object(of: [
            ("connections", .integer(Int64(connections))), ("reads_waiting", .integer(Int64(readsWaiting))),
            ("writes_waiting", .integer(Int64(writesWaiting))), ("shed", Self.count(load.shedCount)),
            ("rate_limited", Self.count(rateLimited)),
        ])
    }

    private static func json(_ outcomes: Outcomes, from beginning: Timestamp) -> JSONValue {
        .object(
            of: [("at", .integer(beginning.secondsSinceEpoch))]
                + Outcomes.parts.map { ($0.name, count(outcomes[keyPath: $0.count])) })
    }

    private static func json(_ carrier: Carrier) -> JSONValue {
        let keysFetchedAt = carrier.keysFetchedAt.map { JSONValue.integer($0.secondsSinceEpoch) }
        return .object(of: [
            ("provider", .string(carrier.provider)), ("issuer", .string(carrier.issuer)),
            ("name", .string(carrier.name)),
            ("left_alone", .texts(carrier.openBreakers)), ("keys_fetched_at", keysFetchedAt ?? .null),
            ("answered", count(carrier.all.answered)), ("failed", count(carrier.all.failed)),
            ("minutes", .array(carrier.minutes.map { json($0.responses, from: $0.beginning) })),
        ])
    }

    private static func json(_ responses: Responses, from beginning: Timestamp) -> JSONValue {
        let mean = responses.meanMilliseconds.map { JSONValue.number($0) }
        return .object(of: [
            ("at", .integer(beginning.secondsSinceEpoch)), ("answered", count(responses.answered)),
            ("failed", count(responses.failed)), ("mean_ms", mean ?? .null),
        ])
    }

    /// Without the user, and without the correlation id, which apps choose.
    private static func json(_ failure: Failure) -> JSONValue {
        let report = failure.report
        return .object(of: [
            ("at", .integer(failure.at.secondsSinceEpoch)), ("kind", .string(report.kind.rawValue)),
            ("provider", text(report.provider)), ("mccmnc", text(report.network?.text)),
            ("outcome", .string(report.outcome.name)), ("check", text(report.check?.rawValue)),
            ("step", text(report.failedStep?.rawValue)), ("due_to", .string(failure.dueTo.rawValue)),
            ("cause", text(failure.cause)), ("ask", .string(failure.ask)),
            ("capsule", text(failure.capsule)),
        ])
    }

    private static func count(_ number: UInt64) -> JSONValue { .integer(Int64(clamping: number)) }

    private static func text(_ text: String?) -> JSONValue { text.map { .string($0) } ?? .null }
}
