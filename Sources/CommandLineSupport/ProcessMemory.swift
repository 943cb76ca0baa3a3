import CLatchkeySystem

/// The memory of the process: the C library's heaps, and who may read it. For the program of the server; a program that
/// embeds Latchkey decides for itself.
enum ProcessMemory {
    /// By default each thread that allocates concurrently gets its own heap, and memory freed in one heap cannot
    /// be used in another.
    private static let count: Int32 = 2

    /// Larger blocks, in bytes, are mapped separately and returned to the system when they are freed. This is also the
    /// initial default, but glibc raises it with the first such block that is freed; then growing tables leave holes.
    private static let largestBlock: Int32 = 128 * 1024

    /// Free bytes at the end of a heap that are kept for the next requests. With glibc's default, 128 KiB, nearly every
    /// sign-in would give memory back to the system and take it again: two system calls and the clearing of its pages.
    private static let keptFree: Int32 = 4 * 1024 * 1024

    /// Lets core dumps, and debuggers of the same user, read the memory, which holds secrets; or not.
    static func allowDumps(_ isAllowed: Bool) { _ = csystem_allow_dumps(isAllowed ? 1 : 0) }

    static func keepHeapsSmall() { csystem_limit_heaps(count, largestBlock, keptFree) }
}
