package import LatchkeyConfiguration
import LatchkeyService
import OpenIDConnect
import Primitives
import SignIn

/// What a replay of a capsule found, for people and for programs.
package struct ReplayReport: Sendable {
    private let replay: CapsuleReplay
    private let version: String
    /// How it fails now; nil if it passes.
    private let failureNow: CapsuleReplay.Failure?
    /// The checks that fail now; the one that decides first.
    private let failedChecks: [CapsuleReplay.Step]
    /// Whether the failure was taken from the capsule as it is, because the check cannot be made again.
    package let isTakenOver: Bool
    /// What the replay did not compute.
    private let carriedOver: [String]
    /// The settings that tokens are judged by and that differ.
    private let changedSettings: [(name: String, before: String, now: String)]

    private typealias ReplayError = CapsuleReplay.ReplayError

    /// Replays a capsule with a configuration. No request is sent, and no database is opened.
    ///
    /// With the settings that the capsule recorded, the same version must refuse the token for the same check. If it
    /// does not, the capsule lacks what decided, and no replay of it says anything. Another version may have other
    /// rules, so that nothing follows from a difference.
    ///
    /// - Parameter usual: Today's, if `configuration` has settings that are tried; nil if it has none.
    /// - Throws: ``CapsuleReplay/ReplayError`` if no check of a token failed, the configuration has no such provider,
    ///   or the capsule lacks what decided.
    package init(
        of replay: CapsuleReplay, with configuration: Configuration, usual: Configuration? = nil,
        version: String = LatchkeyVersion.text
    ) throws(CapsuleReplay.ReplayError) {
        let token = try CapsuleToken(replay)
        if version == replay.version {
            let settings = try replay.recorded(in: (usual ?? configuration).replaySettings(of: replay.provider))
            let before = Self.deciding(try token.steps(replay, settings))
            guard before?.verdict == .failed, before?.check == replay.failure.check else {
                throw ReplayError(
                    .notReplayable,
                    "with the settings and the version of then it does not fail as it did, so the capsule does not "
                        + "have what decided; if another setting has changed since, give the configuration of then "
                        + "with --config, and the change with --with")
            }
        }
        let settings = try configuration.replaySettings(of: replay.provider)
        let steps = try token.steps(replay, settings)
        let deciding = Self.deciding(steps)
        if let deciding, deciding.verdict == .notPossible {
            throw ReplayError(
                .notReplayable,
                "the capsule does not have the result of the check \(deciding.check), without which nothing follows")
        }
        self.replay = replay
        self.version = version
        failureNow = deciding.map { replay.failure(by: $0) }
        failedChecks = steps.filter { $0.verdict == .failed }
        isTakenOver = deciding?.isRecorded ?? false
        carriedOver =
            token.carriedOver + steps.filter(\.isRecorded).map { "the check \($0.check): \($0.verdict.rawValue)" }
        let client = ClientID(replay.clientID).flatMap { settings.clients[$0] }
        changedSettings = replay.changes(to: Capsule.settings(of: client, settings.relyingParty.idTokenRules))
    }

    /// The first check that the token does not pass; nil if it passes all.
    private static func deciding(_ steps: [CapsuleReplay.Step]) -> CapsuleReplay.Step? {
        steps.first { $0.verdict == .failed || $0.verdict == .notPossible }
    }

    /// What a capsule says was expected and found, for a failure that is not replayed: for people as `latchkey capsule
    /// show` prints it, for programs as JSON.
    package static func capsule(of replay: CapsuleReplay, asJSON: Bool) -> String {
        guard !asJSON else { return JSONValue.object(replay.content).terminalText }
        return CapsuleReport(of: replay.content, at: replay.time).lines.joined(separator: "\n")
    }

    package var passes: Bool { failureNow == nil }

    /// Whether it fails for the reason of the capsule.
    package var isSame: Bool { failsNow == replay.failure.check }

    /// The name of the check that fails now; nil if the token passes.
    package var failsNow: String? { failureNow?.check }

    /// For people.
    package var text: String {
        var lines = [
            "capsule \(replay.correlationID), \(UTCTime.text(replay.time)): \(replay.provider), client "
                + replay.clientID,
            "then: \(Self.text(replay.failure))",
        ]
        if let now = failureNow {
            lines.append("now:  \(Self.text(now))")
        } else {
            lines.append("now:  passes")
        }
        for check in failedChecks {
            lines.append("  check \(check.check)")
            lines.append("    expected: \(check.demand)")
            lines.append("    found:    \(check.found)")
        }
        for setting in changedSettings {
            lines.append("changed: \(setting.name) was \(setting.before) and is \(setting.now)")
        }
        if replay.version != version {
            lines.append("changed: the version of Latchkey was \(replay.version) and is \(version)")
        }
        for item in carriedOver { lines.append("taken from the capsule: \(item)") }
        lines.append("result: \(result)")
        return lines.map { $0.onOneLine() + "\n" }.joined()
    }

    private var result: String {
        guard let now = failureNow else {
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
            ("then", Self.json(replay.failure)),
            ("now", failureNow.map(Self.json)),
            (
                "failed_checks",
                .array(
                    failedChecks.map {
                        .object(of: [
                            ("check", .string($0.check)), ("expected", .string($0.demand)),
                            ("found", .string($0.found)),
                        ])
                    })
            ),
            (
                "changed_settings",
                .array(
                    changedSettings.map {
                        .object(of: [
                            ("name", .string($0.name)), ("then", .string($0.before)), ("now", .string($0.now)),
                        ])
                    })
            ), ("version", .object(of: [("then", .string(replay.version)), ("now", .string(version))])),
            ("taken_from_capsule", .texts(carriedOver)),
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

extension CapsuleReplay {
    /// All checks of one kind of token have the same code.
    fileprivate func failure(by step: Step) -> Failure {
        guard step.check != failure.check else { return failure }
        return Failure(
            code: failure.code, check: step.check, errorType: failure.errorType, step: failure.step, cause: step.demand)
    }

    fileprivate func changes(to now: JSONValue) -> [(name: String, before: String, now: String)] {
        guard let before = content["settings"]?.object, let now = now.object else { return [] }
        return now.members.compactMap { member in
            guard let former = before[member.name], former != member.value else { return nil }
            return (member.name, Self.shown(former.text), member.value.text)
        }
    }
}

extension Configuration {
    /// What the token of a capsule is judged by at a provider, which the capsule names.
    fileprivate func replaySettings(of provider: String) throws(CapsuleReplay.ReplayError) -> ReplaySettings {
        guard let known = allProviders.first(where: { $0.id == provider }) else {
            throw CapsuleReplay.ReplayError(
                .configuration, "the configuration has no provider \(CapsuleReplay.shown(provider))")
        }
        return ReplaySettings(
            clients: Dictionary(known.clients.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first }),
            relyingParty: relyingParty(of: known))
    }
}
