package import LatchkeyConfiguration
import Primitives
package import SignIn

/// What a replay of a capsule found, for people and for programs.
package struct ReplayReport: Sendable {
    private let replay: CapsuleReplay
    private let verdict: CapsuleReplay.Verdict
    private let version: String

    /// Replays a capsule with a configuration. No request is sent, and no database is opened.
    ///
    /// - Parameters:
    ///   - configuration: What the sign-in is judged by.
    ///   - usual: That of today, if `configuration` has settings that are tried; nil if it has none.
    ///   - version: Of this program.
    /// - Throws: ``CapsuleReplay/Refusal``.
    package init(
        of bytes: [UInt8], with configuration: Configuration, usual: Configuration? = nil,
        version: String = LatchkeyVersion.text
    ) async throws(CapsuleReplay.Refusal) {
        let replay = try CapsuleReplay(parsing: bytes)
        let settings = { (configuration: Configuration) in
            ReplaySettings(configuration.signIn, configuration.relyingParty(named: replay.provider))
        }
        self.replay = replay
        self.version = version
        verdict = try await replay.run(
            settings(configuration), usual: settings(usual ?? configuration), version: version)
    }

    /// Whether the sign-in would pass, as far as the capsule goes.
    package var passes: Bool { verdict.failureNow == nil }

    /// Whether it fails for the reason of the capsule.
    package var isSame: Bool { verdict.failureNow.map(verdict.failure.isSame) ?? false }

    /// Whether the failure was taken from the capsule as it is, because nothing that can be run again decided it.
    package var isTakenOver: Bool { verdict.isTakenOver }

    /// The name of the check, or else the code, that fails now; nil if it passes.
    package var failsNow: String? { verdict.failureNow.map { $0.check ?? $0.code } }

    /// For people.
    package var text: String {
        var lines = [
            "capsule \(replay.correlationID), \(UTCTime.text(replay.time)): \(replay.provider), client "
                + replay.clientID,
            "then: \(Self.text(verdict.failure))",
        ]
        if let now = verdict.failureNow {
            lines.append("now:  \(Self.text(now))")
        } else if let missing = verdict.missing {
            lines.append("now:  passes, as far as the capsule goes: it has no response to \(missing)")
        } else {
            lines.append("now:  passes")
        }
        for check in verdict.failedChecks {
            lines.append("  check \(check.check)")
            lines.append("    expected: \(check.expected)")
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
            return verdict.missing == nil
                ? "it would pass now" : "what failed passes now; the capsule does not show what would follow"
        }
        if isTakenOver { return "it cannot be computed again; the failure is that of the capsule" }
        let what = now.check.map { "the check \($0) fails" } ?? "it fails with \(now.code)"
        return isSame ? "\(what), as before" : "\(what) now"
    }

    /// For programs: one JSON object on one line.
    package var json: String {
        JSONValue.object(of: [
            ("correlation_id", .string(replay.correlationID)), ("provider", .string(replay.provider)),
            ("client_id", .string(replay.clientID)), ("time", .string(UTCTime.text(replay.time))),
            ("passes", .bool(passes)), ("same", .bool(isSame)), ("taken_over", .bool(isTakenOver)),
            ("then", Self.json(verdict.failure)),
            ("now", verdict.failureNow.map(Self.json)), ("missing", verdict.missing.map { .string($0) }),
            (
                "failed_checks",
                .array(
                    verdict.failedChecks.map {
                        .object(of: [
                            ("check", .string($0.check)), ("expected", .string($0.expected)),
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
        if let code = failure.providerCode { text += ", provider code \(code)" }
        if let step = failure.step { text += ", step \(step)" }
        return failure.cause.map { "\(text): \($0)" } ?? text
    }

    private static func json(_ failure: CapsuleReplay.Failure) -> JSONValue {
        .object(of: [
            ("code", .string(failure.code)), ("check", failure.check.map { .string($0) }),
            ("error_type", .string(failure.errorType)),
            ("provider_code", failure.providerCode.map { .string($0) }),
            ("step", failure.step.map { .string($0) }), ("cause", failure.cause.map { .string($0) }),
        ])
    }
}
