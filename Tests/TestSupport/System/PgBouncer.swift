import CLatchkeySystem
import Dispatch
import Foundation
import Synchronization

/// PgBouncer in front of a PostgreSQL server, which stops with its last reference. Each transaction gets the connection
/// to the server that was unused for the longest time, so that the next one of a client mostly gets another.
public final class PgBouncer: Sendable {
    public enum Mode: String, Sendable { case transaction, session }

    /// For one schema of the server.
    public let url: String
    private let port: UInt16
    private let folder: String
    private let process = Mutex<Process?>(nil)

    /// Starts a pooler.
    /// - Parameters:
    ///   - schema: The URL of a schema, from ``PostgresCluster/makeSchema()``.
    ///   - server: The port of what is in front of the server; nil for the server's.
    ///   - connections: The most to the server.
    public init(
        before cluster: PostgresCluster, schema: String, by server: UInt16? = nil, _ mode: Mode = .transaction,
        connections: Int
    ) throws {
        port = try PostgresCluster.reservedPort()
        url = "postgres://app@127.0.0.1:\(port)/pooled?sslmode=disable"
        folder = "/tmp/latchkey-test-pgbouncer-\(getpid())-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        if let owner = PostgresCluster.owner { chown(folder, owner.user, owner.group) }
        let name = schema.split(separator: "%3D").last ?? ""
        let settings = """
            [databases]
            pooled = host=127.0.0.1 port=\(server ?? cluster.port) dbname=postgres user='\(PostgresCluster.user)' \
            password='\(PostgresCluster.password)' connect_query='SET search_path = \(name)'
            [pgbouncer]
            listen_addr = 127.0.0.1
            listen_port = \(port)
            unix_socket_dir =
            auth_type = any
            pool_mode = \(mode.rawValue)
            default_pool_size = \(connections)
            max_client_conn = 300
            server_round_robin = 1
            server_tls_sslmode = disable
            server_login_retry = 1
            server_reset_query = DEALLOCATE ALL
            logfile = \(folder)/log
            """
        try Data(settings.utf8).write(to: URL(fileURLWithPath: folder + "/pgbouncer.ini"))
        try start()
    }

    deinit {
        stop()
        try? FileManager.default.removeItem(atPath: folder)
    }

    public func start() throws {
        let program = "/usr/sbin/pgbouncer"
        guard FileManager.default.isExecutableFile(atPath: program) else {
            throw PostgresCluster.Failure(description: "there is no PgBouncer here; run scripts/setup --test")
        }
        let started = Process()
        started.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        started.arguments = PostgresCluster.identity + [program, "-q", folder + "/pgbouncer.ini"]
        started.standardInput = FileHandle.nullDevice
        started.standardOutput = FileHandle.nullDevice
        started.standardError = FileHandle.nullDevice
        try started.run()
        process.withLock { $0 = started }
        let end = ContinuousClock.now + .seconds(30 * Patience.factor)
        while !listens {
            guard started.isRunning, ContinuousClock.now < end else {
                let log = (try? String(contentsOfFile: folder + "/log", encoding: .utf8)) ?? ""
                throw PostgresCluster.Failure(description: "PgBouncer does not listen: \(log)")
            }
            // A bounded poll: no event reports that another program listens.
            usleep(5_000)
        }
    }

    /// Kills it: its connections are lost at any moment.
    public func stop() {
        let running = process.withLock { process in
            defer { process = nil }
            return process
        }
        guard let running else { return }
        kill(running.processIdentifier, SIGKILL)
        running.waitUntilExit()
    }

    private var listens: Bool {
        let deadline = DispatchTime.now() + .seconds(5)
        guard case .success(let socket) = RawSocket.connect("127.0.0.1", port, until: deadline, receiveBufferBytes: nil)
        else { return false }
        RawSocket.closeDescriptor(socket)
        return true
    }
}
