import Primitives

/// A nonce that a server demands in DPoP proofs (RFC 9449 section 8): 1 to 512 characters NQCHAR, which are visible
/// ASCII without quotation mark and backslash.
struct DPoPNonce: Sendable, Hashable {
    /// The RFC sets no limit. This one keeps a proof shorter than the header fields that servers accept.
    static let maximumBytes = 512

    let text: String

    /// The nonce in a `DPoP-Nonce` field (RFC 9449 section 8.1); nil if the value has another length or other
    /// characters, as two fields in one list have.
    init?(_ field: String) {
        guard (1...Self.maximumBytes).contains(field.utf8.count), field.utf8.allSatisfy(Self.isAllowed) else {
            return nil
        }
        text = field
    }

    /// NQCHAR (RFC 6749 appendix A).
    private static func isAllowed(_ byte: UInt8) -> Bool {
        (0x21...0x7E).contains(byte) && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
    }
}
