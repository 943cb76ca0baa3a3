import Foundation

/// What a program did with the files of a folder, as `Tests/Chaos/disk.c` recorded it.
struct DiskTrace: Sendable {
    enum Kind: UInt64 {
        case made = 1
        case written, truncated, syncBegan, synced, syncFailed, removed, renamed, linked
    }

    struct Event: Sendable {
        let number: UInt64
        let kind: Kind
        /// The file's number. Another file may get it once this one was removed.
        let file: UInt64
        let path: String
        /// Where a write begins; the size after a truncation; the number of the event at which a sync began.
        let offset: Int
        /// What was written; for a renamed or linked file, its other path.
        let content: Data
    }

    /// A file that was there when the recording began.
    struct FormerFile: Sendable {
        let path: String
        let file: UInt64
        let content: Data

        static func all(in folder: String) throws -> [FormerFile] {
            try FileManager.default.contentsOfDirectory(atPath: folder).map { name in
                let path = "\(folder)/\(name)"
                let number =
                    try FileManager.default.attributesOfItem(atPath: path)[.systemFileNumber] as? NSNumber
                return FormerFile(
                    path: path, file: number?.uint64Value ?? 0,
                    content: try Data(contentsOf: URL(fileURLWithPath: path)))
            }
        }
    }

    struct Unreadable: Error {}

    let folder: String
    let former: [FormerFile]
    let events: [Event]

    init(_ bytes: Data, folder: String, former: [FormerFile]) throws {
        self.folder = folder
        self.former = former
        var (events, place): ([Event], Int) = ([], 0)
        while place < bytes.count {
            guard place + 48 <= bytes.count else { throw Unreadable() }
            let head = bytes.withUnsafeBytes { bytes in
                (0..<6).map { bytes.loadUnaligned(fromByteOffset: place + 8 * $0, as: UInt64.self) }
            }
            let (path, content) = (place + 48, place + 48 + Int(head[4]))
            let end = content + Int(head[5])
            guard end <= bytes.count, let kind = Kind(rawValue: head[1]) else { throw Unreadable() }
            events.append(
                Event(
                    number: head[0], kind: kind, file: head[2],
                    path: String(decoding: bytes[path..<content], as: UTF8.self), offset: Int(head[3]),
                    content: bytes[content..<end]))
            place = end
        }
        self.events = events
    }
}
