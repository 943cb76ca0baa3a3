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
        func mayChangeUnseen(at now: SiteFile.Moment) -> Bool {
            [file, precompressed].contains { version in
                guard let version else { return false }
                let justNow = now.seconds - 2...now.seconds + 2
                return justNow.contains(version.modified.seconds) || justNow.contains(version.changed.seconds)
            }
        }
    }

    private struct Entry {
        /// Nil if the file may have changed unseen.
        let versions: Versions?
        weak var content: SiteContent?
        var lastUse: UInt64
        /// The content, while it is cached.
        var kept: SiteContent?
    }

    private let maximumBytes: Int
    private let maximumCount: Int
    /// The content of each path that was read last.
    private var entries: [String: Entry] = [:]
    /// Of the cached contents.
    private(set) var byteCount = 0
    private var uses: UInt64 = 0

    init(maximumBytes: Int, maximumCount: Int) {
        self.maximumBytes = maximumBytes
        self.maximumCount = maximumCount
    }

    /// The number of cached contents.
    var count: Int { entries.values.count { $0.kept != nil } }

    /// The content of a file, if it is cached or in use, unless the file has changed.
    mutating func content(of path: String, _ versions: Versions) -> SiteContent? {
        guard let entry = entries[path], entry.versions == versions else { return nil }
        uses += 1
        entries[path]?.lastUse = uses
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
        forget(path)
        if entries.count >= 2 * maximumCount { entries = entries.filter { $0.value.content != nil } }
        uses += 1
        entries[path] = Entry(versions: versions, content: content, lastUse: uses)
        if versions != nil, content.byteCount <= maximumBytes, maximumCount > 0 { keep(content, of: path) }
        return content
    }

    /// Caches a content; the least recently used ones give way where there is no room.
    private mutating func keep(_ content: SiteContent, of path: String) {
        while byteCount + content.byteCount > maximumBytes || count >= maximumCount {
            let kept = entries.filter { $0.value.kept != nil }
            guard let oldest = kept.min(by: { $0.value.lastUse < $1.value.lastUse }) else { break }
            forget(oldest.key)
        }
        entries[path]?.kept = content
        byteCount += content.byteCount
    }

    /// Keeps the content of a path no longer than a response sends it.
    private mutating func forget(_ path: String) {
        byteCount -= entries[path]?.kept?.byteCount ?? 0
        entries[path]?.kept = nil
    }
}
