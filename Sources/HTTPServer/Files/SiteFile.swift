import CLatchkeySystem
import EventLoops
import Glibc
import Primitives

/// An open regular file below a site's folder.
final class SiteFile {
    /// Differs once a file has changed.
    struct Version: Hashable {
        let device: UInt64
        let number: UInt64
        let size: Int
        /// Since 1970.
        let modified: Duration
        let changed: Duration
    }

    enum OpenError: Error {
        /// No such file, or one that is never served.
        case missing
        case unreadable(SystemError)
    }

    let version: Version
    private let descriptor: Int32

    /// Opens a file.
    /// - Parameters:
    ///   - path: Without a slash at its beginning; see ``SitePath``.
    ///   - folder: Opened each time, so that a replaced folder takes effect at once.
    init(_ path: String, in folder: String) throws(OpenError) {
        let parent = csystem_open_folder(folder)
        guard parent >= 0 else { throw Self.failure() }
        defer { SystemCalls.closeDescriptor(parent) }
        let descriptor = try Self.open(path, in: parent)
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

    /// Opens a file, through symbolic links only if its own name is not hidden.
    private static func open(_ path: String, in folder: Int32) throws(OpenError) -> Int32 {
        let direct = csystem_open_without_links(folder, path)
        guard direct < 0 else { return direct }
        guard errno == ELOOP || errno == ENOTDIR else { throw failure() }
        let linked = csystem_open_beneath(folder, path)
        guard linked >= 0 else { throw failure() }
        guard let name = Self.path(of: linked, below: folder), SitePath.mayLinkTo(name) else {
            SystemCalls.closeDescriptor(linked)
            throw .missing
        }
        return linked
    }

    /// The path of an open file below a folder, without links; nil if the system does not tell it.
    private static func path(of file: Int32, below folder: Int32) -> ArraySlice<UInt8>? {
        guard let file = path(of: file), var start = path(of: folder) else { return nil }
        if start.last != UInt8(ascii: "/") { start.append(UInt8(ascii: "/")) }
        return file.starts(with: start) ? file[start.count...] : nil
    }

    private static func path(of descriptor: Int32) -> [UInt8]? {
        let room = Int(PATH_MAX)
        var isWhole = false
        let path = [UInt8](unsafeUninitializedCapacity: room) { buffer, count in
            let found = buffer.withMemoryRebound(to: CChar.self) { buffer in
                buffer.baseAddress.map { readlink("/proc/self/fd/\(descriptor)", $0, room) } ?? -1
            }
            count = max(0, found)
            isWhole = found > 0 && found < room
        }
        return isWhole ? path : nil
    }

    private static func failure() -> OpenError {
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
        modified = Duration(status.st_mtim)
        changed = Duration(status.st_ctim)
    }
}

extension Duration {
    fileprivate init(_ time: timespec) { self = .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec) }
}

package enum SitePath {
    /// Of a request's path. Many short segments would cost anyone's time.
    private static let maximumBytes = 1024

    /// The relative path of the file: `index.html` for a path that ends in a slash. Nil for paths that are never
    /// served: with a segment that is empty or begins with a dot, except a first one `.well-known` (RFC 8615), or with
    /// bytes that a request's path cannot have; and for paths of more than 1024 bytes.
    package static func file(_ path: String) -> String? {
        guard path.utf8.first == UInt8(ascii: "/"), path.utf8.count <= maximumBytes,
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

    /// Whether a link may lead to a path below the folder: to one without a name that begins with a dot. Folders may
    /// have names that begin with two: Kubernetes keeps the versions of a mounted config map in such.
    static func mayLinkTo(_ path: ArraySlice<UInt8>) -> Bool {
        var segments = path.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard let name = segments.popLast(), name.first != UInt8(ascii: ".") else { return false }
        return segments.enumerated().allSatisfy { index, segment in
            segment.first != UInt8(ascii: ".") || segment.starts(with: "..".utf8)
                || index == 0 && segment.elementsEqual(".well-known".utf8)
        }
    }
}
