import Primitives

/// Caches contents of small files until the files change. Bounded by bytes and by number.
///
/// It also finds contents that it does not keep, while a response still sends them: of each version of a file there is
/// one content in memory, however many clients read it slowly.
struct SiteCache {
    /// The versions of a file and its `.gz` when they were read.
    struct Versions: Hashable {
        let file: SiteFile.Version
        let precompressed: SiteFile.Version?

        /// Whether a second write at the same time could leave the same version: file systems record times in steps of
        /// some milliseconds, some of two seconds.
        func mayChangeUnseen(at now: Timestamp) -> Bool {
            let justNow = now.secondsSinceEpoch - 2...now.secondsSinceEpoch + 2
            return [file, precompressed].compactMap(\.self).contains { version in
                [version.modified, version.changed].contains { justNow.contains($0.components.seconds) }
            }
        }
    }

    private struct Entry {
        /// Nil if the file may have changed unseen.
        let versions: Versions?
        weak var content: SiteContent?
    }

    private let maximumBytes: Int
    private let maximumCount: Int
    /// The content of each path that was read last.
    private var entries: [String: Entry] = [:]
    /// The cached contents by their sizes in bytes. Each use makes one the newest.
    private var kept: BoundedCache<String, SiteContent>

    init(maximumBytes: Int, maximumCount: Int) {
        self.maximumBytes = maximumBytes
        self.maximumCount = maximumCount
        kept = BoundedCache(capacity: maximumBytes)
    }

    var count: Int { kept.count }
    var byteCount: Int { kept.weight }

    /// The content of a file, if it is cached or in use, unless the file has changed.
    mutating func content(of path: String, _ versions: Versions) -> SiteContent? {
        guard let entry = entries[path], entry.versions == versions else { return nil }
        if let content = kept[path] { kept.put(content, for: path, weighing: content.byteCount) }
        return entry.content
    }

    /// Notes a content that was read just now, and caches it if the file cannot change unseen.
    /// - Parameter versions: Nil if the file may change unseen.
    /// - Returns: The former content of the path, if it is the same and still in use; else the new one.
    @discardableResult
    mutating func add(_ read: SiteContent, of path: String, _ versions: Versions?) -> SiteContent {
        let former = entries[path]?.content
        let isSame = former.map { $0.hasBytes(of: read) && $0.modified == read.modified } ?? false
        let content = isSame ? former ?? read : read
        kept.remove(path)
        if entries.count >= 2 * maximumCount { entries = entries.filter { $0.value.content != nil } }
        entries[path] = Entry(versions: versions, content: content)
        if versions != nil, content.byteCount <= maximumBytes, maximumCount > 0 {
            while count >= maximumCount { kept.removeOldest() }
            kept.put(content, for: path, weighing: content.byteCount)
        }
        return content
    }
}
