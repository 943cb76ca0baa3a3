public import Primitives
package import SignIn

/// How a service stands, as its operator is told. Nothing of a user is in it, nor of what apps send.
public struct ServiceStatus: Sendable {
    /// Sign-ins by how they ended, roughly.
    public struct Outcomes: Sendable, Hashable {
        public var signedIn: UInt64 = 0
        public var signedUp: UInt64 = 0
        /// Links, transactions, and those who must register.
        public var other: UInt64 = 0
        /// For what the app or its user did.
        public var refused: UInt64 = 0
        /// For an ID token that does not hold, or what the carrier or this server did.
        public var failed: UInt64 = 0

        public init() {}
    }

    public struct Minute: Sendable {
        public let beginning: Timestamp
        public let outcomes: Outcomes

        public init(beginning: Timestamp, outcomes: Outcomes) {
            self.beginning = beginning
            self.outcomes = outcomes
        }
    }

    /// What a carrier or provider was asked in a time.
    public struct Answers: Sendable, Hashable {
        /// With an answer that was meant for one: 2xx, or 4xx, by which carriers refuse.
        public var answered: UInt64 = 0
        /// With any other, or none.
        public var failed: UInt64 = 0
        /// Of all that answered, on average.
        public var meanMilliseconds: Double?

        public init() {}
    }

    public struct Carrier: Sendable {
        public var provider: String
        /// Empty for the carriers' discovery service.
        public var issuer: String
        /// What is not asked for the moment because it does not answer, or only tried.
        public var leftAlone: [String] = []
        /// When the signing keys at hand came.
        public var keysFetchedAt: Timestamp?
        /// Since the service began.
        public var all = Answers()
        public var minutes: [(beginning: Timestamp, answers: Answers)] = []

        public init(provider: String, issuer: String) {
            self.provider = provider
            self.issuer = issuer
        }
    }

    /// A sign-in that failed.
    package struct Failure: Sendable {
        package let at: Timestamp
        package let report: SignInReport

        package init(at: Timestamp, report: SignInReport) {
            self.at = at
            self.report = report
        }
    }

    public var version: String
    public var startedAt: Timestamp
    public var now: Timestamp
    /// Of the last hour, the present one last; those in which nothing was looked at are not there.
    public var minutes: [Minute] = []
    public var carriers: [Carrier] = []
    /// The latest first.
    package var failures: [Failure] = []
    package var sessions = SessionStatistics()
    public var load = RequestLoad()
    public var connections = 0
    public var readsWaiting = 0
    public var writesWaiting = 0

    public init(version: String, startedAt: Timestamp, now: Timestamp) {
        self.version = version
        self.startedAt = startedAt
        self.now = now
    }
}

extension ServiceStatus {
    /// The last hour together.
    var lastHour: Outcomes {
        minutes.reduce(into: Outcomes()) { sum, minute in
            sum.signedIn += minute.outcomes.signedIn
            sum.signedUp += minute.outcomes.signedUp
            sum.other += minute.outcomes.other
            sum.refused += minute.outcomes.refused
            sum.failed += minute.outcomes.failed
        }
    }

    var rateLimited: UInt64 { load.rateLimited.reduce(0) { $0 + $1.count } }
}

extension ServiceStatus.Failure {
    /// Whom an operator has to look at. That an ID token does not hold is the app's affair as little as the carrier's: a
    /// check has to say.
    var dueTo: String {
        if report.check != nil { return "id_token" }
        return switch report.fault {
        case .client, nil: "app"
        case .carrier: "carrier"
        case .ours: "server"
        }
    }
}
