import LatchkeyService
package import Primitives

/// What a configuration accepts and refuses, case by case.
package struct KitReport: Sendable {
    /// How a case ended, compared with what is demanded.
    package enum Verdict: String, Sendable {
        /// As demanded or recommended.
        case ok
        /// Accepted, although the specification demands that it is refused.
        case violation
        /// Accepted, although the specification recommends that it is refused.
        case loosened
        /// Refused, although it is correct.
        case stricter
        case notRun = "not_run"
    }

    package struct Row: Sendable {
        package enum Outcome: Sendable {
            /// With the setting that explains why the case is accepted, if there is one.
            case observed(KitObservation, String?)
            case notRun(String)
        }

        package let row: KitCase
        package let outcome: Outcome

        package var verdict: Verdict {
            guard case .observed(let seen, _) = outcome else { return .notRun }
            return switch (row.demand, seen.isAccepted) {
            case (.accept, true), (.refuse, false), (.recommendRefusal, false): .ok
            case (.accept, false): .stricter
            case (.refuse, true): .violation
            case (.recommendRefusal, true): .loosened
            }
        }

        /// Why a case is accepted that is refused by default; nil for every other case.
        package var because: String? {
            guard [.violation, .loosened].contains(verdict), case .observed(_, let setting) = outcome
            else { return nil }
            return setting ?? "no setting explains it: report a bug"
        }
    }

    /// When the examination began.
    package let time: Timestamp
    /// The SHA-256 of all settings without secrets, as the audit event `server.started` has it.
    package let configuration: String
    package let provider: String
    package let kind: String
    package let client: String
    package let rows: [Row]
    /// The requests to other addresses than the simulator's, which were refused.
    package let refusedRequests: Int

    package func count(_ verdict: Verdict) -> Int { rows.count { $0.verdict == verdict } }

    /// Whether everything is refused that must be.
    /// - Parameter strictly: Also what should be.
    package func passes(strictly: Bool) -> Bool {
        count(.violation) == 0 && (!strictly || count(.loosened) == 0)
    }

    static func text(of seen: KitObservation) -> String {
        let error = seen.error.map { " \($0)" } ?? ""
        return "status \(seen.status)\(error)" + (seen.description.map { ": \($0)" } ?? "")
    }
}

extension KitReport {
    /// For people: the summary, what is accepted that should not be, and then every other case in its own block.
    package var text: String {
        var lines = [
            "Latchkey \(LatchkeyVersion.text): conformance of the configuration of \(provider) (\(kind)), "
                + "client \(client)",
            "Time: \(UTCTime.text(time))",
            "Configuration: \(configuration)",
            "Replaced for the run: " + KitTarget.replaced.joined(separator: ", "),
            "Requests to other addresses than the simulator's, all refused: \(refusedRequests)",
        ]
        lines += [
            "", summary,
            "VIOLATION: accepted, although the specification demands that it is refused.",
            "LOOSENED: accepted, although the specification recommends that it is refused.",
            "stricter: refused, although it is correct. not run: does not apply to this configuration.",
        ]
        let found = [Verdict.violation, .loosened].flatMap { verdict in rows.filter { $0.verdict == verdict } }
        if !found.isEmpty { lines += ["", "Violations and loosened cases"] + found.flatMap(Self.lines) }
        for area in KitCase.Area.allCases {
            let rows = rows.filter { $0.row.area == area && ![.violation, .loosened].contains($0.verdict) }
            guard !rows.isEmpty else { continue }
            lines += ["", area.title]
            for row in rows { lines += Self.lines(of: row) }
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func lines(of result: Row) -> [String] {
        let row = result.row
        let verdict = result.verdict.rawValue.replacing("_", with: " ")
        let isFound = [.violation, .loosened].contains(result.verdict)
        var lines = ["  \((isFound ? verdict.uppercased() : verdict).padded(10))\(row.id)"]
        func add(_ name: String, _ text: String) { lines.append("            \(name): \(text)") }
        add("sent", row.sent)
        switch result.outcome {
        case .observed(let seen, _): add("did", (seen.isAccepted ? "accepted" : "refused") + ", " + text(of: seen))
        case .notRun(let reason): add("not run", reason)
        }
        if let because = result.because { add("accepted because", because) }
        add("rule", "\(row.demand.text). \(row.rule) [\(row.source)]")
        return lines
    }

    /// One line.
    package var summary: String {
        let violations = count(.violation)
        return "\(rows.count) cases: \(violations) \(violations == 1 ? "violation" : "violations"), "
            + "\(count(.loosened)) loosened, \(count(.stricter)) stricter, \(count(.notRun)) not run, "
            + "\(count(.ok)) ok."
    }

    /// For programs: one object on one line.
    package var json: String {
        var json = JSONObjectWriter(capacity: 64 * 1024)
        json.add("version", LatchkeyVersion.text)
        json.add("time", UTCTime.text(time))
        json.add("configuration", configuration)
        json.add("provider", provider)
        json.add("kind", kind)
        json.add("client_id", client)
        json.add("replaced", KitTarget.replaced)
        json.add("refused_requests", refusedRequests)
        json.add("violation", count(.violation))
        json.add("loosened", count(.loosened))
        json.add("stricter", count(.stricter))
        json.add("not_run", count(.notRun))
        json.add("ok", count(.ok))
        json.add("cases", objects: rows) { result, json in
            json.add("id", result.row.id)
            json.add("area", result.row.area.rawValue)
            json.add("verdict", result.verdict.rawValue)
            json.add("demand", result.row.demand.rawValue)
            json.add("sent", result.row.sent)
            json.add("rule", result.row.rule)
            json.add("source", result.row.source)
            switch result.outcome {
            case .observed(let seen, _):
                json.add("accepted", seen.isAccepted)
                json.add("status", seen.status)
                json.add("error", orNull: seen.error)
                json.add("error_description", orNull: seen.description)
                json.add("because", orNull: result.because)
            case .notRun(let reason): json.add("reason", reason)
            }
        }
        return String(decoding: json.finish(), as: UTF8.self) + "\n"
    }
}

extension KitCase.Demand {
    fileprivate var text: String {
        switch self {
        case .refuse: "Must be refused"
        case .recommendRefusal: "Should be refused"
        case .accept: "Is correct"
        }
    }
}

extension KitCase.Area {
    fileprivate var title: String {
        switch self {
        case .baseline: "Correct sign-ins"
        case .claims: "Claims of the ID token"
        case .signature: "Header and signature of the ID token"
        case .keys: "Keys of the provider"
        case .discovery: "Metadata of the provider"
        case .token: "Token response"
        case .userInfo: "Userinfo response"
        case .redirect: "Authorization response"
        case .request: "Requests of apps"
        }
    }
}
