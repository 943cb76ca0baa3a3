package import CLatchkeyOpenSSL
package import Primitives

/// OpenSSL's context of a server's or a client's TLS sessions.
///
/// Sendable without the compiler's check: OpenSSL locks the parts of a context that sessions share; nothing else of it
/// changes.
package final class TLSContext: @unchecked Sendable {
    /// What the functions of OpenSSL take.
    package let pointer: OpaquePointer
    /// The context whose authorities this one trusts.
    private let other: TLSContext?

    /// - Parameters:
    ///   - other: A context that must live as long as this one; nil for none.
    ///   - make: Calls a function of `CLatchkeyOpenSSL` that makes a context, freed with this object, or says what is
    ///     wrong.
    package init(
        keeping other: TLSContext? = nil,
        _ make: (_ fault: inout copenssl_fault, _ reason: inout UnsafePointer<CChar>?) -> OpaquePointer?
    ) throws(TLSError) {
        var fault = COPENSSL_SOUND
        var reason: UnsafePointer<CChar>?
        guard let made = make(&fault, &reason) else {
            throw TLSError(code: TLSError.Code(fault), detail: reason.map { String(cString: $0) } ?? "")
        }
        pointer = made
        self.other = other
    }

    /// Reads the authorities that a handshake lacks. It blocks.
    package func readAuthorities() { copenssl_read_authorities(pointer) }

    deinit { copenssl_context_free(pointer) }
}

/// The context of a client's TLS sessions in which it presents a certificate (RFC 8705).
extension TLSContext {
    /// - Parameters:
    ///   - certificateChain: PEM: the client's certificate first, then its intermediates.
    ///   - privateKey: PEM without a passphrase: the key of the first certificate.
    ///   - other: Another context of clients, which says what to trust; nil if none is needed.
    package convenience init(
        presenting certificateChain: [UInt8], privateKey: Secret, trustingAs other: TLSContext?
    ) throws(TLSError) {
        let key = Array(privateKey.exposed.utf8)
        try self.init(keeping: other) { fault, reason in
            copenssl_presenting_context_make(
                other?.pointer, certificateChain, certificateChain.count, key, key.count, &fault, &reason)
        }
    }

    /// The validity period of the context's own certificate.
    package var validity: ClosedRange<Timestamp> {
        let start = copenssl_context_not_before(pointer)
        let end = max(start, copenssl_context_not_after(pointer))
        return Timestamp(secondsSinceEpoch: start)...Timestamp(secondsSinceEpoch: end)
    }

    /// The subject of the context's own certificate (RFC 4514), cut at 1 KiB; nil if there is none.
    package var subject: String? {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 1025) { subject in
            guard let base = subject.baseAddress,
                copenssl_context_subject(pointer, base, subject.count) != 0
            else { return nil }
            return String(cString: base)
        }
    }

    /// Whether the context's own certificate names itself as its issuer.
    package var isSelfIssued: Bool { copenssl_context_is_self_issued(pointer) != 0 }
}
