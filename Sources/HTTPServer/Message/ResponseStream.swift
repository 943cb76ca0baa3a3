/// Writes the content of a streamed response, a piece at a time.
///
/// A write returns when the socket has taken the whole piece: a slow reader delays the writer, and at most one piece is
/// buffered. A reader that does not take a piece within ``ServerTimeouts/write`` is disconnected.
public struct ResponseWriter: Sendable {
    /// The reader has gone or was too slow, the server stops, or another write is in progress.
    public struct Ended: Error {}

    private let send: @Sendable ([UInt8]) async -> Bool

    init(send: @escaping @Sendable ([UInt8]) async -> Bool) { self.send = send }

    /// Sends some bytes; an empty array does nothing.
    /// - Throws: ``Ended`` if they cannot be sent.
    public func write(_ bytes: [UInt8]) async throws(Ended) {
        guard await send(bytes) else { throw Ended() }
    }
}

/// Produces the content of a streamed response. The response is complete when it returns; when it throws, the
/// connection is cut, so that the client notices the missing end. Its task is cancelled when the reader goes or the
/// server stops; later writes throw, and it must return.
public typealias ResponseProducer = @Sendable (ResponseWriter) async throws -> Void
