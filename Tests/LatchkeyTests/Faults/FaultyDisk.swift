import Foundation
import Glibc
import Synchronization
import TestSupport

/// A disk with faults for a program that a test runs, made by `Tests/Chaos/disk.c`: the program's own calls fail, are
/// slow, or are recorded. It concerns the files directly in one folder.
final class FaultyDisk: Sendable {
    /// The kinds of files that faults concern.
    struct Files: OptionSet, Sendable {
        let rawValue: UInt64

        /// SQLite's write-ahead log.
        static let log = Files(rawValue: 1)
        static let database = Files(rawValue: 2)
        /// The folder itself: its syncs, and the making, naming and removing of files.
        static let folder = Files(rawValue: 4)
        /// The index of the write-ahead log, which all processes share.
        static let index = Files(rawValue: 8)
        static let others = Files(rawValue: 16)
        static let all: Files = [.log, .database, .folder, .index, .others]
    }

    /// What a disk does wrong.
    struct Faults: Sendable {
        var concerned: Files = []
        /// Numbers of errno(3); 0 is success.
        var writeError: Int32 = 0
        var syncError: Int32 = 0
        var readError: Int32 = 0
        /// Whether syncs do nothing.
        var skipsSyncs = false
        var syncMilliseconds: UInt64 = 0
        /// Whether writes do nothing, except that files become longer.
        var skipsWrites = false
        /// By how many bytes the files may grow, all together; nil for no limit.
        var room: Int64?
    }

    struct NotMade: Error, CustomStringConvertible {
        let description: String
    }

    /// The fields of `struct control`.
    private enum Field: Int {
        case events, concerned, writeError, syncError, readError, skipsSyncs, syncMilliseconds,
            skipsWrites
        case isLimited, room, faults
    }

    private nonisolated(unsafe) let control: UnsafeMutablePointer<Atomic<UInt64>>
    private let own: TemporaryDirectory
    private let library: String
    private let folder: String
    private let isRecording: Bool
    private let former: [DiskTrace.FormerFile]

    /// - Parameter folder: The absolute path of the folder, as the program names it.
    init(_ folder: String, isRecording: Bool = false) throws {
        library = try Self.library.get()
        own = try TemporaryDirectory()
        self.folder = folder
        self.isRecording = isRecording
        former = isRecording ? try DiskTrace.FormerFile.all(in: folder) : []
        let descriptor = open(own.file("control"), O_CREAT | O_RDWR | O_CLOEXEC, 0o600)
        defer { close(descriptor) }
        guard descriptor >= 0, ftruncate(descriptor, 4_096) == 0,
            let page = mmap(nil, 4_096, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0),
            page != MAP_FAILED
        else { throw NotMade(description: "the shared page cannot be made") }
        control = page.assumingMemoryBound(to: Atomic<UInt64>.self)
    }

    deinit { munmap(control, 4_096) }

    /// For the program.
    var environment: [String: String] {
        var names = [
            "LD_PRELOAD": library, "LATCHKEY_DISK_FOLDER": folder,
            "LATCHKEY_DISK_CONTROL": own.file("control"),
        ]
        if isRecording { names["LATCHKEY_DISK_TRACE"] = own.file("trace") }
        return names
    }

    func trace() throws -> DiskTrace {
        try DiskTrace(
            Data(contentsOf: URL(fileURLWithPath: own.file("trace"))), folder: folder, former: former)
    }

    /// How many events have been recorded. Events with this number or a later one have not begun.
    var events: UInt64 { self[.events] }

    /// How many calls have met a fault.
    var met: UInt64 { self[.faults] }

    /// Sets the faults from now on.
    func set(_ faults: Faults) {
        self[.concerned] = 0
        self[.writeError] = UInt64(faults.writeError)
        self[.syncError] = UInt64(faults.syncError)
        self[.readError] = UInt64(faults.readError)
        self[.skipsSyncs] = faults.skipsSyncs ? 1 : 0
        self[.syncMilliseconds] = faults.syncMilliseconds
        self[.skipsWrites] = faults.skipsWrites ? 1 : 0
        self[.room] = UInt64(bitPattern: faults.room ?? 0)
        self[.isLimited] = faults.room == nil ? 0 : 1
        self[.concerned] = faults.concerned.rawValue
    }

    private subscript(field: Field) -> UInt64 {
        get { control[field.rawValue].load(ordering: .sequentiallyConsistent) }
        set { control[field.rawValue].store(newValue, ordering: .sequentiallyConsistent) }
    }

    /// The path of the compiled library, for all tests of this process.
    private static let library: Result<String, any Error> = Result {
        let path = Repository.path(".build/latchkey-disk-\(getpid()).so")
        let compiler = Process()
        compiler.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        compiler.arguments = [
            "clang", "-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror", "-o", path,
            Repository.path("Tests/Chaos/disk.c"),
        ]
        try compiler.run()
        compiler.waitUntilExit()
        guard compiler.terminationStatus == 0 else {
            throw NotMade(description: "disk.c cannot be compiled")
        }
        atexit { unlink(Repository.path(".build/latchkey-disk-\(getpid()).so")) }
        return path
    }
}
