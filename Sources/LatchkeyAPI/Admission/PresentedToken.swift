import Primitives

/// A session token as a request has it. Most routes need only its hash, and no `Secret` of it.
struct PresentedToken: Sendable, Redacted {
    /// UTF-8, in the place where it was received.
    let bytes: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { self.bytes = bytes }

    init(_ secret: Secret) { bytes = Array(secret.exposed.utf8)[...] }

    var secret: Secret { Secret(String(decoding: bytes, as: UTF8.self)) }
}
