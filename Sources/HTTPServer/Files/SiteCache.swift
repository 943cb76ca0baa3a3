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
        let versions: Versions
        let content: SiteContent
        var lastUse: UInt64
    }

    private struct Use {
        weak var content: SiteContent?
        /// Nil if the file may have changed unseen.
        let versions: Versions?
    }

    private let maximumBytes: Int
    private let maximumCount: Int
    private var entries: [String: Entry] = [:]
    private(set) var byteCount = 0
    private var uses: UInt64 = 0
    /// The content of each path that was read last.
    private var inUse: [String: Use] = [:]

    init(maximumBytes: Int, maximumCount: Int) {
        self.maximumBytes = maximumBytes
        self.maximumCount = maximumCount
    }

    var count: Int { entries.count }

    /// The cached content of a file, unless the file has changed.
    mutating func content(of path: String, _ versions: Versions) -> SiteContent? {
        guard let entry = entries[path], entry.versions == versions else {
            guard let use = inUse[path], use.versions == versions else { return nil }
            return use.content
        }
        uses += 1
        entries[path]?.lastUse = uses
        return entry.content
    }

    /// Notes a content that was read just now.
    /// - Parameter versions: Nil if the file may change unseen.
    /// - Returns: The former content of the path, if it is the same and still in use; else the new one.
    mutating func use(_ content: SiteContent, of path: String, _ versions: Versions?) -> SiteContent {
        if let former = inUse[path]?.content, former.hasBytes(of: content), former.modified == content.modified {
            return former
        }
        if inUse.count >= 2 * maximumCount { inUse = inUse.filter { $0.value.content != nil } }
        inUse[path] = Use(content: content, versions: versions)
        return content
    }

    /// Caches a content; evicts the least recently used where there is no room.
    mutating func keep(_ content: SiteContent, of path: String, _ versions: Versions) {
        forget(path)
        guard content.byteCount <= maximumBytes, maximumCount > 0 else { return }
        while byteCount + content.byteCount > maximumBytes || entries.count >= maximumCount {
            guard let oldest = entries.min(by: { $0.value.lastUse < $1.value.lastUse }) else { break }
            forget(oldest.key)
        }
        uses += 1
        entries[path] = Entry(versions: versions, content: content, lastUse: uses)
        byteCount += content.byteCount
    }

    mutating func forget(_ path: String) {
        guard let entry = entries.removeValue(forKey: path) else { return }
        byteCount -= entry.content.byteCount
    }
}
