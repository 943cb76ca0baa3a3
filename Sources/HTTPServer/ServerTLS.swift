public import Primitives
import Synchronization

/// The credentials of TLS listeners, which may be replaced while they serve: handshakes from then on are made with the
/// new ones, and connections that are there keep what they have.
public final class ServerTLS: Sendable {
    private let present: Mutex<TLSContext>

    /// - Throws: ``TLSError`` if the credentials cannot be used.
    public init(_ credentials: TLSCredentials) throws(TLSError) {
        present = Mutex(try TLSContext(credentials))
    }

    /// Has handshakes be made with what another one has.
    public func replace(with other: ServerTLS) {
        let context = other.context
        present.withLock { $0 = context }
    }

    /// When the server's certificate begins and ends to hold.
    public var validity: ClosedRange<Timestamp> { context.validity }

    var context: TLSContext { present.withLock { $0 } }
}
