package import LatchkeyConfiguration
import LatchkeyService
import Primitives

/// What a replay of a capsule found, for people and for programs.
package struct ReplayReport: Sendable {
    private let replay: CapsuleReplay
    private let verdict: CapsuleReplay.Verdict
    private let version: String

    /// Replays a capsule with a configuration. No request is sent, and no database is opened.
    ///
    /// - Parameters:
    ///   - configuration: What the token is judged by.
    ///   - usual: Today's, if `configuration` has settings that are tried; nil if it has none.
    ///   - version: Of this program.
    /// - Throws: ``CapsuleReplay/ReplayError``.
    package init(
        of replay: CapsuleReplay, with configuration: Configuration, usual: Configuration? = nil,
        version: String = LatchkeyVersion.text
    ) throws(CapsuleReplay.ReplayError) {
        self.replay = replay
        self.version = version
        verdict = try replay.run(
            configuration.replaySettings(of: replay.provider),
            usual: (usual ?? configuration).replaySettings(of: replay.provider), version: version)
    }

    /// What a capsule says was expected and found, for a failure that is not replayed: for people as `latchkey capsule
    /// show` prints it, for programs as JSON.
    package static func capsule(of replay: CapsuleReplay, asJSON: Bool) -> String {
        guard !asJSON else { return JSONValue.object(replay.content).terminalText }
        return CapsuleReport(of: replay.content, at: replay.time).lines.joined(separator: "\n")
    }

    /// Whether the token would pass.
    package var passes: Bool { verdict.failureNow == nil }

    /// Whether it fails for the reason of the capsule.
    package var isSame: Bool { failsNow == verdict.failure.check }

    /// Whether the failure was taken from the capsule as it is, because the check cannot be made again.
    package var isTakenOver: Bool { verdict.isTakenOver }

    /// The name of the check that fails now; nil if the token passes.
    package var failsNow: String? { verdict.failureNow?.check }

    /// For people.
    package var text: String {
        var lines = [
            "capsule \(replay.correlationID), \(UTCTime.text(replay.time)): \(replay.provider), client "
                + replay.clientID,
            "then: \(Self.text(verdict.failure))",
        ]
        if let now = verdict.failureNow {
            lines.append("now:  \(Self.text(now))")
        } else {
            lines.append("now:  passes")
        }
        for check in verdict.failedChecks {
            lines.append("  check \(check.check)")
            lines.append("    expected: \(check.demand)")
            lines.append("    found:    \(check.found)")
        }
        for setting in verdict.changedSettings {
            lines.append("changed: \(setting.name) was \(setting.before) and is \(setting.now)")
        }
        if replay.version != version {
            lines.append("changed: the version of Latchkey was \(replay.version) and is \(version)")
        }
        for item in verdict.carriedOver { lines.append("taken from the capsule: \(item)") }
        lines.append("result: \(result)")
        return lines.map { ShownLine.text($0) + "\n" }.joined()
    }

    private var result: String {
        guard let now = verdict.failureNow else {
            return "the token passes every check now; what would follow is not replayed"
        }
        let what = "the check \(now.check ?? "") fails"
        if isTakenOver { return "\(what), as the capsule says; it cannot be made again" }
        return isSame ? "\(what), as before" : "\(what) now"
    }

    /// For programs: one JSON object on one line.
    package var json: String {
        JSONValue.object(of: [
            ("correlation_id", .string(replay.correlationID)), ("provider", .string(replay.provider)),
            ("client_id", .string(replay.clientID)), ("time", .string(UTCTime.text(replay.time))),
            ("passes", .bool(passes)), ("same", .bool(isSame)), ("taken_over", .bool(isTakenOver)),
            ("then", Self.json(verdict.failure)),
            ("now", verdict.failureNow.map(Self.json)),
            (
                "failed_checks",
                .array(
                    verdict.failedChecks.map {
                        .object(of: [
                            ("check", .string($0.check)), ("expected", .string($0.demand)),
                            ("found", .string($0.found)),
                        ])
                    })
            ),
            (
                "changed_settings",
                .array(
                    verdict.changedSettings.map {
                        .object(of: [
                            ("name", .string($0.name)), ("then", .string($0.before)), ("now", .string($0.now)),
                        ])
                    })
            ), ("version", .object(of: [("then", .string(replay.version)), ("now", .string(version))])),
            ("taken_from_capsule", .texts(verdict.carriedOver)),
        ]).terminalText
    }

    private static func text(_ failure: CapsuleReplay.Failure) -> String {
        var text = failure.code
        if let check = failure.check { text += ", check \(check)" }
        if let step = failure.step { text += ", step \(step)" }
        return failure.cause.map { "\(text): \($0)" } ?? text
    }

    private static func json(_ failure: CapsuleReplay.Failure) -> JSONValue {
        .object(of: [
            ("code", .string(failure.code)), ("check", failure.check.map { .string($0) }),
            ("error_type", .string(failure.errorType)),
            ("step", failure.step.map { .string($0) }), ("cause", failure.cause.map { .string($0) }),
        ])
    }
}

extension Configuration {
    /// What the token of a capsule is judged by at a provider, which the capsule names.
    fileprivate func replaySettings(of provider: String) -> ReplaySettings {
        let known = servers.first { $0.id == provider && !$0.isTelcoFinder }
        return ReplaySettings(known?.clients, known.map { relyingParty(of: $0) })
    }
}
