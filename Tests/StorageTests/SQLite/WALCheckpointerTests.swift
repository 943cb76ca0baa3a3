import CLatchkeySQLite
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Storage

@Suite("SQLite: the move of the write-ahead log while commits go on")
struct WALCheckpointerTests {
    /// How a move's sync ends, and how often it was asked for.
    private final class Syncs: Sendable {
        let count = Mutex(0)
        let result: CInt

        init(result: CInt) { self.result = result }
    }

    private let directory: TemporaryDirectory
    private let path: String

    init() throws {
        directory = try TemporaryDirectory()
        path = directory.file("moved.db")
    }

    /// Counts how often the log has begun anew: bytes 12 to 15 of it.
    private func generation() throws -> UInt32 {
        let log = try FileHandle(forReadingFrom: URL(fileURLWithPath: path + "-wal"))
        defer { try? log.close() }
        return try #require(try log.read(upToCount: 16)).suffix(4).reduce(0) { $0 << 8 | UInt32($1) }
    }

    private func insert(_ bytes: Int, _ db: Storage.SQLiteConnection) throws {
        try db.execute("INSERT INTO bulk VALUES (zeroblob(\(bytes)))")
    }

    /// Has a log of 17 MB moved. A reader keeps its last commit from that, and so it does not begin anew when the move's
    /// first sync appends to it.
    private func move(_ db: Storage.SQLiteConnection, appending bytes: Int, _ syncs: Syncs) throws -> WALCheckpointer {
        let checkpointer = WALCheckpointer { _ in
            let isFirst = syncs.count.withLock { count in
                count += 1
                return count == 1
            }
            if isFirst { #expect(throws: Never.self) { try insert(bytes, db) } }
            return syncs.result
        }
        try db.execute("PRAGMA journal_mode = WAL")
        checkpointer.observe(db)
        try db.execute("CREATE TABLE bulk (content BLOB)")
        try insert(17_000_000, db)
        let reader = try DatabaseProbe(path: path).connect()
        try reader.execute("BEGIN; SELECT count(*) FROM bulk")
        try insert(1, db)
        checkpointer.checkpointIfDue(db)
        checkpointer.wait()
        reader.close()
        return checkpointer
    }

    @Test(
        "A small rest is moved by the writing connection, and a large one on the other thread; then a new log begins",
        arguments: [(1, 1), (2_000_000, 2)])
    func rest(bytes: Int, moves: Int) throws {
        let syncs = Syncs(result: SQLITE_OK)
        let db = try Storage.SQLiteConnection(path)
        let checkpointer = try move(db, appending: bytes, syncs)
        #expect(syncs.count.withLock { $0 } == 1)
        #expect(try directory.size("moved.db") > 16_000_000)
        let former = try generation()
        checkpointer.checkpointIfDue(db)
        checkpointer.wait()
        #expect(syncs.count.withLock { $0 } == moves)
        try insert(1, db)
        #expect(try generation() == former + 1)
        // It is short.
        checkpointer.checkpointIfDue(db)
        checkpointer.wait()
        #expect(syncs.count.withLock { $0 } == moves)
        try checkpointer.close(before: db)
        try db.close()
        #expect(!FileManager.default.fileExists(atPath: path + "-wal"))
    }

    /// Versions of SQLite damage a database whose log begins anew while another connection begins to move it.
    @Test("No move begins on the other thread while all pages are moved, also after a batch that commits nothing")
    func nothingToMove() {
        var state = WALCheckpointer.State()
        state.note(4_000)
        #expect(state.next() == .move)
        // Appended before the other thread's move begins.
        state.note(4_500)
        #expect(state.next() == .nothing)
        state.end(moving: 4_500, since: state.restarts)
        #expect(state.next() == .nothing)
        // A reader keeps the log from beginning anew.
        state.note(4_501)
        #expect(state.next() == .move)
        // It begins anew before the move's end is known.
        let restarts = state.restarts
        state.note(2)
        state.end(moving: 4_501, since: restarts)
        state.note(4_400)
        #expect(state.next() == .move)
    }

    @Test("After a failed sync the log stays, and the next start moves all of it")
    func failedSync() throws {
        let syncs = Syncs(result: SQLITE_IOERR)
        let db = try Storage.SQLiteConnection(path)
        let checkpointer = try move(db, appending: 1, syncs)
        let former = try generation()
        for _ in 0..<3 {
            checkpointer.checkpointIfDue(db)
            checkpointer.wait()
            try insert(1, db)
        }
        #expect(try generation() == former)
        #expect(syncs.count.withLock { $0 } == 1)
        #expect(checkpointer.problem?.code == .full)
        try checkpointer.close(before: db)
        try db.close()
        // What was not synced may be missing on the disk: here all but the first page.
        try FileHandle(forWritingTo: URL(fileURLWithPath: path)).truncate(atOffset: 4_096)
        let next = try Storage.SQLiteConnection(path)
        try next.checkpoint(SQLITE_CHECKPOINT_TRUNCATE, busyMilliseconds: 0)
        #expect(try next.session.number("SELECT count(*) FROM bulk") == 6)
        #expect(try next.text("PRAGMA integrity_check") == "ok")
        try next.close()
        #expect(try directory.size("moved.db") > 16_000_000)
    }
}
