import Foundation

#if canImport(CryptoKit)
    import CryptoKit
#else
    import Crypto
#endif

/// A code verifier and its S256 challenge (RFC 7636 section 4).
struct CodeVerifier: Sendable, Hashable, Codable {
    let hidden: Hidden

    /// A code verifier of 256 random bits.
    init() {
        var random = SystemRandomNumberGenerator()
        let bytes = (0..<32).map { _ in UInt8.random(in: .min ... .max, using: &random) }
        hidden = Hidden(Self.base64URL(Data(bytes)))
    }

    var text: String { hidden.rawValue }

    var challenge: String { Self.base64URL(Data(SHA256.hash(data: Data(text.utf8)))) }

    static func base64URL(_ data: Data) -> String {
        data.base64EncodedString().replacingOccurrences(of: "+", with: "-").replacingOccurrences(of: "/", with: "_")
            .replacingOccurrences(of: "=", with: "")
    }
}
