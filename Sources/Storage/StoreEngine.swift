/// The database behind a store: who writes, who reads, and how it is closed.
protocol StoreEngine: Sendable {
    /// Does writes, each batch in one transaction.
    var writes: WorkQueue { get }
    /// Does reads, which see every write that was answered before they began.
    var reads: WorkQueue { get }
    /// Closes the connections, after both queues have come to rest. Blocks.
    func close() throws(StorageError)
}
