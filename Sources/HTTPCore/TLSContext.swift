import CLatchkeyOpenSSL

/// OpenSSL's context of a server's or a client's TLS sessions.
///
/// Sendable without the compiler's check: OpenSSL locks the parts of a context that sessions share; nothing else of it
/// changes.
package final class TLSContext: @unchecked Sendable {
    /// What the functions of OpenSSL take.
    package let pointer: OpaquePointer

    /// - Parameter made: A context that the functions of `CLatchkeyOpenSSL` have made; freed with this object.
    package init(adopting made: OpaquePointer) { pointer = made }

    deinit { copenssl_context_free(pointer) }
}
