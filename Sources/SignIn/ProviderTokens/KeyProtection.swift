/// How private keys stand in the store: encrypted with AES-256-GCM where there is a key for that, and as they are,
/// behind the database's own protection, where there is none.
///
/// The first encryption key encrypts and all decrypt, so that it can be changed while keys under the old one are in
/// use.
struct KeyProtection: Sendable {
    /// The format of a stored key, in its first byte.
    private enum Form {
        static let plain: UInt8 = 0
        static let encrypted: UInt8 = 1
    }

    let keys: [EncryptionKey]

    /// - Parameter id: Authenticated with the key, so that one stored key cannot replace another.
    func protect(_ secret: [UInt8], of id: String) throws -> [UInt8] {
        guard let first = keys.first else { return [Form.plain] + secret }
        return [Form.encrypted] + (try first.key.seal(secret, boundTo: Array(id.utf8)))
    }

    /// The secret; nil if no encryption key decrypts it.
    func open(_ stored: [UInt8], of id: String) -> [UInt8]? {
        switch stored.first {
        case Form.plain: Array(stored.dropFirst())
        case Form.encrypted: keys.lazy.compactMap { Self.decrypt(stored, of: id, with: $0) }.first
        default: nil
        }
    }

    /// Whether ``protect(_:of:)`` would store it in the same form now.
    func isCurrent(_ stored: [UInt8], of id: String) -> Bool {
        guard let first = keys.first else { return stored.first == Form.plain }
        return stored.first == Form.encrypted && Self.decrypt(stored, of: id, with: first) != nil
    }

    private static func decrypt(_ stored: [UInt8], of id: String, with key: EncryptionKey) -> [UInt8]? {
        key.key.open(Array(stored.dropFirst()), boundTo: Array(id.utf8))
    }
}
