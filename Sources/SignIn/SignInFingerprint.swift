import Crypto
import OpenIDConnect
import Primitives

/// Tells whether two sign-ins are the very same: 128 bits of a SHA-256 over every field that has a say in the outcome.
///
/// All fields, because a stolen code without its verifier, or with another nonce, must not be taken for a retry.
package struct SignInFingerprint: Sendable, Hashable {
    private let high: UInt64
    private let low: UInt64

    /// - Parameter session: The session that the code is to link an identity to; nil for a sign-in.
    package init(_ request: SignInRequest, linkedTo session: String? = nil) {
        var hasher = SHA256()
        hasher.add(session)
        hasher.add(request.provider)
        hasher.add(request.clientID.text)
        hasher.add(request.code.exposed)
        hasher.add(request.network?.text)
        hasher.add(request.redirectURI)
        hasher.add(request.codeVerifier?.secret.exposed)
        hasher.add(request.nonce?.exposed)
        hasher.add(request.acrValues)
        hasher.add(request.context)
        hasher.add(request.scopes)
        hasher.add(request.state)
        (high, low) = hasher.finalize().withUnsafeBytes {
            ($0.loadUnaligned(as: UInt64.self), $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
        }
    }
}

/// Each field goes in behind its length, so that no two lists of fields make the same bytes.
extension SHA256 {
    fileprivate mutating func add(_ texts: [String]) {
        add(count: texts.count)
        for text in texts { add(text) }
    }

    fileprivate mutating func add(_ text: String?) {
        guard var text else { return add(count: -1) }
        add(count: text.utf8.count)
        text.withUTF8 { update(bufferPointer: UnsafeRawBufferPointer($0)) }
    }

    private mutating func add(count: Int) {
        withUnsafeBytes(of: Int64(count)) { update(bufferPointer: $0) }
    }
}
