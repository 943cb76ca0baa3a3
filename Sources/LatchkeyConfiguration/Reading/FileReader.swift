internal import Glibc

/// Reads whole files. A loader is given one, so that tests need no disk.
public struct FileReader: Sendable {
    public struct Contents: Sendable {
        public var bytes: [UInt8]
        /// Whether every user of the machine may read the file.
        public var isReadableByAll: Bool

        public init(bytes: [UInt8], isReadableByAll: Bool = false) {
            self.bytes = bytes
            self.isReadableByAll = isReadableByAll
        }
    }

    public enum Failure: Error, Sendable, Hashable {
        case notFound
        case notRegular
        case tooLarge
        /// What the system said.
        case system(String)
    }

    private let readFile: @Sendable (String, Int) throws(Failure) -> Contents
    private let lookAtRights: @Sendable (String) -> Bool

    /// - Parameters:
    ///   - read: Is given a path and the number of bytes beyond which a file is too large.
    ///   - isReadableByAll: Is given a path.
    public init(
        _ read: @escaping @Sendable (String, Int) throws(Failure) -> Contents,
        isReadableByAll: @escaping @Sendable (String) -> Bool = { _ in false }
    ) {
        readFile = read
        lookAtRights = isReadableByAll
    }

    /// Whether there is a file that every user of the machine may read. The file is not opened: closing it would take away
    /// the locks that this process has on it, which matters with a database.
    public func isReadableByAll(_ path: String) -> Bool { lookAtRights(path) }

    public func contents(of path: String, limit: Int) throws(Failure) -> Contents { try readFile(path, limit) }

    /// Regular files of the file system. Blocks; meant for the start of a program.
    public static let system = FileReader { (path, limit) throws(Failure) in
        // Without O_NONBLOCK the opening of a pipe would wait for a writer, before it can be seen that it is one.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw failure(errno) }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw failure(errno) }
        guard status.st_mode & S_IFMT == S_IFREG else { throw .notRegular }
        let bytes = try readAll(descriptor, limit: limit)
        return Contents(bytes: bytes, isReadableByAll: status.st_mode & S_IROTH != 0)
    } isReadableByAll: { path in
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG && status.st_mode & S_IROTH != 0
    }

    private static func readAll(_ descriptor: CInt, limit: Int) throws(Failure) -> [UInt8] {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 16 * 1024)
        while true {
            let count = read(descriptor, &chunk, chunk.count)
            if count == 0 { return bytes }
            if count < 0 {
                let code = errno
                if code == EINTR { continue }
                throw failure(code)
            }
            bytes += chunk.prefix(count)
            guard bytes.count <= limit else { throw .tooLarge }
        }
    }

    private static func failure(_ code: CInt) -> Failure {
        code == ENOENT || code == ENOTDIR ? .notFound : .system(String(cString: strerror(code)))
    }
}

extension FileReader.Failure {
    /// What is wrong, after the name of the file.
    var reason: String {
        switch self {
        case .notFound: "does not exist"
        case .notRegular: "is not a regular file"
        case .tooLarge: "is too large"
        case .system(let text): "cannot be read (\(text))"
        }
    }
}
