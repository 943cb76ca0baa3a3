import Crypto
import StorageModel

extension TokenHash {
    /// The SHA-256 of a token's text.
    /// - Throws: `server_error` for a digest of another length, which SHA-256 does not have.
    init(sha256Of text: String) throws(SignInError) {
        var hasher = SHA256()
        var text = text
        text.withUTF8 { hasher.update(bufferPointer: UnsafeRawBufferPointer($0)) }
        guard let hash = hasher.finalize().withUnsafeBytes({ TokenHash($0) }) else { throw .internalFault }
        self = hash
    }
}
