import StorageModel

/// A connection, and the queue that everything on it is done on.
protocol ConnectionExecutor: AnyObject, Sendable {
    /// Calls back on the executor's queue, with what runs a batch of work there and lets each of it succeed or fail.
    func enqueue(_ body: @escaping @Sendable (_ run: ([any DatabaseWork]) -> Void) -> Void)
}
