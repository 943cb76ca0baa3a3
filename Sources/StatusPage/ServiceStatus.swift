import LatchkeyAPI
import LatchkeyService
import OpenIDConnect
import Primitives
import SignIn

/// The status of a service for its administrator. Contains nothing of users or of requests.
struct ServiceStatus: Sendable {
    /// Counts of sign-ins by outcome.
    struct Outcomes: Sendable, Hashable {
        var signedIn: UInt64 = 0
        /// Signed in for the first time.
        var signedUp: UInt64 = 0
        /// Links, transactions, and users who must register.
        var other: UInt64 = 0
        var denied: UInt64 = 0
        /// Refused because of the app: a wrong request, code or client.
        var refused: UInt64 = 0
        /// Failed because of an invalid ID token, the provider or this server.
        var failed: UInt64 = 0

        /// The counts in the order in which the page stacks them: their names in JSON, and their labels.
        static let parts: [(name: String, label: String, count: any WritableKeyPath<Self, UInt64> & Sendable)] = [
            ("signed_in", "Signed in", \.signedIn), ("signed_up", "Signed up", \.signedUp),
            ("other", "Linked, approved, to register", \.other), ("denied", "Denied by the user", \.denied),
            ("refused", "Refused: the app", \.refused),
            ("failed", "Failed: a check, provider or server", \.failed),
        ]

        static func - (left: Self, right: Self) -> Self {
            parts.reduce(into: left) { $0[keyPath: $1.count] &-= right[keyPath: $1.count] }
        }
    }

    /// A provider.
    struct Carrier: Sendable {
        let status: CarrierMetrics.Status
        /// For people.
        let name: String
        let minutes: [(beginning: Timestamp, figures: CarrierMetrics.Figures)]
    }

    struct Failure: Sendable {
        /// Names it on this instance. It is random, because an app may choose the correlation id.
        let id: String
        let at: Timestamp
        let report: SignInReport
    }

    var version: String
    var startedAt: Timestamp
    var now: Timestamp
    /// The sign-ins of the last hour by minute, oldest first; minutes without data are left out.
    var minutes: [(beginning: Timestamp, outcomes: Outcomes)] = []
    var carriers: [Carrier] = []
    /// Newest first.
    var failures: [Failure] = []
    var hasCapsules = false
    var sessions = SessionStatistics()
    var load = RequestLoad()
    var connections = 0
    var readsWaiting = 0
    var writesWaiting = 0
}

extension ServiceStatus {
    var lastHour: Outcomes {
        minutes.reduce(into: Outcomes()) { sum, minute in
            for part in Outcomes.parts { sum[keyPath: part.count] += minute.outcomes[keyPath: part.count] }
        }
    }

    var rateLimited: UInt64 { load.rateLimited.reduce(0) { $0 + $1.count } }

    /// The id by which `/status/capsule` finds the capsule of a failure; nil if it has none, as a request that named no
    /// provider.
    func capsule(of failure: Failure) -> String? { hasCapsules && failure.report.provider != nil ? failure.id : nil }
}

extension ServiceStatus.Failure {
    /// Where an administrator must look.
    enum DueTo: String {
        case user, app, server
        case provider = "carrier"
        case idToken = "id_token"
    }

    /// An invalid ID token may be the app's or the provider's fault: the check tells. A denial is not a failure of a
    /// program: the user decided.
    var dueTo: DueTo {
        if report.outcome == .denied { return .user }
        if report.check != nil { return .idToken }
        return switch report.fault {
        case .client, nil: .app
        case .provider: .provider
        case .ours: .server
        }
    }

    /// Whom an administrator asks, in words.
    var ask: String {
        switch dueTo {
        case .user: "nobody, because the user denied it"
        case .idToken where report.check == .nonce: "provider (its ID token) or app (its nonce)"
        case .idToken: "provider (its ID token)"
        case .provider: "provider"
        case .server: "administrator of this server"
        case .app: "developer of the app"
        }
    }

    /// What was wrong, as the log says it; at most 200 characters.
    var cause: String? {
        guard let cause = report.cause else { return nil }
        return cause.count <= Self.longestCause ? cause : cause.prefix(Self.longestCause - 1) + "…"
    }

    private static let longestCause = 200
}

extension ServiceStatus {
    /// On one line. Changes only with the status.
    var json: JSONValue {
        .object(of: [
            ("version", .string(version)), ("started_at", .integer(startedAt.secondsSinceEpoch)),
            ("minutes", .array(minutes.map { Self.json($0.outcomes, from: $0.beginning) })),
            ("carriers", .array(carriers.map(Self.json))),
            ("failures", .array(failures.map(json))), ("sessions", sessionCounts), ("load", loads),
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
        let status = carrier.status
        let keysFetchedAt = status.keysFetchedAt.map { JSONValue.integer($0.secondsSinceEpoch) }
        return .object(of: [
            ("provider", .string(status.source.provider)), ("issuer", .string(status.source.issuer)),
            ("name", .string(carrier.name)),
            ("left_alone", .texts(status.openBreakers)), ("keys_fetched_at", keysFetchedAt ?? .null),
            ("answered", count(status.figures.answered)), ("failed", count(status.figures.failed)),
            ("minutes", .array(carrier.minutes.map { json($0.figures, from: $0.beginning) })),
        ])
    }

    private static func json(_ figures: CarrierMetrics.Figures, from beginning: Timestamp) -> JSONValue {
        let mean = figures.meanMilliseconds.map { JSONValue.number($0) }
        return .object(of: [
            ("at", .integer(beginning.secondsSinceEpoch)), ("answered", count(figures.answered)),
            ("failed", count(figures.failed)), ("mean_ms", mean ?? .null),
        ])
    }

    /// Without the user, and without the correlation id, which apps choose.
    private func json(_ failure: Failure) -> JSONValue {
        let report = failure.report
        return .object(of: [
            ("at", .integer(failure.at.secondsSinceEpoch)), ("kind", .string(report.kind.rawValue)),
            ("provider", Self.text(report.provider)), ("mccmnc", Self.text(report.network?.text)),
            ("outcome", .string(report.outcome.name)), ("check", Self.text(report.check?.rawValue)),
            ("step", Self.text(report.failedStep?.rawValue)), ("due_to", .string(failure.dueTo.rawValue)),
            ("cause", Self.text(failure.cause)), ("ask", .string(failure.ask)),
            ("capsule", Self.text(capsule(of: failure))),
        ])
    }

    private static func count(_ number: UInt64) -> JSONValue { .integer(Int64(clamping: number)) }

    private static func text(_ text: String?) -> JSONValue { text.map { .string($0) } ?? .null }
}
