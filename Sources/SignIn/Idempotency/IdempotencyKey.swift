import Crypto
import OpenIDConnect
import Primitives

/// Identifies a retry of the same sign-in: 128 bits of a SHA-256 over every field that affects the outcome.
///
/// All fields, because a stolen code without its verifier, or with another nonce, must not pass for a retry.
package struct IdempotencyKey: Sendable, Hashable {
    private let high: UInt64
    private let low: UInt64

    /// The 16 bytes in the store.
    var bytes: [UInt8] { [high, low].withUnsafeBytes { Array($0) } }

    /// The key in the store; nil unless there are 16 bytes.
    init?(bytes: [UInt8]) {
        guard bytes.count == 16 else { return nil }
        (high, low) = bytes.withUnsafeBytes {
            ($0.loadUnaligned(as: UInt64.self), $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
        }
    }

    /// - Parameter session: The session that the code adds an identity to; nil for a sign-in.
    package init(_ request: SignInRequest, linkedTo session: String? = nil) {
        var fields = Fields()
        fields.add(session)
        fields.add(request.provider)
        fields.add(request.clientID.text)
        fields.add(request.code.exposed)
        fields.add(request.network?.text)
        fields.add(request.redirectURI)
        fields.add(request.codeVerifier?.secret.exposed)
        fields.add(request.nonce?.exposed)
        fields.add(request.acrValues)
        fields.add(request.context)
        fields.add(request.scopes)
        fields.add(request.state)
        (high, low) = SHA256.hash(data: fields.bytes).withUnsafeBytes {
            ($0.loadUnaligned(as: UInt64.self), $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
        }
    }
}

/// Each field follows its length, so that no two lists of fields have the same bytes.
private struct Fields {
    private(set) var bytes: [UInt8] = []

    init() { bytes.reserveCapacity(768) }

    mutating func add(_ texts: [String]) {
        add(count: texts.count)
        for text in texts { add(text) }
    }

    mutating func add(_ text: String?) {
        guard let text else { return add(count: -1) }
        add(count: text.utf8.count)
        bytes.append(contentsOf: text.utf8)
    }

    private mutating func add(count: Int) {
        withUnsafeBytes(of: Int64(count)) { bytes.append(contentsOf: $0) }
    }
}
