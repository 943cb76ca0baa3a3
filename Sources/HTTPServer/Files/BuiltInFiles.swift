import Primitives
import Synchronization

/// Files that are part of the program. Each is read and compressed at its first request, and then kept.
public final class BuiltInFiles: Sendable {
    private let files: [String: @Sendable () -> [UInt8]]
    private let contents = Mutex<[String: SiteContent]>([:])

    /// - Parameter files: What reads a file, by its path without a slash at the beginning, such as `docs/index.html`.
    public init(_ files: [String: @Sendable () -> [UInt8]]) { self.files = files }

    /// The paths of all files.
    public var paths: Set<String> { Set(files.keys) }

    func content(of path: String) -> SiteContent? {
        guard let read = files[path] else { return nil }
        if let kept = contents.withLock({ $0[path] }) { return kept }
        let name = path.split(ascii: "/").last.map(String.init) ?? path
        let content = SiteContent(name: name, read(), modified: nil, precompressed: nil)
        contents.withLock { $0[path] = content }
        return content
    }
}
