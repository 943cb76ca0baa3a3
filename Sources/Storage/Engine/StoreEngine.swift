import StorageModel

/// The database of a store: the queues that write and read, and its end.
protocol StoreEngine: Sendable {
    /// Runs writes, each batch in one transaction.
    var writes: WorkQueue { get }
    /// Runs reads, which see every write that returned before they began.
    var reads: WorkQueue { get }
    /// Whether several processes use the same database.
    var isShared: Bool { get }
    /// What does not work since the start, although the store was opened; nil if all does.
    var problemAtStart: StorageError? { get }
    /// Calls `onChange` when any process changes a user or session, until the store is closed. SQLite never does.
    func watch(_ onChange: @escaping @Sendable (StoreChange) -> Void)
    /// Closes the connections, after both queues were drained. Blocks.
    func close() throws(StorageError)
}
