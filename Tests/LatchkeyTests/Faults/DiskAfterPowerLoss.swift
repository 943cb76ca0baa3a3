import Foundation

/// The disk of a recorded program, and what is on it if the power fails at one moment.
///
/// Only what was synced is certain. Of later writes any 512-byte sector may be there or missing, in any order. Names
/// are certain when their folder was synced; of later changes to names the first ones may be there. What a failed sync
/// should have written is not written by a later sync: Linux takes it for clean
/// (https://wiki.postgresql.org/wiki/Fsync_Errors).
struct DiskAfterPowerLoss {
    /// What happens to changes that were not synced.
    enum Survival: CaseIterable {
        case nothing, everything, anySectors, firstChanges, lastChanges
    }

    fileprivate struct Change {
        enum Kind {
            case write(Data)
            case truncation
        }

        let number: UInt64
        let kind: Kind
        /// Where a write begins; the size after a truncation.
        let offset: Int
    }

    fileprivate struct File {
        var synced: [UInt8] = []
        var changes: [Change] = []
        /// Sectors that a failed sync may have written, by their place.
        var doubtful: [Int: Data] = [:]
    }

    private struct NameChange {
        let number: UInt64
        let path: String
        /// Nil removes the name.
        let file: Int?
    }

    private static let sector = 512

    private let trace: DiskTrace
    private var next = 0
    private var files: [File] = []
    /// The present file of each file number.
    private var numbers: [UInt64: Int] = [:]
    /// The names as the program sees them.
    private var names: [String: Int] = [:]
    private var syncedNames: [String: Int] = [:]
    private var nameChanges: [NameChange] = []

    /// The disk when the recording began; all of it was synced.
    init(_ trace: DiskTrace) {
        self.trace = trace
        for former in trace.former {
            files.append(File(synced: Array(former.content)))
            numbers[former.file] = files.count - 1
            names[former.path] = files.count - 1
        }
        syncedNames = names
    }

    // MARK: Time

    /// Goes on to the moment before the event with a number.
    mutating func advance(to moment: UInt64) {
        while next < trace.events.count, trace.events[next].number < moment {
            follow(trace.events[next])
            next += 1
        }
    }

    private mutating func follow(_ event: DiskTrace.Event) {
        switch event.kind {
        case .made:
            files.append(File())
            numbers[event.file] = files.count - 1
            name(event.path, files.count - 1, event)
        case .written: change(event, .write(event.content))
        case .truncated: change(event, .truncation)
        case .syncBegan: break
        case .synced where event.path == trace.folder: syncNames(before: UInt64(event.offset))
        case .synced: if let file = numbers[event.file] { sync(file, before: UInt64(event.offset)) }
        case .syncFailed:
            if let file = numbers[event.file] { failSync(file, before: UInt64(event.offset)) }
        case .removed: name(event.path, nil, event)
        case .renamed:
            let file = names[event.path]
            name(event.path, nil, event)
            name(String(decoding: event.content, as: UTF8.self), file, event)
        case .linked: name(String(decoding: event.content, as: UTF8.self), names[event.path], event)
        }
    }

    private mutating func name(_ path: String, _ file: Int?, _ event: DiskTrace.Event) {
        names[path] = file
        nameChanges.append(NameChange(number: event.number, path: path, file: file))
    }

    private mutating func change(_ event: DiskTrace.Event, _ kind: Change.Kind) {
        guard let file = numbers[event.file] else { return }
        files[file].changes.append(Change(number: event.number, kind: kind, offset: event.offset))
    }

    private mutating func syncNames(before number: UInt64) {
        let count = nameChanges.prefix { $0.number < number }.count
        for change in nameChanges.prefix(count) { syncedNames[change.path] = change.file }
        nameChanges.removeFirst(count)
    }

    private mutating func sync(_ index: Int, before number: UInt64) {
        let count = files[index].changes.prefix { $0.number < number }.count
        for change in files[index].changes.prefix(count) { files[index].apply(change) }
        files[index].changes.removeFirst(count)
    }

    private mutating func failSync(_ index: Int, before number: UInt64) {
        let count = files[index].changes.prefix { $0.number < number }.count
        for change in files[index].changes.prefix(count) {
            for part in change.sectors(Self.sector) { files[index].doubtful[part.place] = part.content }
        }
        files[index].changes.removeFirst(count)
    }

    // MARK: Content

    /// Writes what may be on the disk into an empty folder.
    /// - Parameter random: Decides which parts of what was not synced are there.
    func write(to folder: String, _ survival: Survival, _ random: inout some RandomNumberGenerator)
        throws
    {
        var names = syncedNames
        let surviving =
            switch survival {
            case .nothing, .lastChanges: 0
            case .everything: nameChanges.count
            case .anySectors, .firstChanges: Int.random(in: 0...nameChanges.count, using: &random)
            }
        for change in nameChanges.prefix(surviving) { names[change.path] = change.file }
        for (path, file) in names.sorted(by: { $0.key < $1.key }) {
            let content = content(of: files[file], survival, &random)
            let name = path.dropFirst(trace.folder.utf8.count + 1)
            try Data(content).write(to: URL(fileURLWithPath: "\(folder)/\(name)"))
        }
    }

    private func content(
        of file: File, _ survival: Survival, _ random: inout some RandomNumberGenerator
    ) -> [UInt8] {
        var content = file.synced
        // Where nothing was written yet, a file system may have zeros or anything.
        let gap: UInt8 = Bool.random(using: &random) ? 0 : 0xA5
        for (place, sector) in file.doubtful.sorted(by: { $0.key < $1.key })
        where survival == .everything || (survival != .nothing && Bool.random(using: &random)) {
            content.write(sector, at: place, gap: gap)
        }
        let changes = file.changes
        let edge = Int.random(in: 0...changes.count, using: &random)
        for (place, change) in changes.enumerated() {
            switch survival {
            case .nothing: break
            case .everything: content.apply(change.kind, change.offset, gap)
            case .firstChanges where place < edge, .lastChanges where place >= edge:
                content.apply(change.kind, change.offset, gap)
            // The power failed during this write.
            case .firstChanges where place == edge, .anySectors:
                guard case .write = change.kind else {
                    if Bool.random(using: &random) { content.apply(change.kind, change.offset, gap) }
                    continue
                }
                for part in change.sectors(Self.sector) where Bool.random(using: &random) {
                    content.write(part.content, at: part.place, gap: gap)
                }
            case .firstChanges, .lastChanges: break
            }
        }
        return content
    }
}

extension DiskAfterPowerLoss.Change {
    /// The parts of a write that lie in one sector each.
    fileprivate func sectors(_ size: Int) -> [(place: Int, content: Data)] {
        guard case .write(let content) = kind else { return [] }
        var (parts, place): ([(Int, Data)], Int) = ([], offset)
        while place < offset + content.count {
            let end = min((place / size + 1) * size, offset + content.count)
            parts.append((place, content.dropFirst(place - offset).prefix(end - place)))
            place = end
        }
        return parts
    }
}

extension DiskAfterPowerLoss.File {
    /// Applies a change that was synced.
    fileprivate mutating func apply(_ change: DiskAfterPowerLoss.Change) {
        let end: Int
        switch change.kind {
        case .write(let content): end = change.offset + content.count
        case .truncation: end = .max
        }
        for (place, sector) in doubtful where place < end && place + sector.count > change.offset {
            // A page that is written again takes with it what is in memory for the rest of its sectors.
            if place < change.offset || place + sector.count > end {
                synced.write(sector, at: place, gap: 0)
            }
            doubtful[place] = nil
        }
        synced.apply(change.kind, change.offset, 0)
    }
}

extension [UInt8] {
    fileprivate mutating func apply(
        _ kind: DiskAfterPowerLoss.Change.Kind, _ offset: Int, _ gap: UInt8
    ) {
        switch kind {
        case .write(let content): write(content, at: offset, gap: gap)
        case .truncation where offset < count: removeLast(count - offset)
        case .truncation: append(contentsOf: repeatElement(0, count: offset - count))
        }
    }

    fileprivate mutating func write(_ content: Data, at place: Int, gap: UInt8) {
        if count < place { append(contentsOf: repeatElement(gap, count: place - count)) }
        let overlap = Swift.min(count - place, content.count)
        withUnsafeMutableBytes { bytes in
            content.prefix(overlap).withUnsafeBytes { content in
                UnsafeMutableRawBufferPointer(rebasing: bytes[place..<(place + overlap)]).copyMemory(
                    from: content)
            }
        }
        append(contentsOf: content.dropFirst(overlap))
    }
}
