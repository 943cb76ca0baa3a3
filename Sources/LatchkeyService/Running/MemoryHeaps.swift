import CLatchkeySystem

/// The C library's heaps.
enum MemoryHeaps {
    /// Few heaps for many threads: by default each thread that allocates while another does gets one of its own, and
    /// what is freed in one is of no use to the others.
    private static let count: Int32 = 2

    /// Blocks from this size in bytes on are mapped apart, and given back when they are freed. That is the default too,
    /// but it rises with the first such block that is freed; then tables that outgrow their room leave it behind as holes.
    private static let largestBlock: Int32 = 128 * 1024

    static func keepSmall() { csystem_limit_heaps(count, largestBlock) }
}
