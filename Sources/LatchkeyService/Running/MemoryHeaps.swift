import CLatchkeySystem

/// The C library's heaps.
enum MemoryHeaps {
    /// By default each thread that allocates concurrently gets a heap of its own, and memory freed in one heap cannot
    /// be used in another.
    private static let count: Int32 = 2

    /// Larger blocks, in bytes, are mapped separately and returned to the system when they are freed. This is also the
    /// initial default, but glibc raises it with the first such block that is freed; then growing tables leave holes.
    private static let largestBlock: Int32 = 128 * 1024

    static func keepSmall() { csystem_limit_heaps(count, largestBlock) }
}
