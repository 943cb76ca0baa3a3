import StorageModel

/// The database behind a store: who writes, who reads, and how it is closed.
protocol StoreEngine: Sendable {
    /// Does writes, each batch in one transaction.
    var writes: WorkQueue { get }
    /// Does reads, which see every write that was answered before they began.
    var reads: WorkQueue { get }
    /// Whether other processes write to the same database as a matter of course.
    var isShared: Bool { get }
    /// Has changes told of until it is closed: those of other processes, and of this one too. Where nobody tells, none.
    func watch(_ onChange: @escaping @Sendable (StoreChange) -> Void)
    /// Closes the connections, after both queues have come to rest. Blocks.
    func close() throws(StorageError)
}
