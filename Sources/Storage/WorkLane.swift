/// A connection, and the queue that everything on it is done on.
protocol WorkLane: AnyObject, Sendable {
    /// Calls back on the lane's queue, with what runs a batch of work there and lets each of it succeed or fail.
    func enqueue(_ body: @escaping @Sendable (_ run: ([any DatabaseWork]) -> Void) -> Void)
}
