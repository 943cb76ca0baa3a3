public import OpenIDConnect
public import Primitives
public import SignIn

/// An API key as the administrator configured it, and what it gives access to.
public struct APIKey: Sendable, Hashable {
    /// What a caller's key is compared with.
    public enum Proof: Sendable, Hashable {
        /// The key.
        case plain(Secret)
        /// The 32 bytes of the key's SHA-256, so that the configuration need not hold the key.
        case sha256([UInt8])
    }

    /// The key or its hash.
    public var proof: Proof
    /// Its name in logs and the audit log.
    public var name: String?
    /// The clients whose users and sessions it gives access to; if empty, all.
    public var clients: [ClientID] = []
    /// The origins that requests with it must come from; if empty, any.
    public var origins: [Origin] = []
    /// Whether it gives access to the status page.
    public var isAdministrator = false

    /// A key with access to everything but the status page.
    public init(_ proof: Proof) { self.proof = proof }

    /// A key with access to everything but the status page.
    public static func plain(_ key: Secret) -> APIKey { APIKey(.plain(key)) }

    /// Whether a text can be the name of a key: 1 to 64 ASCII letters, digits, `.`, `_` and `-`.
    package static func isName(_ text: String) -> Bool { Printable.name(text) != nil }
}

extension APIKey.Proof {
    private static let hashPrefix = "sha256:"

    /// Parses `sha256:` and 64 hexadecimal digits, or the key itself in visible ASCII characters without a comma.
    ///
    /// - Throws: ``InvalidValueError``, which does not repeat the text.
    static func parse(_ text: String) throws(InvalidValueError) -> Self {
        if text.lowercased().hasPrefix(hashPrefix) {
            guard let hash = Hexadecimal.decode(text.utf8.dropFirst(hashPrefix.utf8.count)), hash.count == 32 else {
                throw InvalidValueError("what follows sha256: is not a SHA-256", "give its 64 hexadecimal digits")
            }
            return .sha256(hash)
        }
        try require(
            (1...256).contains(text.utf8.count) && text.utf8.allSatisfy({ $0.isVisibleASCII && $0 != 0x2C }),
            else: "a key is longer than 256 characters, or has a space, a comma, a control or a non-ASCII character",
            "give a key of letters, digits and other visible ASCII characters, or sha256: and its hash")
        return .plain(Secret(text))
    }
}

extension EncryptionKey {
    /// The key of 64 hexadecimal digits, as configurations have it; nil for any other text.
    package init?(hexadecimal text: String) {
        guard let bytes = Hexadecimal.decode(text.utf8) else { return nil }
        self.init(bytes)
    }
}

package enum Hexadecimal {
    /// The bytes of pairs of hexadecimal digits; nil for any other text.
    package static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
        let digits = text.compactMap(\.hexadecimalValue)
        guard digits.count == text.count, digits.count.isMultiple(of: 2) else { return nil }
        return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }
}
