import CLatchkeySystem
import EventLoops
import Glibc
import Primitives

/// An open regular file below a site's folder.
package struct SiteFile: ~Copyable {
    /// Differs once a file has changed.
    package struct Version: Hashable {
        let device: UInt64
        let number: UInt64
        let size: Int
        let modified: Moment
        let changed: Moment

        package init(device: UInt64, number: UInt64, size: Int, modified: Moment, changed: Moment) {
            self.device = device
            self.number = number
            self.size = size
            self.modified = modified
            self.changed = changed
        }
    }

    package struct Moment: Hashable, Comparable {
        let seconds: Int
        let nanoseconds: Int

        package init(seconds: Int, nanoseconds: Int) {
            self.seconds = seconds
            self.nanoseconds = nanoseconds
        }

        package static func < (left: Moment, right: Moment) -> Bool {
            (left.seconds, left.nanoseconds) < (right.seconds, right.nanoseconds)
        }
    }

    enum Failure: Error {
        /// No such file, or one that is never served.
        case missing
        /// The system refuses access.
        case unreadable(SystemError)
    }

    let version: Version
    private let descriptor: Int32

    /// Opens a file.
    /// - Parameters:
    ///   - path: Without a slash at its beginning; see ``SitePath``.
    ///   - folder: Opened each time, so that a replaced folder takes effect at once.
    init(_ path: String, in folder: String) throws(Failure) {
        let parent = csystem_open_folder(folder)
        guard parent >= 0 else { throw Self.failure() }
        let descriptor = csystem_open_beneath(parent, path)
        let failure = descriptor < 0 ? Self.failure() : .missing
        SystemCalls.closeDescriptor(parent)
        guard descriptor >= 0 else { throw failure }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            SystemCalls.closeDescriptor(descriptor)
            throw .missing
        }
        self.descriptor = descriptor
        version = Version(status)
    }

    deinit { SystemCalls.closeDescriptor(descriptor) }

    /// All bytes; nil if there are more than `limit`, or reading fails.
    func read(limit: Int) -> [UInt8]? {
        guard version.size <= limit else { return nil }
        var bytes: [UInt8] = []
        var isWhole = true
        // One byte more than expected, to notice growth.
        while isWhole {
            let room = max(version.size + 1 - bytes.count, 4096)
            let chunk = [UInt8](unsafeUninitializedCapacity: room) { buffer, count in
                var result = -1
                repeat { result = Glibc.read(descriptor, buffer.baseAddress, room) } while result < 0 && errno == EINTR
                count = max(0, result)
                isWhole = result >= 0
            }
            if chunk.isEmpty { break }
            bytes += chunk
            guard bytes.count <= limit else { return nil }
        }
        return isWhole ? bytes : nil
    }

    private static func failure() -> Failure {
        let error = SystemError.last("open")
        switch error.number {
        // EXDEV and ELOOP: a symbolic link that leads out of the folder. ENXIO: a socket.
        case ENOENT, ENOTDIR, EXDEV, ELOOP, ENAMETOOLONG, ENXIO, EISDIR: return .missing
        default: return .unreadable(error)
        }
    }
}

extension SiteFile.Version {
    fileprivate init(_ status: stat) {
        device = UInt64(status.st_dev)
        number = UInt64(status.st_ino)
        size = Int(status.st_size)
        modified = .init(status.st_mtim)
        changed = .init(status.st_ctim)
    }
}

extension SiteFile.Moment {
    fileprivate init(_ time: timespec) {
        self.init(seconds: Int(time.tv_sec), nanoseconds: Int(time.tv_nsec))
    }

    static func now() -> SiteFile.Moment {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return SiteFile.Moment(time)
    }
}

/// Maps request paths to files.
package enum SitePath {
    /// The relative path of the file: `index.html` for a path that ends in a slash. Nil for paths that are never
    /// served: with a segment that is empty or begins with a dot, except a first one `.well-known` (RFC 8615), or with
    /// bytes that a request's path cannot have.
    package static func file(_ path: String) -> String? {
        guard path.utf8.first == UInt8(ascii: "/"),
            path.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F && $0 != UInt8(ascii: "\\") })
        else { return nil }
        var segments = path.split(ascii: "/", omittingEmptySubsequences: false).dropFirst()
        if segments.last == "" { segments[segments.endIndex - 1] = "index.html" }
        for (index, segment) in segments.enumerated() {
            guard !segment.isEmpty else { return nil }
            guard !segment.utf8.starts(with: ".".utf8) || (index == 0 && segment == ".well-known") else { return nil }
        }
        return segments.joined(separator: "/")
    }
}
