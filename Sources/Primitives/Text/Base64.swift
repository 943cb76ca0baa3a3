/// Padded base64 (RFC 4648 section 4), as HTTP Basic has it.
package enum Base64 {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    /// The text of some bytes.
    package static func encode(_ bytes: [UInt8]) -> String {
        bytes.withUnsafeBufferPointer { Base64URL.text(of: $0, alphabet, isPadded: true) }
    }
}
