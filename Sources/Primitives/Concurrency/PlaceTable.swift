/// A hash table whose elements are elsewhere, such as in the ring of a cache: it has their places, in four bytes each.
///
/// Linear probing: a search begins at the home of a hash, and ends at a free slot. The methods are inlinable, because
/// other modules call them on hot paths and would otherwise not specialise them.
@usableFromInline
package struct PlaceTable: Sendable {
    /// A place plus one, 0 for none.
    @usableFromInline var slots: [UInt32]

    /// - Parameter size: The number of slots, a power of two; 0 for a table that stays empty.
    @inlinable
    package init(size: Int = 0) { slots = [UInt32](repeating: 0, count: size) }

    /// The slot of a place; nil if there is none.
    /// - Parameter isSought: Whether a place with perhaps the same hash is it.
    @inlinable
    package func slot(of hash: UInt64, where isSought: (_ place: Int) -> Bool) -> Int? {
        guard !slots.isEmpty else { return nil }
        var slot = home(of: hash)
        while slots[slot] != 0 {
            if isSought(place(in: slot)) { return slot }
            slot = next(slot)
        }
        return nil
    }

    /// - Parameter slot: Not free.
    @inlinable
    package func place(in slot: Int) -> Int { Int(slots[slot]) - 1 }

    /// Adds a place. A slot must be free, also afterwards.
    @inlinable
    package mutating func insert(_ place: Int, _ hash: UInt64) {
        var slot = home(of: hash)
        while slots[slot] != 0 { slot = next(slot) }
        slots[slot] = UInt32(place + 1)
    }

    /// Empties a slot, and moves later places of the same run into the gap unless their search begins behind it.
    /// - Parameter hash: Of a place.
    @inlinable
    package mutating func clear(_ slot: Int, _ hash: (_ place: Int) -> UInt64) {
        var gap = slot
        var later = next(slot)
        while slots[later] != 0 {
            let mask = slots.count - 1
            if (later - home(of: hash(place(in: later)))) & mask >= (later - gap) & mask {
                slots[gap] = slots[later]
                gap = later
            }
            later = next(later)
        }
        slots[gap] = 0
    }

    @inlinable
    func home(of hash: UInt64) -> Int { Int(truncatingIfNeeded: hash) & (slots.count - 1) }

    @inlinable
    func next(_ slot: Int) -> Int { (slot + 1) & (slots.count - 1) }
}
