import Crypto
import Primitives

extension Secret {
    /// The SHA-256 of the text, 32 bytes.
    var sha256: [UInt8] { Array(SHA256.hash(data: Array(exposed.utf8))) }
}
