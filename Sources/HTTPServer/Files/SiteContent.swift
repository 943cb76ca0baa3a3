import Crypto
import Primitives
import Synchronization

/// A file as it is served: its bytes, and their gzip form. All responses with the file refer to one object.
package final class SiteContent: Sendable {
    struct Variant: Sendable {
        let bytes: [UInt8]
        /// Strong: a hash of the bytes, so that variants differ and all instances agree.
        let tag: String

        init(_ bytes: [UInt8]) {
            self.bytes = bytes
            tag = "\"" + SHA256.hash(data: bytes).prefix(16).hexadecimal + "\""
        }
    }

    let type: String
    let plain: Variant
    /// Nil if gzip makes it no smaller.
    let gzip: Variant?
    /// When the file was last changed, in seconds since 1970; nil if that is not known.
    let modified: Int?

    /// - Parameter precompressed: The content of the file's `.gz`.
    package init(path: String, _ bytes: [UInt8], modified: Int?, precompressed: [UInt8]?) {
        type = MediaTypes.type(ofFileNamed: path.split(ascii: "/").last.map(String.init) ?? path)
        plain = Variant(bytes)
        self.modified = modified
        if let precompressed {
            gzip = Variant(precompressed)
        } else if bytes.count >= Gzip.worthwhileBytes, bytes.count <= Gzip.maximumBytes,
            MediaTypes.isCompressible(type), let coded = Gzip.compress(bytes, .thorough), coded.count < bytes.count
        {
            gzip = Variant(coded)
        } else {
            gzip = nil
        }
    }

    /// Whether the other one would be served in the same way, except for its time.
    func hasBytes(of other: SiteContent) -> Bool {
        type == other.type && plain.tag == other.plain.tag && gzip?.tag == other.gzip?.tag
    }

    package var byteCount: Int { plain.bytes.count + (gzip?.bytes.count ?? 0) }
}

/// Files that are part of the program. Each is read and compressed at its first request, and then kept.
public final class BuiltInFiles: Sendable {
    private let files: [String: @Sendable () -> [UInt8]]
    private let contents = Mutex<[String: SiteContent]>([:])

    /// - Parameter files: What reads a file, by its path without a slash at the beginning, such as `docs/index.html`.
    public init(_ files: [String: @Sendable () -> [UInt8]]) { self.files = files }

    func content(of path: String) -> SiteContent? {
        guard let read = files[path] else { return nil }
        if let kept = contents.withLock({ $0[path] }) { return kept }
        let content = SiteContent(path: path, read(), modified: nil, precompressed: nil)
        contents.withLock { $0[path] = content }
        return content
    }
}
