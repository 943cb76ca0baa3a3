import Primitives
import StorageModel

/// Records in a ring of bytes, in the order in which they came, and a table of their places by token.
///
/// The ring grows by half, and the table by doubling, up to a maximum. Then, and once it is too old to be used, the
/// oldest record gives way.
struct SessionRing: ~Copyable {
    private static let smallest = 4096
    private static let fewestSlots = 32

    private let maximumBytes: Int
    private var bytes = UnsafeMutableRawPointer.allocate(byteCount: 0, alignment: 8)
    private var byteCount = 0
    /// Where the oldest record begins, and where the next one will.
    private var (head, tail) = (0, 0)
    /// Set while the records go on at the start of `bytes`: where those before that end.
    private var end: Int?
    /// How many records there are, also of tokens that were put in again later.
    private var recordCount = 0
    /// The places of records by token, at most three quarters full.
    private var table = PlaceTable()
    private var usedSlots = 0

    /// - Parameter maximumBytes: Of records and table; a sixteenth is the table's.
    init(maximumBytes: Int) {
        self.maximumBytes = max(Self.smallest, min(maximumBytes, Int(UInt32.max) / 2) / 16 * 15)
    }

    deinit { bytes.deallocate() }

    var allocatedBytes: Int { byteCount + table.allocatedBytes }

    /// The record that was last put in for a token. Valid until the ring changes.
    func record(of token: TokenHash) -> SessionRecord? {
        slot(of: token).map { record(at: table.place(in: $0)) }
    }

    mutating func put(_ found: SessionAndUser, for token: TokenHash, generation: UInt32, readAt: Timestamp) {
        let draft = SessionRecord.Draft(found)
        // A profile that is out of the ordinary must not push out all others.
        guard draft.length <= maximumBytes / 4 else { return }
        removeOld(at: readAt)
        makeRoom(for: draft.length)
        draft.write(to: bytes + tail, for: token, generation: generation, readAt: readAt)
        setPlace(tail, of: token)
        tail += draft.length
        recordCount += 1
    }

    mutating func removeAll() {
        bytes.deallocate()
        bytes = UnsafeMutableRawPointer.allocate(byteCount: 0, alignment: 8)
        byteCount = 0
        (head, tail, end, recordCount) = (0, 0, nil, 0)
        (table, usedSlots) = (PlaceTable(), 0)
    }

    // MARK: The ring

    private func record(at place: Int) -> SessionRecord {
        SessionRecord(at: UnsafeRawPointer(bytes + place))
    }

    /// The bytes of the records.
    var usedBytes: Int { end.map { $0 - head + tail } ?? tail - head }

    /// Removes the records that are too old to be used.
    mutating func removeOld(at now: Timestamp) {
        while recordCount > 0, record(at: head).isOld(at: now) { removeOldest() }
        if byteCount > Self.smallest, usedBytes < byteCount / 8 { resize(to: byteCount / 4) }
    }

    /// Makes `tail` the place of `length` free bytes in one piece.
    private mutating func makeRoom(for length: Int) {
        while true {
            if recordCount == 0 { (head, tail, end) = (0, 0, nil) }
            if end == nil {
                if byteCount - tail >= length { return }
                if head >= length {
                    (end, tail) = (tail, 0)
                    return
                }
            } else if head - tail >= length {
                return
            }
            if byteCount < maximumBytes {
                let larger = byteCount + max(byteCount / 2, 4 * length)
                resize(to: min(maximumBytes, max(Self.smallest, larger)))
            } else {
                removeOldest()
            }
        }
    }

    private mutating func removeOldest() {
        let oldest = record(at: head)
        clearPlace(head, of: oldest)
        head += oldest.length
        recordCount -= 1
        if head == end { (head, end) = (0, nil) }
    }

    /// Moves the records into a ring of another size, which has room for them.
    private mutating func resize(to count: Int) {
        let new = UnsafeMutableRawPointer.allocate(byteCount: count, alignment: 8)
        let used = usedBytes
        let first = (end ?? tail) - head
        new.copyMemory(from: bytes + head, byteCount: first)
        if end != nil { (new + first).copyMemory(from: bytes, byteCount: tail) }
        bytes.deallocate()
        (bytes, byteCount) = (new, count)
        (head, tail, end) = (0, used, nil)
        rebuildSlots()
    }

    // MARK: The table

    /// The hashes of valid tokens are distributed evenly: an attacker cannot choose them.
    private func slot(of token: TokenHash) -> Int? {
        table.slot(of: token.number) { record(at: $0).isOf(token) }
    }

    private mutating func rebuildSlots() {
        (table, usedSlots) = (PlaceTable(), 0)
        var place = 0
        for _ in 0..<recordCount {
            let record = record(at: place)
            if let token = TokenHash(record.token) { setPlace(place, of: token) }
            place += record.length
        }
    }

    private mutating func setPlace(_ place: Int, of token: TokenHash) {
        if let slot = slot(of: token) { return table.replace(slot, by: place) }
        if 4 * (usedSlots + 1) > 3 * table.size { growTable() }
        table.insert(place, token.number)
        usedSlots += 1
    }

    private mutating func growTable() {
        var larger = PlaceTable(size: max(Self.fewestSlots, 2 * table.size))
        table.forEachPlace { larger.insert($0, record(at: $0).tokenNumber) }
        table = larger
    }

    /// Removes a record's place, unless its token was put in again later.
    private mutating func clearPlace(_ place: Int, of record: SessionRecord) {
        guard let slot = table.slot(of: record.tokenNumber, where: { $0 == place }) else { return }
        usedSlots -= 1
        table.clear(slot) { [bytes] in SessionRecord(at: UnsafeRawPointer(bytes + $0)).tokenNumber }
    }
}
