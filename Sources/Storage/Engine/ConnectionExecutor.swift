import StorageModel

/// A connection and the queue that all its work runs on.
protocol ConnectionExecutor: AnyObject, Sendable {
    /// Calls `body` on the executor's queue, with a function that runs a batch there and completes each work in it.
    func enqueue(_ body: @escaping @Sendable (_ run: ([any DatabaseWork]) -> Void) -> Void)
}
