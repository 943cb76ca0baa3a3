package import LatchkeyConfiguration
package import LatchkeyService
import Primitives
import SignIn
import StorageModel

extension AdminService {
    /// The most lines of a transaction: some milliseconds, between which sign-ins run.
    private static let batchLines = 1000

    /// Reads users of another system, and stores those whose identity is not stored. Lines that are wrong are reported,
    /// and the others are stored.
    /// - Parameters:
    ///   - issuers: Those whose word counts about e-mail addresses.
    ///   - maximumProblems: Stops after so many wrong lines. What was read before is stored.
    ///   - onProgress: Receives how many lines were read.
    ///   - onProblem: Receives the number of a line, and what is wrong with it.
    package func importUsers(
        from input: LineReader, vouching issuers: Set<String>, reason: String?, maximumProblems: Int, applies: Bool,
        onProgress: (Int) -> Void, onProblem: (_ line: Int, _ problem: String) -> Void
    ) async throws -> CommandReport {
        try check(reason)
        guard maximumProblems > 0 else { throw AdministratorError(.usage, "the limit of errors must be positive") }
        var (input, line, problems) = (input, 0, 0)
        var (added, verified, present) = (0, 0, 0)
        var batch: [ImportedUser] = []
        func report(_ line: Int, _ problem: String) {
            problems += 1
            onProblem(line, problem)
        }
        func store() async throws {
            let stored = try await self.store.importUsers(
                batch, vouching: issuers, at: clock.now(), by: .operating(Self.operatorName), reason: reason,
                applies: applies)
            batch = []
            (added, verified, present) = (added + stored.added, verified + stored.verified, present + stored.present)
            for line in stored.moved { report(line, "an account was moved away from this identity") }
            onProgress(line)
        }
        while problems < maximumProblems, let next = try input.next() {
            line += 1
            do throws(AdministratorError) {
                guard case .bytes(var bytes) = next else {
                    throw AdministratorError("longer than \(ImportedUser.maximumBytes) bytes")
                }
                if line == 1, bytes.starts(with: [0xEF, 0xBB, 0xBF]) { bytes.removeFirst(3) }
                if bytes.allSatisfy({ " \t\r".utf8.contains($0) }) { continue }
                batch.append(try ImportedUser(bytes, line: line, at: clock.now()))
            } catch {
                report(line, error.description)
            }
            if batch.count == Self.batchLines { try await store() }
        }
        try await store()
        let verb = applies ? "added" : "would be added"
        var summary = self.report(
            [
                "lines read: \(line)", "users \(verb): \(added), \(verified) of them with a verified e-mail address",
                "already there: \(present)", "refused: \(problems)",
            ], applies: applies
        ) { json in
            json.add("lines", line)
            json.add("added", added)
            json.add("verified", verified)
            json.add("present", present)
            json.add("refused", problems)
        }
        if problems >= maximumProblems {
            summary.failure = AdministratorError("stopped at line \(line), after \(problems) errors")
        } else if problems > 0 {
            summary.failure = AdministratorError("\(problems) \(problems == 1 ? "line was" : "lines were") refused")
        }
        return summary
    }
}

extension Configuration {
    /// The issuers that sign in with ID tokens, whose word about an e-mail address counts at a sign-in.
    package var vouchingIssuers: Set<String> {
        Set((providers.filter { $0.kind == .oidc }.map(\.issuer) + zenkey.issuers.values).map(\.description))
    }
}
