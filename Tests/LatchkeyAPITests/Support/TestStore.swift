import Foundation
import Primitives
import Storage
import StorageModel
import Synchronization
import TestSupport

@testable import PostgreSQL

/// A store of one test, and the script of its failures.
struct TestStore: Sendable {
    let store: SQLStore
    let script = StoreScript()
    private let directory: TemporaryDirectory

    /// - Parameters:
    ///   - isShared: Whether it claims to have other processes, as PostgreSQL does.
    ///   - timer: Delays commits; nil for the system's.
    init(isShared: Bool = false, delayingBy timer: (any CommitTimer)? = nil) throws {
        directory = try TemporaryDirectory()
        let configuration = SQLiteConfiguration(path: directory.file("test.db"), synchronous: .normal)
        try Self.empty.get().write(to: URL(fileURLWithPath: configuration.path))
        store = try SQLStore(
            configuration: configuration, isShared: isShared, delayingBy: timer, interceptor: script.interceptor)
    }

    /// A store on PostgreSQL.
    init(in cluster: PostgresCluster) throws {
        directory = try TemporaryDirectory()
        let configuration = PostgresConfiguration(
            url: Secret(try cluster.makeSchema()), poolSize: 2, statementTimeout: .seconds(60),
            connectTimeout: .seconds(60), maximumWait: .seconds(60))
        store = SQLStore(try PostgresEngine(configuration, StoreHooks(interceptor: script.interceptor)))
    }

    /// A database without rows. A copy is quicker than the migrations of a new file, which StorageTests show.
    private static let empty: Result<Data, any Error> = Result {
        let directory = try TemporaryDirectory()
        let path = directory.file("made.db")
        let store = try SQLStore(configuration: SQLiteConfiguration(path: path, synchronous: .normal))
        defer { withExtendedLifetime(store) {} }
        let copy = directory.file("copy.db")
        try DatabaseProbe(path: path).connect().execute("VACUUM INTO '\(copy)'")
        return try Data(contentsOf: URL(fileURLWithPath: copy))
    }

    /// Whether a text is in the database's files.
    func files(contain text: String) throws -> Bool {
        try ["test.db", "test.db-wal"].contains { name in
            guard FileManager.default.fileExists(atPath: directory.file(name)) else { return false }
            return try Data(contentsOf: URL(fileURLWithPath: directory.file(name))).range(of: Data(text.utf8)) != nil
        }
    }
}

/// Makes calls of a test's store fail, wait at a gate, or lose their result, and counts them.
final class StoreScript: Sendable {
    /// A call by the name of its method.
    enum Call: String {
        case any
        case addOneTimeRecord = "addOneTimeRecord(_:insteadOf:)"
        case addSession = "addSession(_:besides:)"
        case apiKeys = "apiKeys(limit:)"
        case check = "check()"
        case endBackchannelAuthentication = "endBackchannelAuthentication(_:with:givingBackTo:)"
        case link = "link(_:)"
        case recentSignIn = "recentSignIn(_:at:)"
        case recentSignIns = "recentSignIns(at:limit:)"
        case refreshToken = "refreshToken(_:at:)"
        case register = "register(handle:profile:session:publicID:tokens:claims:refusesVerifiedEmail:answer:at:)"
        case rotate = "rotate(_:)"
        case session = "session(_:at:)"
        case signIn = "signIn(_:)"
        case takeOneTimeRecord = "takeOneTimeRecord(_:purpose:at:)"
    }

    private struct State {
        var counts: [Call: Int] = [:]
        var failures: [Call: StorageError] = [:]
        var losses: [Call: StorageError] = [:]
        var gatesBefore: [Call: Gate] = [:]
        var gatesAfter: [Call: Gate] = [:]
    }

    private let state = Mutex(State())

    fileprivate var interceptor: StoreInterceptor {
        { (operation, kind, moment) async throws(StorageError) in
            // A check reads and writes; it counts once.
            guard let call = Call(rawValue: operation.description), call != .check || kind == .read else {
                return try self.failIfScripted(.any)
            }
            switch moment {
            case .before: try await self.begin(call)
            case .after: try await self.end(call)
            }
        }
    }

    /// Fails every call of a kind from now on; nil stops that.
    func fail(_ call: Call = .any, with failure: StorageError?) { state.withLock { $0.failures[call] = failure } }

    /// Lets every call of a kind happen and then fail from now on; nil ends that.
    func lose(_ call: Call, with failure: StorageError?) { state.withLock { $0.losses[call] = failure } }

    /// Holds calls before they begin, until the gate is open; nil ends that.
    func hold(before call: Call, at gate: Gate?) { state.withLock { $0.gatesBefore[call] = gate } }

    /// Holds the results of calls back until the gate is open; nil ends that.
    func hold(after call: Call, at gate: Gate?) { state.withLock { $0.gatesAfter[call] = gate } }

    /// How often a call was made.
    func count(of call: Call) -> Int { state.withLock { $0.counts[call] ?? 0 } }

    fileprivate func begin(_ call: Call) async throws(StorageError) {
        let gate = state.withLock { state in
            state.counts[call, default: 0] += 1
            return state.gatesBefore[call]
        }
        await gate?.pass()
        try failIfScripted(call)
    }

    fileprivate func end(_ call: Call) async throws(StorageError) {
        let (gate, loss) = state.withLock { ($0.gatesAfter[call], $0.losses[call]) }
        await gate?.pass()
        if let loss { throw loss }
    }

    fileprivate func failIfScripted(_ call: Call) throws(StorageError) {
        if let failure = state.withLock({ $0.failures[.any] ?? $0.failures[call] }) { throw failure }
    }
}
