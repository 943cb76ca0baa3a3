import CSystem

/// The C library's heaps.
enum MemoryArenas {
    /// Few heaps for many threads: by default each thread that allocates while another does gets one of its own, and
    /// what is freed in one is of no use to the others.
    static func keepFew() { csystem_limit_arenas(2) }
}
