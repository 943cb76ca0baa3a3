/// An owner of a descriptor on a loop. Called on the loop's thread only.
package protocol LoopMember: AnyObject {
    /// The descriptor may be readable or writable.
    /// - Parameter peerHasEnded: Whether the peer has closed or reset. There may be bytes to read before its end.
    func becameReady(peerHasEnded: Bool, at now: MonotonicTime)
    /// Time has passed.
    func tick(at now: MonotonicTime)
    /// The server is about to stop: finish the current work.
    func drain()
    /// The server stops now.
    func abandon()
}
