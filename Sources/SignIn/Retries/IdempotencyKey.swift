import Crypto
import OpenIDConnect
import Primitives
import StorageModel

/// Identifies a retry of the same sign-in: 128 bits of a SHA-256 over every field that affects the outcome, and the
/// caller.
///
/// All fields, because a stolen code without its verifier, or with another nonce, must not pass for a retry. The
/// caller, because what one app was given is not for another.
package struct IdempotencyKey: Sendable, Hashable {
    private let high: UInt64
    private let low: UInt64

    /// The 16 bytes in the store.
    package var bytes: [UInt8] { [high, low].withUnsafeBytes { Array($0) } }

    /// The key in the store; nil unless there are 16 bytes.
    init?(bytes: [UInt8]) {
        guard bytes.count == 16 else { return nil }
        (high, low) = bytes.withUnsafeBytes {
            ($0.loadUnaligned(as: UInt64.self), $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
        }
    }

    /// - Parameter session: The session whose user the code is for; nil for a sign-in.
    package init(_ request: SignInRequest, ofSession session: String? = nil) {
        let fields = Fields(request, ofSession: session)
        (high, low) = SHA256.hash(data: fields.bytes).withUnsafeBytes {
            ($0.loadUnaligned(as: UInt64.self), $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
        }
    }
}

/// Each field follows its length, so that no two lists of fields have the same bytes.
private struct Fields {
    private(set) var bytes: [UInt8] = []

    init(_ request: SignInRequest, ofSession session: String?) {
        bytes.reserveCapacity(768)
        add(session)
        add(request.provider.text)
        add(request.clientID.text)
        add(request.code.exposed)
        add(request.network?.text)
        add(request.redirectURI)
        add(request.codeVerifier?.secret.exposed)
        add(request.nonce?.exposed)
        add(request.demand.acrValues)
        add(request.demand.context)
        add(request.demand.scopes)
        add(request.state)
        // Stored keys have these words.
        if request.standsInForCode { add("operator token") }
        if let recency = request.demand.recency { add("authentication " + recency) }
        if let caller = request.caller { add(caller.hash) }
    }

    mutating func add(_ texts: [String]) {
        add(count: texts.count)
        for text in texts { add(text) }
    }

    mutating func add(_ text: String?) {
        guard let text else { return add(count: -1) }
        add(count: text.utf8.count)
        bytes.append(contentsOf: text.utf8)
    }

    mutating func add(_ hash: TokenHash) {
        add(count: 32)
        hash.withUnsafeBytes { bytes.append(contentsOf: $0) }
    }

    private mutating func add(count: Int) {
        withUnsafeBytes(of: Int64(count)) { bytes.append(contentsOf: $0) }
    }
}
