internal import Glibc

/// Reads whole files. Injected, so that tests need no disk.
public struct FileReader: Sendable {
    public struct Contents: Sendable {
        public var bytes: [UInt8]
        /// Whether every user of the machine can read the file.
        public var isReadableByAll: Bool

        /// The contents of a file that only its owner can read, unless said otherwise.
        public init(bytes: [UInt8], isReadableByAll: Bool = false) {
            self.bytes = bytes
            self.isReadableByAll = isReadableByAll
        }
    }

    /// Why a file cannot be read.
    public enum ReadError: Error, Sendable, Hashable {
        /// There is no file of this name.
        case notFound
        /// It is a directory, a pipe or a device.
        case notRegular
        /// It has more bytes than allowed.
        case tooLarge
        /// The system's error.
        case system(String)
    }

    private let readFile: @Sendable (String, Int) throws(ReadError) -> Contents
    private let checkPermissions: @Sendable (String) -> Bool

    /// - Parameters:
    ///   - read: Takes a path and the largest size in bytes.
    ///   - isReadableByAll: Takes a path.
    public init(
        _ read: @escaping @Sendable (String, Int) throws(ReadError) -> Contents,
        isReadableByAll: @escaping @Sendable (String) -> Bool = { _ in false }
    ) {
        readFile = read
        checkPermissions = isReadableByAll
    }

    /// Whether every user of the machine can read a file; false if it is missing. The file is not opened: closing it
    /// would release the locks that this process holds on it (a database).
    public func isReadableByAll(_ path: String) -> Bool { checkPermissions(path) }

    /// The contents of a file of at most `limit` bytes, without the byte order mark that editors of Windows put before
    /// UTF-8.
    public func contents(of path: String, limit: Int) throws(ReadError) -> Contents {
        var contents = try readFile(path, limit)
        if contents.bytes.starts(with: [0xEF, 0xBB, 0xBF]) { contents.bytes.removeFirst(3) }
        return contents
    }

    /// The text of a file's bytes.
    /// - Throws: Why they are none, and what to do.
    static func text(of bytes: some Collection<UInt8>) throws(InvalidValueError) -> String {
        let beginning = Array(bytes.prefix(2))
        try require(
            beginning != [0xFF, 0xFE] && beginning != [0xFE, 0xFF] && !beginning.contains(0), else: "is in UTF-16",
            "save it in UTF-8")
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw InvalidValueError("is not UTF-8", "save it in UTF-8")
        }
        return text
    }

    /// Regular files of the file system. Blocks; for the start of a program.
    public static let system = FileReader { (path, limit) throws(ReadError) in
        // Without O_NONBLOCK, opening a pipe waits for a writer before fstat can refuse the pipe.
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

    /// The bytes of standard input.
    /// - Throws: `tooLarge` for more than `limit` bytes; `system` if it cannot be read.
    package static func standardInput(limit: Int) throws(ReadError) -> [UInt8] {
        try readAll(STDIN_FILENO, limit: limit)
    }

    private static func readAll(_ descriptor: CInt, limit: Int) throws(ReadError) -> [UInt8] {
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

    private static func failure(_ code: CInt) -> ReadError {
        code == ENOENT || code == ENOTDIR ? .notFound : .system(String(cString: strerror(code)))
    }
}

extension FileReader.ReadError {
    /// The predicate of a sentence whose subject is the file.
    var reason: String {
        switch self {
        case .notFound: "does not exist"
        case .notRegular: "is not a regular file"
        case .tooLarge: "is too large"
        case .system(let text): "cannot be read (\(text))"
        }
    }
}
