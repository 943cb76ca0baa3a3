import CLatchkeySystem
import Foundation
import Synchronization

/// A PostgreSQL server in a temporary folder, which stops with its last reference.
///
/// It does not wait for the disk, because its data does not outlive the tests. The programs are those of Debian's
/// `postgresql`.
public final class PostgresCluster: Sendable {
    public struct Failure: Error, CustomStringConvertible {
        public let description: String
    }

    /// The server that most tests share, each with its own schema. It starts at its first use and stops with the
    /// process.
    public static func shared() throws -> PostgresCluster { try sharedResult.get() }

    private static let sharedResult: Result<PostgresCluster, any Error> = Result {
        let cluster = try PostgresCluster()
        atexit { _ = try? PostgresCluster.sharedResult.get().destroy() }
        return cluster
    }

    public let port: UInt16
    private let folder: String
    private let schemas = Mutex(0)

    /// Makes and starts a server, after removing those of aborted runs.
    public init() throws {
        Self.sweep()
        folder = "\(Self.prefix)\(getpid())-\(UUID().uuidString)"
        port = try Self.reservedPort()
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        if let owner = Self.owner { chown(folder, owner.user, owner.group) }
        try Data(Self.password.utf8).write(to: URL(fileURLWithPath: folder + "/password"))
        try run(
            "initdb",
            [
                "-D", folder + "/data", "-U", Self.user, "--auth=scram-sha-256", "--pwfile", folder + "/password", "-E",
                "UTF8", "--locale=C.UTF-8", "--no-sync",
            ])
        try start()
    }

    /// Makes and starts a standby, which follows another server. The other one confirms a commit only when the standby
    /// has it.
    public init(following primary: PostgresCluster) throws {
        folder = "\(Self.prefix)\(getpid())-\(UUID().uuidString)"
        port = try Self.reservedPort()
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        if let owner = Self.owner { chown(folder, owner.user, owner.group) }
        try run(
            "pg_basebackup",
            ["-D", folder + "/data", "-d", primary.url(schema: "public"), "-R", "--no-sync", "--checkpoint=fast"])
        try start()
        try primary.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
        try primary.execute("SELECT pg_reload_conf()")
    }

    deinit { destroy() }

    private static let prefix = "/tmp/latchkey-test-postgres-"
    static let user = "latch key"
    /// Contains characters that must be escaped in a URL.
    public static let password = "s3cret/p@ss word"

    // MARK: Tests

    /// The URL of an empty schema.
    public func makeSchema() throws -> String {
        let number = schemas.withLock { number in
            number += 1
            return number
        }
        try execute("CREATE SCHEMA test_\(number)")
        return url(schema: "test_\(number)")
    }

    public func url(schema: String) -> String {
        "postgres://latch%20key:s3cret%2Fp%40ss%20word@127.0.0.1:\(port)/postgres"
            + "?sslmode=disable&options=-csearch_path%3D\(schema)"
    }

    /// Executes SQL with `psql`.
    /// - Returns: The values of the rows, separated by `|` and line breaks.
    @discardableResult
    public func execute(_ sql: String, on url: String? = nil) throws -> String {
        try run("psql", [url ?? self.url(schema: "public"), "-qAtX", "-v", "ON_ERROR_STOP=1", "-c", sql])
            .trimmingCharacters(in: .newlines)
    }

    /// How a server stops.
    public enum Ending: String, Sendable, CaseIterable {
        /// `pg_ctl -m fast`: closes connections and writes a checkpoint.
        case fast
        /// `pg_ctl -m immediate`: writes no checkpoint, so the next start recovers.
        case immediate
        /// `kill -9` of its first process, which the others notice.
        case killed
    }

    /// Stops the server as a crash does, and starts it again.
    public func crash() throws {
        try stop()
        try start()
    }

    public func stop() throws { try stop(.immediate) }

    public func stop(_ ending: Ending) throws {
        guard ending == .killed else {
            try run("pg_ctl", ["-D", folder + "/data", "-m", ending.rawValue, "-w", "stop"])
            return
        }
        let all = try processes()
        kill(all[0], SIGKILL)
        let end = ContinuousClock.now + .seconds(30 * Patience.factor)
        while all.contains(where: Self.runs) {
            guard ContinuousClock.now < end else { throw Failure(description: "the server does not end") }
            // A bounded poll: the processes are not children of this one, so no event reports their end.
            usleep(5_000)
        }
        // If the dead process is not reaped, the next start takes it for a running server.
        try FileManager.default.removeItem(atPath: folder + "/data/postmaster.pid")
    }

    /// Sends a signal to all processes of the server: SIGSTOP makes it hang, SIGCONT ends that.
    public func send(_ signal: Int32) throws { for process in try processes() { kill(process, signal) } }

    /// The server's first process, and then its children.
    private func processes() throws -> [Int32] {
        let lines = try String(contentsOfFile: folder + "/data/postmaster.pid", encoding: .utf8).split(separator: "\n")
        guard let process = lines.first.flatMap({ Int32($0) }) else {
            throw Failure(description: "the server's process is not known")
        }
        return [process] + Self.children(of: process)
    }

    /// The state and the parent of a process; nil if there is none.
    private static func status(of process: Int32) -> (state: Substring, parent: Int32)? {
        guard let text = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8),
            let fields = text.split(separator: ")").last?.split(separator: " "), fields.count > 1,
            let parent = Int32(fields[1])
        else { return nil }
        return (fields[0], parent)
    }

    private static func runs(_ process: Int32) -> Bool { status(of: process).map { $0.state != "Z" } ?? false }

    private static func children(of parent: Int32) -> [Int32] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return names.compactMap { Int32($0) }.filter { status(of: $0)?.parent == parent }
    }

    public func start() throws {
        let settings = [
            "listen_addresses=127.0.0.1", "unix_socket_directories=", "fsync=off", "full_page_writes=off",
            "max_connections=300", "deadlock_timeout=100ms",
        ]
        let options = "-p \(port) " + settings.map { "-c \($0)" }.joined(separator: " ")
        try run("pg_ctl", ["-D", folder + "/data", "-w", "-l", folder + "/log", "-o", options, "start"])
    }

    /// Starts a stopped server as a standby, which can be read only.
    public func startAsStandby() throws {
        try Data().write(to: URL(fileURLWithPath: folder + "/data/standby.signal"))
        try start()
    }

    /// Makes a standby the primary.
    public func promote() throws { try run("pg_ctl", ["-D", folder + "/data", "-w", "promote"]) }

    // MARK: Running the programs

    private func destroy() {
        // A hanging server does not stop.
        try? send(SIGCONT)
        try? stop()
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// Removes the servers of processes that have ended.
    private static func sweep() {
        let base = (prefix as NSString).deletingLastPathComponent
        let name = (prefix as NSString).lastPathComponent
        for folder in (try? FileManager.default.contentsOfDirectory(atPath: base)) ?? [] where folder.hasPrefix(name) {
            guard let process = Int32(folder.dropFirst(name.count).prefix { $0.isNumber }),
                kill(process, 0) != 0, errno == ESRCH
            else { continue }
            let data = "\(base)/\(folder)/data"
            _ = try? run("pg_ctl", ["-D", data, "-m", "immediate", "-w", "stop"], in: base)
            try? FileManager.default.removeItem(atPath: "\(base)/\(folder)")
        }
    }

    /// The server refuses to run as root.
    static let owner: (user: uid_t, group: gid_t)? = {
        guard geteuid() == 0, let entry = getpwnam("postgres") else { return nil }
        return (entry.pointee.pw_uid, entry.pointee.pw_gid)
    }()

    /// The words before a command that is to run as ``owner``.
    static var identity: [String] {
        owner.map { ["setpriv", "--reuid=\($0.user)", "--regid=\($0.group)", "--clear-groups"] } ?? []
    }

    @discardableResult
    private func run(_ program: String, _ arguments: [String]) throws -> String {
        try Self.run(program, arguments, in: folder)
    }

    /// Runs a program of PostgreSQL. Its output goes to a file, because the server inherits the descriptors of
    /// `pg_ctl`.
    private static func run(_ program: String, _ arguments: [String], in folder: String) throws -> String {
        let versions = (try? FileManager.default.contentsOfDirectory(atPath: "/usr/lib/postgresql")) ?? []
        guard let version = versions.max(by: { (Int($0) ?? 0) < (Int($1) ?? 0) }) else {
            throw Failure(description: "there is no PostgreSQL server here; run scripts/setup --test")
        }
        let process = Process()
        let path = "/usr/lib/postgresql/\(version)/bin/\(program)"
        // Foundation waits until its descriptors are closed, and the server would keep them open.
        let closing = "for d in /proc/self/fd/*; do d=${d##*/}; [ $d -le 2 ] || eval \"exec $d>&-\"; done; exec \"$@\""
        process.executableURL = URL(fileURLWithPath: "/bin/bash")
        process.arguments = ["-c", closing, "bash"] + identity + [path] + arguments
        process.currentDirectoryURL = URL(fileURLWithPath: "/")
        // For how many seconds pg_ctl waits for a server.
        process.environment = ProcessInfo.processInfo.environment.merging(["PGCTLTIMEOUT": "600"]) { $1 }
        let output = "\(folder)/output-\(UUID().uuidString)"
        guard FileManager.default.createFile(atPath: output, contents: nil),
            let file = FileHandle(forWritingAtPath: output)
        else { throw Failure(description: "no output of \(program) can be kept") }
        defer { try? FileManager.default.removeItem(atPath: output) }
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = file
        process.standardError = file
        try process.run()
        process.waitUntilExit()
        let said = String(decoding: (try? Data(contentsOf: URL(fileURLWithPath: output))) ?? Data(), as: UTF8.self)
        guard process.terminationStatus == 0 else { throw Failure(description: "\(program) failed: \(said)") }
        return said
    }

    /// A free port that the system gives to no connection: a server that is stopped finds it free when it starts again.
    /// Linux takes the ports of connections from 32768 on.
    static func reservedPort() throws -> UInt16 {
        for _ in 0..<1_000 {
            let port = UInt16.random(in: 11_000..<32_768)
            if isReserved(port), isFree(port) { return port }
        }
        throw Failure(description: "there is no free port")
    }

    /// Keeps other processes and tests from a port, as `Benchmarks/ports.py` does: by a socket in the system's abstract
    /// names, which goes with this process.
    private static func isReserved(_ port: UInt16) -> Bool {
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let name = [0] + "latchkey-test-port-\(port)".utf8
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name) }
        let length = MemoryLayout<sa_family_t>.size + name.count
        let isReserved = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, socklen_t(length)) == 0 }
        }
        if !isReserved { close(descriptor) }
        return isReserved
    }

    private static func isFree(_ port: UInt16) -> Bool {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    }
}
