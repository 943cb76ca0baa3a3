import OpenIDConnect
import Primitives
import SignIn

/// What happened between this server and a provider because of one sign-in.
struct SignInStory: Sendable {
    /// The most calls that are kept: the first ones.
    static let maximumCalls = 24

    let correlationID: CorrelationID
    /// When it began.
    let at: Timestamp
    /// Grows with each change of any story.
    var revision: UInt64 = 0
    private(set) var calls: [JSONValue] = []
    /// The checks of the last ID token.
    var idToken: IDTokenExplanation?
    /// How the sign-in ended; nil until it has.
    var report: SignInReport?

    init(_ correlationID: CorrelationID, at moment: Timestamp) {
        self.correlationID = correlationID
        at = moment
    }

    mutating func add(_ call: JSONValue) {
        if calls.count < Self.maximumCalls { calls.append(call) }
    }
}

extension SignInStory {
    var json: JSONValue {
        .object(of: [
            ("id", .string(correlationID.text)), ("at", .integer(at.secondsSinceEpoch)), ("calls", .array(calls)),
            ("checks", (idToken?.steps.map(Self.json)).map(JSONValue.array)), ("outcome", report.map(Self.json)),
        ])
    }

    private static func json(_ step: IDTokenExplanation.Step) -> JSONValue {
        .object(of: [
            ("name", .string(step.check.rawValue)), ("verdict", .string(step.verdict.rawValue)),
            ("found", .string(step.found)), ("demand", .string(step.check.demand)),
        ])
    }

    private static func json(_ report: SignInReport) -> JSONValue {
        .object(of: [
            ("name", .string(report.outcome.name)), ("kind", .string(report.kind.rawValue)),
            ("is_refused", .bool(report.fault != nil)), ("provider", report.provider.map { .string($0) }),
            ("mccmnc", report.network.map { .string($0.text) }), ("check", report.check.map { .string($0.rawValue) }),
            ("failed_step", report.failedStep.map { .string($0.rawValue) }), ("ms", milliseconds(report.nanoseconds)),
            (
                "steps",
                .array(
                    report.steps.map { time in
                        .object(of: [("name", .string(time.step.rawValue)), ("ms", milliseconds(time.nanoseconds))])
                    })
            ),
        ])
    }

    /// To a tenth.
    static func milliseconds(_ nanoseconds: UInt64) -> JSONValue {
        .number(Double((nanoseconds + 50_000) / 100_000) / 10)
    }
}
