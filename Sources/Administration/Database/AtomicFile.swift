import Glibc
import Primitives
import Storage
import StorageModel

/// Files that are written completely or not at all: written under a temporary name, flushed, and then renamed.
enum AtomicFile {
    /// Makes an empty temporary file with mode 0600 beside the final one.
    static func make(for path: String) throws(StorageError) -> String {
        let temporary = "\(path).part-\(RandomSource.system.token(bytes: 9))"
        let descriptor = open(temporary, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw unavailable(
                "the file \(path) cannot be made: \(errno == ENOENT ? "its directory does not exist" : said)")
        }
        close(descriptor)
        return temporary
    }

    /// Removes a temporary file, and the files that SQLite may have made beside it.
    static func discard(_ temporary: String) {
        for suffix in ["", "-journal", "-wal", "-shm"] { unlink(temporary + suffix) }
    }

    /// Flushes a temporary file to the disk and gives it its final name.
    /// - Parameter replaces: Whether an existing file is replaced; otherwise this fails.
    /// - Throws: Then there is no new file, unless it has replaced another and only the folder was not flushed.
    static func name(_ temporary: String, _ path: String, replaces: Bool) throws(StorageError) {
        try flush(temporary)
        if replaces {
            guard rename(temporary, path) == 0 else { throw unavailable("the file \(path) cannot be named: \(said)") }
        } else {
            // Unlike rename(2), link(2) fails if the file exists.
            guard link(temporary, path) == 0 else {
                throw unavailable(
                    errno == EEXIST ? "there is a file \(path)" : "the file \(path) cannot be named: \(said)")
            }
            unlink(temporary)
        }
        do {
            try flush(DatabaseFile.directory(of: path))
        } catch {
            if !replaces { unlink(path) }
            throw error
        }
    }

    /// Renames a file, if it exists.
    static func move(_ path: String, to other: String) throws(StorageError) {
        guard rename(path, other) == 0 || errno == ENOENT else {
            throw unavailable("the file \(path) cannot be moved: \(said)")
        }
    }

    /// Flushes a file or directory to the disk.
    /// - Parameter thenForgets: Whether the system forgets its content, so that the next read is from the disk.
    static func flush(_ path: String, thenForgets: Bool = false) throws(StorageError) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw unavailable("\(path) cannot be opened: \(said)") }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw StorageError(.full, reason: "\(path) cannot be written: \(said)") }
        // Only a request: a system that ignores it reads from memory.
        if thenForgets { _ = posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED) }
    }

    /// Copies a file's content into an existing empty file.
    static func copy(_ path: String, into target: String) throws(StorageError) {
        // Without O_NONBLOCK, opening a pipe would wait for a writer.
        let source = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard source >= 0 else { throw unavailable("the file \(path) cannot be read: \(said)") }
        defer { close(source) }
        let sink = open(target, O_WRONLY | O_CLOEXEC)
        guard sink >= 0 else { throw unavailable("the file \(target) cannot be written: \(said)") }
        defer { close(sink) }
        var buffer = [UInt8](repeating: 0, count: 1 << 20)
        while true {
            let count = read(source, &buffer, buffer.count)
            if count == 0 { return }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw unavailable("the file \(path) cannot be read: \(said)") }
            var rest = buffer[..<count]
            while !rest.isEmpty {
                let written = rest.withUnsafeBytes { write(sink, $0.baseAddress, $0.count) }
                guard written >= 0 || errno == EINTR else {
                    throw StorageError(.full, reason: "the file \(target) cannot be written: \(said)")
                }
                rest = rest.dropFirst(max(written, 0))
            }
        }
    }

    private static var said: String { String(cString: strerror(errno)) }

    private static func unavailable(_ reason: String) -> StorageError { StorageError(.unavailable, reason: reason) }
}
