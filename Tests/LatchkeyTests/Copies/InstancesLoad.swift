import Foundation
import Primitives
import Synchronization
import TestSupport

/// Apps that sign in through the proxy, use their session, and now and then sign out, until they are told to stop. What is
/// answered 503 they send again, as the documents have it.
final class InstancesLoad: Sendable {
    struct Tally: Sendable {
        /// Tokens of sign-ins that were answered 200 and not signed out.
        var live: [String] = []
        /// Tokens whose sign-out was answered.
        var over: [String] = []
        /// Sign-ins that were answered 200.
        var signIns = 0
        /// Answers with 503.
        var unavailable = 0
        /// Sign-ins that, sent again after a 503, came to nothing, for their code was spent: nobody was told that they
        /// succeeded, and the app begins anew.
        var spent = 0
        /// Whatever the documents do not know.
        var problems: [String] = []
    }

    struct Stalled: Error, CustomStringConvertible {
        let description: String
    }

    static let workers = 6
    /// More than any test needs.
    private static let maximum = 3_000

    private let stage: InstancesHarness
    private let state = Mutex(Tally())
    private let begun = Counter()
    private let isOver = Mutex(false)
    private let isOut = Mutex(false)
    private let news = News()

    private init(_ stage: InstancesHarness) {
        self.stage = stage
    }

    /// Runs `body` under load.
    /// - Returns: What came of it.
    static func run(_ stage: InstancesHarness, _ body: (InstancesLoad) async throws -> Void) async throws -> Tally {
        let load = InstancesLoad(stage)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<workers { group.addTask { await load.work() } }
            defer { load.stop() }
            try await body(load)
        }
        return load.tally
    }

    var tally: Tally { state.withLock { $0 } }

    /// Waits for so many more sign-ins that are answered 200.
    func more(_ count: Int) async throws {
        let goal = tally.signIns + count
        let came: Bool? = await news.wait(atMostSeconds: 60) {
            let tally = tally
            return tally.signIns >= goal || !tally.problems.isEmpty ? true : nil
        }
        guard came == nil else { return }
        throw Stalled(description: "no \(count) sign-ins in a minute: \(tally.summary)")
    }

    /// While something is known to be down, what was answered 503 is not sent again: an app does that a few times only.
    func duringOutage(_ body: () throws -> Void) rethrows {
        isOut.withLock { $0 = true }
        defer {
            isOut.withLock { $0 = false }
            news.post()
        }
        try body()
    }

    private func stop() {
        isOver.withLock { $0 = true }
        isOut.withLock { $0 = false }
        news.post()
    }

    private func work() async {
        var line = Line(to: stage.proxy.address)
        while !isOver.withLock({ $0 }) {
            let number = begun.increment()
            guard number <= Self.maximum else { break }
            do {
                try await cycle(number, &line)
                // The processors are for those who restart, too.
                try await Task.sleep(for: .milliseconds(20))
            } catch {
                note { $0.problems.append("no answer, or none that is documented: \(error)") }
                // One tells enough.
                break
            }
        }
        await line.close()
    }

    private func note(_ change: (inout Tally) -> Void) {
        state.withLock { change(&$0) }
        news.post()
    }

    private func cycle(_ number: Int, _ line: inout Line) async throws {
        let fields = try stage.authorizedResponse(of: number)
        let (signIn, wasRepeated) = try await insist(&line, "POST", "/auth/zenkey-signin", json: fields)
        guard let token = signIn.token, signIn.status == 200 else {
            let isSpent = wasRepeated && signIn.status == 401 && signIn.error == "invalid_grant"
            return note { tally in
                if isSpent { tally.spent += 1 } else { tally.problems.append("sign-in: \(signIn.summary)") }
            }
        }
        note { tally in
            tally.signIns += 1
            tally.live.append(token)
        }
        let (me, _) = try await insist(&line, "GET", "/users/me", token: token)
        if me.status != 200 { note { $0.problems.append("the session of a sign-in: \(me.summary)") } }
        guard number.isMultiple(of: 3) else { return }
        note { $0.live.removeAll { $0 == token } }
        let (end, _) = try await insist(&line, "DELETE", "/auth/token", token: token)
        // nginx by itself sends a DELETE that got no answer to the next copy, where it may find nothing to do any more.
        let isOver = end.status == 200 || end.status == 401
        note { tally in
            if isOver { tally.over.append(token) } else { tally.problems.append("sign-out: \(end.summary)") }
        }
    }

    /// Sends a request until the answer is another than 503.
    private func insist(
        _ line: inout Line, _ method: String, _ path: String, token: String? = nil, json: [String: String]? = nil
    ) async throws -> (App.Answer, wasRepeated: Bool) {
        var repeats = 0
        while true {
            let answer = try await line.send(method, path, token: token, json: json)
            guard answer.status == 503, answer.error == "temporarily_unavailable",
                answer.response["retry-after"] != nil, repeats < 60
            else { return (answer, repeats > 0) }
            note { $0.unavailable += 1 }
            repeats += 1
            let _: Bool? = await news.wait(atMostSeconds: 60) { isOut.withLock { $0 } ? nil : true }
            try await Task.sleep(for: .milliseconds(min(50 << min(repeats, 8), 1_000)))
        }
    }
}

extension InstancesLoad.Tally {
    var summary: String {
        "\(signIns) signed in, \(over.count) signed out, \(unavailable) times 503, \(spent) codes spent; \(problems)"
    }
}

extension App.Answer {
    /// Without what is secret.
    fileprivate var summary: String { "\(status) \(error ?? "-"): \(json["error_description"]?.string ?? "-")" }
}
