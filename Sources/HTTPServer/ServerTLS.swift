public import HTTPCore
public import Primitives
import Synchronization

/// Why certificates or keys cannot be used.
public typealias TLSError = HTTPCore.TLSError

/// The credentials of TLS listeners. They can be replaced while the server runs: new handshakes use the new ones, and
/// open connections keep theirs.
public final class ServerTLS: Sendable {
    private let present: Mutex<TLSContext>

    /// - Throws: ``TLSError`` if the credentials cannot be used.
    public init(_ credentials: TLSCredentials) throws(TLSError) {
        present = Mutex(try TLSContext(credentials))
    }

    /// Takes over the credentials of another one for new handshakes.
    public func replace(with other: ServerTLS) {
        let context = other.context
        present.withLock { $0 = context }
    }

    /// The validity period of the server's certificate.
    public var validity: ClosedRange<Timestamp> { context.validity }

    var context: TLSContext { present.withLock { $0 } }
}
