import Synchronization

/// Numbers that any thread can add to with one atomic instruction, without locks and allocations.
///
/// Sendable without the compiler's check: the pointer is constant, and the memory is atomic.
final class Cells: @unchecked Sendable {
    private let storage: UnsafeMutablePointer<Atomic<UInt64>>
    let count: Int

    init(_ count: Int) {
        self.count = max(1, count)
        storage = .allocate(capacity: self.count)
        for index in 0..<self.count { (storage + index).initialize(to: Atomic(0)) }
    }

    deinit {
        storage.deinitialize(count: count)
        storage.deallocate()
    }

    /// Adds to a cell; an index out of range counts as the last.
    func add(_ amount: UInt64, at index: Int) {
        storage[min(max(0, index), count - 1)].wrappingAdd(amount, ordering: .relaxed)
    }

    func value(at index: Int) -> UInt64 {
        index >= 0 && index < count ? storage[index].load(ordering: .relaxed) : 0
    }
}
