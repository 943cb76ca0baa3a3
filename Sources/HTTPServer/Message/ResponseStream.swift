/// Writes the content of an answer that is made as time goes on, a piece at a time.
///
/// A write returns when the socket has taken all of the piece: a reader that is slow holds up whoever writes, and no more
/// than a piece is ever kept for it. One that does not take a piece within ``ServerTimeouts/write`` is cut off.
public struct ResponseWriter: Sendable {
    /// The reader has gone or was too slow, the server stops, or another write is under way.
    public struct Ended: Error {}

    private let send: @Sendable ([UInt8]) async -> Bool

    init(send: @escaping @Sendable ([UInt8]) async -> Bool) {
        self.send = send
    }

    /// Sends some bytes; none are nothing.
    /// - Throws: ``Ended`` if nobody gets them.
    public func write(_ bytes: [UInt8]) async throws(Ended) {
        guard await send(bytes) else { throw Ended() }
    }
}

/// Makes an answer's content. When it returns the answer is whole; when it throws it is not, and the connection is cut, so
/// that nobody takes a part for all of it. Its task is cancelled when the reader goes or the server stops, and nothing it
/// writes is sent from then on: it has to come to its end.
public typealias ResponseProducer = @Sendable (ResponseWriter) async throws -> Void
