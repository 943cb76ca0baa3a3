import CarrierSimulator
import Foundation
import Primitives
import Synchronization
import TestSupport
import Testing

/// The observed result of a case.
struct Outcome: Sendable {
    var verdict = ConformanceCase.Verdict.unexpected
    var statuses: [Int] = []
    var tokenPosts = 0
    var keyFetches = 0
    var userInfoCalls = 0
}

/// A case at its own carrier.
struct ConformanceRun: Sendable {
    let harness: ConformanceHarness
    let row: ConformanceCase
    let mccmnc: String
    private let secrets = Texts()
    private let clock = Watch()

    private final class Texts: Sendable {
        let texts = Mutex<[String]>([])
    }

    /// The longest wait for a response.
    private final class Watch: Sendable {
        let longest = Mutex(Duration.zero)
    }

    init(_ row: ConformanceCase, on harness: ConformanceHarness) {
        self.row = row
        self.harness = harness
        mccmnc = harness.newCarrier(of: row)
    }

    /// Turns the case's faults on.
    func misbehave() {
        harness.proxy.setScripts(row.scripts, for: mccmnc)
        harness.simulator.update(mccmnc) { carrier in
            carrier.faults = row.faults
            carrier.tampering = row.tampering
            // Secrets that must not appear later: tokens and subjects.
            carrier.tampering.compactForms.append { [secrets] token in
                let text = token
                secrets.texts.withLock { $0.append(text) }
            }
            carrier.tampering.idTokens.append { [secrets] draft in
                guard let subject = draft.claims["sub"]?.string else { return }
                secrets.texts.withLock { $0.append(subject) }
            }
            carrier.tampering.objects[.token, default: []].append { [secrets] tokens in
                let texts = ["access_token", "refresh_token"].compactMap { tokens[$0]?.string }
                secrets.texts.withLock { $0 += texts }
            }
        }
    }

    /// Turns all faults off.
    func behave() {
        harness.proxy.setScripts([:], for: mccmnc)
        harness.simulator.update(mccmnc) { carrier in
            carrier.faults = []
            carrier.tampering = .init()
        }
    }

    func fields() throws -> ConformanceCase.Fields {
        let fields = try harness.authorizedResponse(
            mccmnc, clientID: row.clientID, scope: row.scope, acr: row.acr, context: row.context)
        keepSecret(["code", "code_verifier", "nonce"].compactMap { fields[$0] })
        return fields
    }

    /// Adds strings that responses and the log must not contain.
    func keepSecret(_ values: [String]) { secrets.texts.withLock { $0 += values } }

    /// Signs in with the case's flow.
    func signIn() async throws -> App.Answer {
        switch row.flow {
        case .code:
            var fields = try fields()
            row.appEdit?(&fields)
            return try await post(fields)
        case .redirect: return try await finish(try await comeBack())
        case .phone: return try await signInByPhone()
        case .transaction: return try await approveTransaction()
        }
    }

    func post(_ fields: ConformanceCase.Fields) async throws -> App.Answer {
        try await timed { try await harness.app.signIn(fields) }
    }

    /// Measures how long Latchkey takes.
    func timed<Value>(_ call: () async throws -> Value) async throws -> Value {
        let start = ContinuousClock.now
        let value = try await call()
        let took = ContinuousClock.now - start
        clock.longest.withLock { $0 = max($0, took) }
        return value
    }

    var longest: Duration { clock.longest.withLock(\.self) }

    /// Runs the case.
    func answers() async throws -> [App.Answer] {
        if let steps = row.steps { return try await steps(self) }
        return [try await signIn()]
    }

    func outcome(of answers: [App.Answer]) -> Outcome {
        let proxy = harness.proxy
        var outcome = Outcome(statuses: answers.map(\.status))
        outcome.tokenPosts = proxy.count(.token, mccmnc)
        outcome.keyFetches = proxy.count(.keys, mccmnc)
        outcome.userInfoCalls = proxy.count(.userInfo, mccmnc)
        let verdicts = Set(answers.map { verdict(of: $0, tokenPosts: outcome.tokenPosts) })
        if verdicts.count == 1, let verdict = verdicts.first { outcome.verdict = verdict }
        return outcome
    }

    private func verdict(of answer: App.Answer, tokenPosts: Int) -> ConformanceCase.Verdict {
        if row.flow == .redirect, let verdict = AuthorizationCallback.verdict(of: answer) { return verdict }
        if row.flow == .transaction, answer.status == 200 {
            return answer.json["authorized"]?.bool == true && answer.json["receipt"] != nil ? .signedIn : .unexpected
        }
        return switch answer.status {
        case 200 where row.isLogout && answer.token == nil, 303 where row.isLogout: .loggedOut
        case 200 where row.flow == .phone && answer.token == nil: .waiting
        case 200: answer.token == nil ? .unexpected : .signedIn
        case _ where answer.token != nil || answer.error == nil: .unexpected
        case 401: .rejected
        case 502, 504: tokenPosts == 0 ? .configuration : .upstream
        case 400: .request
        default: .unexpected
        }
    }

    /// Whether a text contains a secret. Short secrets are ignored because they can occur by chance.
    func secretsHeard(in text: String) -> Bool {
        secrets.texts.withLock { $0 }.contains { $0.utf8.count >= 16 && text.contains($0) }
    }
}

extension ConformanceRun {
    /// The observed results of a case: its positive twin, the case, and a clean sign-in right after it.
    private struct Seen {
        let twin: ConformanceRun
        let twinAnswer: App.Answer
        let run: ConformanceRun
        let answers: [App.Answer]
        let outcome: Outcome
        /// In MiB, if known.
        let grown: Int?
        let log: String
        let start: ContinuousClock.Instant
        let clean: ConformanceRun
        let cleanAnswer: App.Answer
    }

    /// Runs a case and checks its results.
    static func perform(_ row: ConformanceCase, on harness: ConformanceHarness) async throws {
        // If the machine paused, deadlines have passed for no reason of the server's; if it is slow, many sign-ins at
        // once are an overload. Then the run is repeated.
        for _ in 0..<4 {
            let pauses = harness.pauses.count
            let seen = try await see(row, on: harness)
            if pauses == harness.pauses.count, !seen.log.contains("overloaded: ") { return judge(seen, on: harness) }
        }
        judge(try await see(row, on: harness), on: harness)
    }

    private static func see(_ row: ConformanceCase, on harness: ConformanceHarness) async throws -> Seen {
        let twin = ConformanceRun(row.twin, on: harness)
        let twinAnswer = try await twin.signIn()

        let run = ConformanceRun(row, on: harness)
        run.misbehave()
        let logged = harness.process.said.utf8.count
        let memory = ProcessMemory(of: harness.process)
        let newest = try await run.newestCapsule()
        let start = ContinuousClock.now
        let answers = try await run.answers()
        try await run.expectCapsules(of: answers, after: newest)
        let grown = memory.growth()
        let outcome = run.outcome(of: answers)
        let log = String(decoding: Array(harness.process.said.utf8.dropFirst(logged)), as: UTF8.self)

        run.behave()
        let clean = row.recoversElsewhere ? ConformanceRun(row.twin, on: harness) : run.well
        return Seen(
            twin: twin, twinAnswer: twinAnswer, run: run, answers: answers, outcome: outcome, grown: grown, log: log,
            start: start, clean: clean, cleanAnswer: try await clean.signIn())
    }

    private static func judge(_ seen: Seen, on harness: ConformanceHarness) {
        let (run, row, answers) = (seen.run, seen.run.row, seen.answers)
        seen.twin.expectSuccess(seen.twinAnswer, "the positive twin")
        harness.outcomes.withLock { $0[row.id] = seen.outcome }
        let texts = answers.map { $0.response.text + ($0.response["location"] ?? "") }
        #expect(seen.outcome.verdict == row.verdict, "\(texts)")
        if !row.says.isEmpty {
            #expect(answers.allSatisfy { $0.json["error_description"]?.string?.contains(row.says) == true }, "\(texts)")
        }
        run.expectTraffic(seen.outcome, answers: answers.count)
        // A carrier that drips takes ten seconds at least; a busy machine takes some more than the deadline.
        #expect(run.longest > .zero && run.longest <= ConformanceHarness.deadline + .seconds(6))
        if let grown = seen.grown { #expect(grown <= 64, "MiB more than before") }
        #expect(!texts.contains(where: run.secretsHeard) && !run.secretsHeard(in: seen.log), "a secret leaked")
        seen.clean.expectSuccess(seen.cleanAnswer, "the sign-in right after")
        if let seconds = row.recovery {
            harness.delayedChecks.withLock { $0.append(.init(run: run.well, due: seen.start + .seconds(seconds + 1))) }
        }
    }

    func expectSuccess(_ answer: App.Answer, _ what: String) {
        #expect(verdict(of: answer, tokenPosts: 1) == .signedIn, "\(row.id), \(what): \(answer.response.text)")
    }

    private func expectTraffic(_ outcome: Outcome, answers: Int) {
        #expect(harness.proxy.count(.canary, mccmnc) == 0, "an address was requested that only a trap names")
        let posts = answers * row.flow.tokenPosts
        switch row.verdict {
        case .signedIn:
            #expect(outcome.tokenPosts == row.tokenPosts ?? posts)
            let calls = row.flow == .code || row.flow == .redirect ? outcome.tokenPosts : answers
            #expect(outcome.userInfoCalls == calls)
        case .rejected:
            #expect(outcome.tokenPosts == row.tokenPosts ?? posts)
            if !row.isAboutUserInfo, row.steps == nil, row.flow != .transaction {
                #expect(outcome.userInfoCalls == 0)
            }
        case .upstream:
            if row.steps == nil || row.tokenPosts != nil { #expect(outcome.tokenPosts == row.tokenPosts ?? 1) }
        case .configuration, .loggedOut, .request, .callback, .waiting, .unexpected:
            #expect(outcome.tokenPosts == row.tokenPosts ?? 0)
        }
        if let fetches = row.keyFetches { #expect(fetches.contains(outcome.keyFetches)) }
    }

    /// The same carrier with a correct app.
    private var well: ConformanceRun { ConformanceRun(row.twin, mccmnc, on: harness) }

    private init(_ row: ConformanceCase, _ mccmnc: String, on harness: ConformanceHarness) {
        self.row = row
        self.harness = harness
        self.mccmnc = mccmnc
    }
}

extension ConformanceCase {
    fileprivate var isAboutUserInfo: Bool { says == "userinfo_subject" || faults.contains(.userInfoWrongSubject) }

    /// The same kind of carrier and the same request, without faults.
    var twin: ConformanceCase {
        var twin = ConformanceCase(id, .signedIn, [])
        twin.nature = nature
        twin.flow = flow
        twin.clientID = clientID
        twin.scope = scope
        twin.acr = acr
        twin.context = context
        return twin
    }
}

extension ConformanceCase.Flow {
    /// Token requests per sign-in. A transaction has one for the session and one for the approval.
    fileprivate var tokenPosts: Int {
        switch self {
        case .code, .redirect: 1
        case .phone: 0
        case .transaction: 2
        }
    }
}

/// The growth of a process's memory since this was created, on Linux.
struct ProcessMemory {
    private let folder: String
    private let before: Int?

    init(of process: LatchkeyProcess) {
        folder = "/proc/\(process.identifier)"
        before = Self.mebibytes("VmRSS", folder)
        // Resets the peak (proc(5)).
        try? Data("5".utf8).write(to: URL(fileURLWithPath: folder + "/clear_refs"))
    }

    /// The growth from the start to the peak, in MiB.
    func growth() -> Int? {
        guard let before, let peak = Self.mebibytes("VmHWM", folder) else { return nil }
        return peak - before
    }

    private static func mebibytes(_ name: String, _ folder: String) -> Int? {
        guard let status = try? String(contentsOfFile: folder + "/status", encoding: .utf8) else { return nil }
        let line = status.split(separator: "\n").first { $0.hasPrefix(name + ":") }
        return line?.split(whereSeparator: { $0 == " " || $0 == "\t" }).dropFirst().first.flatMap { Int($0) }
            .map { $0 / 1024 }
    }
}
