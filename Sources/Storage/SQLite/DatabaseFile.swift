import Glibc
package import StorageModel

/// The database's file, before SQLite opens it.
///
/// SQLite itself would report "unable to open database file" for all of these problems, or open the file read-only.
package struct DatabaseFile {
    /// The path for SQLite, which gives a special meaning to paths that begin with `file:` or `:`.
    package let path: String

    package init(_ path: String) throws(StorageError) {
        guard !path.isEmpty, !path.utf8.contains(0) else {
            throw StorageError(.unavailable, reason: "the database path is empty or has a NUL character in it")
        }
        self.path = path.hasPrefix("/") ? path : "./" + path
    }

    /// Checks that the file can be read and written; makes an empty one with mode 0600 if it is missing. SQLite gives
    /// the files beside it the same mode.
    /// - Returns: Whether the file has content.
    func prepare() throws(StorageError) -> Bool {
        guard let size = try size() else {
            try create()
            return false
        }
        return size > 0
    }

    /// Its size in bytes, after a check that it can be read and written; nil if it is missing.
    package func size() throws(StorageError) -> Int64? {
        var status = stat()
        guard stat(path, &status) == 0 else {
            guard errno == ENOENT else { throw unavailable("cannot be looked at: \(lastProblem)") }
            return nil
        }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw unavailable(status.st_mode & S_IFMT == S_IFDIR ? "is a directory" : "is not a file")
        }
        // Checked without opening: closing a file releases the process's locks on it.
        guard access(path, R_OK | W_OK) == 0 else { throw unavailable("cannot be read and written: \(lastProblem)") }
        return Int64(status.st_size)
    }

    /// The free bytes on its disk, after a check that files can be made beside it, which SQLite needs.
    func freeBytes() throws(StorageError) -> UInt64 {
        let directory = Self.directory(of: path)
        guard access(directory, W_OK | X_OK) == 0 else {
            throw unavailable("cannot be kept: its directory cannot be written to: \(lastProblem)")
        }
        var status = statvfs()
        guard statvfs(directory, &status) == 0 else { throw unavailable("cannot be looked at: \(lastProblem)") }
        return UInt64(status.f_bavail).multipliedReportingOverflow(by: UInt64(status.f_frsize)).partialValue
    }

    package static func directory(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    /// Whether another process holds any of SQLite's locks on a database (https://www.sqlite.org/lockingv3.html), as
    /// every connection does that has read it.
    ///
    /// Call it before this process opens the database: closing a file releases the process's locks on it.
    package var isLockedByOthers: Bool {
        let descriptor = open(path, O_RDWR | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        var lock = flock()
        lock.l_type = Int16(F_WRLCK)
        lock.l_whence = Int16(SEEK_SET)
        lock.l_start = 0x4000_0000
        lock.l_len = 512
        guard fcntl(descriptor, F_GETLK, &lock) == 0 else { return false }
        return lock.l_type != Int16(F_UNLCK)
    }

    private func create() throws(StorageError) {
        let descriptor = open(path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0o600)
        if descriptor >= 0 {
            close(descriptor)
            return
        }
        switch errno {
        // Another process made it first; or it is a dangling link, through which SQLite would make a file that all may
        // read.
        case EEXIST:
            guard access(path, F_OK) == 0 else { throw unavailable("is a link to a file that is not there") }
        case ENOENT: throw unavailable("cannot be made: its directory does not exist; make that first")
        default: throw unavailable("cannot be made: \(lastProblem)")
        }
    }

    private var lastProblem: String { String(cString: strerror(errno)) }

    private func unavailable(_ problem: String) -> StorageError {
        StorageError(.unavailable, reason: "the database \(path) \(problem)")
    }
}

/// The file at a path: its size and its identity.
package struct FileAttributes: Hashable {
    private let device: UInt64
    private let number: UInt64
    package let size: Int64
    package let isRegular: Bool

    /// Nil if there is none.
    package init?(_ path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        device = UInt64(status.st_dev)
        number = UInt64(status.st_ino)
        size = Int64(status.st_size)
        isRegular = status.st_mode & S_IFMT == S_IFREG
    }

    package func isSameFile(as other: FileAttributes) -> Bool { device == other.device && number == other.number }
}
