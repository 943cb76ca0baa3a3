import LatchkeyAPI
import LatchkeyService
import Observability
import OpenIDConnect
import Primitives
import SignIn

/// The status of a service for its administrator. Contains nothing of users or of requests.
struct ServiceStatus: Sendable {
    /// Counts of sign-ins by outcome.
    struct Outcomes: Sendable, Hashable {
        var signedIn: UInt64 = 0
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

    struct Carrier: Sendable {
        let source: CarrierMetrics.Source
        /// Since the start of the process.
        let figures: CarrierMetrics.Figures
        /// The steps whose circuit breaker is not closed.
        let openBreakers: [String]
        /// When the oldest cached keys were fetched; nil without keys.
        let keysFetchedAt: Timestamp?
        /// For people.
        var name = ""
        var minutes: [(beginning: Timestamp, figures: CarrierMetrics.Figures)] = []
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
    /// Of other features; on the page only.
    var tables: [StatusTable] = []
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

    /// A number: its name in JSON, and its label on the page.
    typealias Figure = (name: String, label: String, count: UInt64)

    /// The sessions since the start.
    var sessionFigures: [Figure] {
        [
            ("started", "Begun", sessions.started), ("refreshed", "Refreshed", sessions.refreshed),
            ("signed_out", "Signed out", sessions.signedOut), ("revoked", "Revoked", sessions.revoked),
            ("ended_by_provider", "Ended by a provider", sessions.endedByProvider),
            ("reused", "Ended: token used twice", sessions.reused),
        ]
    }

    var loadFigures: [Figure] {
        [
            ("connections", "Open connections", UInt64(max(0, connections))),
            ("reads_waiting", "Reads waiting", UInt64(max(0, readsWaiting))),
            ("writes_waiting", "Writes waiting", UInt64(max(0, writesWaiting))),
            ("shed", "Requests shed", load.shedCount),
            ("rate_limited", "Requests over a limit", load.rateLimited.reduce(0) { $0 + $1.count }),
        ]
    }

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
            ("failures", .array(failures.map(json))), ("sessions", Self.json(sessionFigures)),
            ("load", Self.json(loadFigures)),
        ])
    }

    private static func json(_ figures: [Figure]) -> JSONValue {
        .object(of: figures.map { ($0.name, count($0.count)) })
    }

    private static func json(_ outcomes: Outcomes, from beginning: Timestamp) -> JSONValue {
        .object(
            of: [("at", .integer(beginning.secondsSinceEpoch))]
                + Outcomes.parts.map { ($0.name, count(outcomes[keyPath: $0.count])) })
    }

    private static func json(_ carrier: Carrier) -> JSONValue {
        let keysFetchedAt = carrier.keysFetchedAt.map { JSONValue.integer($0.secondsSinceEpoch) }
        return .object(of: [
            ("provider", .string(carrier.source.provider)), ("issuer", .string(carrier.source.issuer)),
            ("name", .string(carrier.name)),
            ("left_alone", .texts(carrier.openBreakers)), ("keys_fetched_at", keysFetchedAt ?? .null),
            ("answered", count(carrier.figures.answered)), ("failed", count(carrier.figures.failed)),
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

extension CarrierMetrics {
    var figures: [Source: Figures] {
        Dictionary(requests.map { ($0.source, Figures($0.durations)) }) { first, _ in first }
    }

    func statuses(of parties: [String: RelyingParty], at now: Timestamp) -> [ServiceStatus.Carrier] {
        let open = openBreakers(of: parties)
        let ages = keyAges(of: parties, at: now)
        return requests.compactMap { source, durations in
            let figures = Figures(durations)
            let openBreakers = OutboundRequest.Destination.Step.allCases.filter {
                open[source]?.contains($0) ?? false
            }
            guard figures.answered + figures.failed > 0 || !openBreakers.isEmpty else { return nil }
            return ServiceStatus.Carrier(
                source: source, figures: figures, openBreakers: openBreakers.map(\.rawValue),
                keysFetchedAt: ages[source].map { now.advanced(bySeconds: -$0) })
        }
    }

    struct Figures: Sendable, Hashable {
        /// Responses of 2xx, or of 4xx, with which providers refuse.
        var answered: UInt64 = 0
        /// All other requests.
        var failed: UInt64 = 0
        var nanoseconds: UInt64 = 0

        /// The mean time of a usable response; nil without one.
        var meanMilliseconds: Double? {
            answered > 0 ? (Double(nanoseconds) / Double(answered) / 10_000).rounded() / 100 : nil
        }

        static func - (left: Self, right: Self) -> Self {
            var difference = Self()
            difference.answered = left.answered &- right.answered
            difference.failed = left.failed &- right.failed
            difference.nanoseconds = left.nanoseconds &- right.nanoseconds
            return difference
        }
    }
}

extension CarrierMetrics.Figures {
    init(_ durations: Histogram) {
        for step in OutboundRequest.Destination.Step.allCases.indices {
            for outcome in 0..<CarrierMetrics.outcomes {
                let total = durations.total(at: step, outcome)
                guard outcome < 2 else {
                    failed &+= total.count
                    continue
                }
                answered &+= total.count
                nanoseconds &+= total.nanoseconds
            }
        }
    }
}
