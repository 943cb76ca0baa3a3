import Crypto
import LatchkeyConfiguration
import OpenIDConnect
package import Primitives
import SignIn
package import StorageModel

/// A SHA-256 in the audit log: of an event, of a seal, or of the list of a seal's events.
package struct AuditDigest: Sendable, Hashable, CustomStringConvertible {
    package let bytes: [UInt8]

    /// Stands for no seal: the predecessor of the first one.
    package static let noSeal = AuditDigest([UInt8](repeating: 0, count: 32))

    package init(sha256Of bytes: [UInt8]) {
        self.bytes = bytes.withUnsafeBufferPointer { TokenHash(sha256Of: $0).bytes }
    }

    /// Reads 64 hexadecimal digits; nil for anything else.
    package init?(_ text: some StringProtocol) {
        guard let bytes = Hexadecimal.decode(text.utf8) else { return nil }
        self.init(stored: bytes)
    }

    private init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Takes 32 bytes; nil for any other number.
    package init?(stored bytes: some Collection<UInt8>) {
        guard bytes.count == 32 else { return nil }
        self.bytes = Array(bytes)
    }

    /// 64 hexadecimal digits.
    package var description: String { bytes.hexadecimal }
}

extension RecordedAuditEvent {
    /// The digest of the event, which a seal signs; nil if the event has no digest of its details yet.
    ///
    /// The SHA-256 of the fields in this order: the text `latchkey audit event 1`, the serial, the time, the kind, the
    /// number of the user, the actor, the request id, and the digest of the details in hexadecimal. A field is its
    /// length in bytes, a colon, its text, and a comma (a netstring); a field without a value is a hyphen. So two
    /// different events never have the same bytes.
    package var digest: AuditDigest? {
        // One with a salt alone was inserted by somebody else. It is sealed as it is, so that it stops no sealing.
        guard salt != nil || hasDigest else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(512)
        let user = event.user.map { String($0.number) }
        for field in [
            "latchkey audit event 1", String(serial), String(event.time.secondsSinceEpoch), event.kind.name, user,
            event.actor.name, event.requestID, detailsDigest?.hexadecimal,
        ] {
            guard let field else {
                bytes.append(UInt8(ascii: "-"))
                continue
            }
            field.withBytes { text in
                bytes.append(contentsOf: String(text.count).utf8)
                bytes.append(UInt8(ascii: ":"))
                bytes.append(contentsOf: text)
            }
            bytes.append(UInt8(ascii: ","))
        }
        return AuditDigest(sha256Of: bytes)
    }
}

/// What a seal states about the audit log: which events it covers, and which seal it follows.
package struct AuditSeal: Sendable, Hashable {
    /// From 1, without gaps.
    package var number: Int64
    /// The serial of the last event that this seal or an earlier one covers.
    package var last: Int64
    /// How many events it covers.
    package var count: Int64
    /// The time of its latest event, or ``sealedAt`` if that is earlier. Never before the previous seal's. After a seal
    /// that no key of ``keys`` signed, ``sealedAt``.
    package var time: Timestamp
    /// ``time`` of the seal before; nil for the first seal, and after a seal that no key of ``keys`` signed.
    package var timeBefore: Timestamp?
    package var sealedAt: Timestamp
    /// How long events were kept when it was made, in seconds.
    package var retention: Int64
    /// The digest of its packed entries (`AuditEntry`).
    package var entries: AuditDigest
    /// The digest of the seal before; `AuditDigest.noSeal` for the first seal.
    package var previous: AuditDigest
    /// The thumbprints (RFC 7638) of the server's keys at that time. The key of the seal before must be one of them.
    package var keys: [String]
    /// The serials of the events whose details did not match their digest when they were sealed. No server wrote them
    /// so.
    package var mismatched: [Int64]
}

/// The seal as a JWS (RFC 7515), with its own type so that no other signed text passes for a seal (RFC 8725 section
/// 3.11). The public key is in its header, because old keys are removed from the store.
extension AuditSeal {
    private static let type = "audit-seal+jws"
    /// The largest size of a seal, in bytes.
    private static let maximumBytes = 16_384

    func signed(by key: SigningKey) throws(SignInError) -> String {
        var json = JSONObjectWriter(capacity: 512)
        json.add("number", number)
        json.add("last", last)
        json.add("count", count)
        json.add("time", time.secondsSinceEpoch)
        if let timeBefore { json.add("time_before", timeBefore.secondsSinceEpoch) }
        json.add("sealed_at", sealedAt.secondsSinceEpoch)
        json.add("retention", retention)
        json.add("entries", entries.description)
        json.add("previous", previous.description)
        json.add("keys", keys)
        if !mismatched.isEmpty { json.add("mismatched", json: "\(mismatched)") }
        return try key.token(type: Self.type, naming: .publicKey, claims: json.finish()).exposed
    }

    /// Reads a seal with a valid signature; nil for anything else. Whose signature it is, is for the caller to judge.
    package static func read(_ jws: String) -> (seal: AuditSeal, signer: String)? {
        guard let token = CompactToken(Secret(jws), maximumBytes: maximumBytes),
            let key = token.header?["jwk"]?.object.flatMap(publicKey),
            let seal = token.claims(ofType: type, signedBy: key).flatMap(AuditSeal.init)
        else { return nil }
        return (seal, PublicJWK(key).thumbprint)
    }

    private static func publicKey(_ jwk: JSONObject) -> P256.Signing.PublicKey? {
        guard jwk["kty"]?.string == "EC", jwk["crv"]?.string == "P-256",
            let x = jwk["x"]?.string.flatMap({ Base64URL.decode($0.utf8) }), x.count == 32,
            let y = jwk["y"]?.string.flatMap({ Base64URL.decode($0.utf8) }), y.count == 32
        else { return nil }
        return try? P256.Signing.PublicKey(rawRepresentation: x + y)
    }

    private init?(_ json: JSONObject) {
        guard let number = json["number"]?.integer, let last = json["last"]?.integer,
            let count = json["count"]?.integer, let time = json["time"]?.integer,
            let sealedAt = json["sealed_at"]?.integer, let retention = json["retention"]?.integer,
            let entries = json["entries"]?.string.flatMap({ AuditDigest($0) }),
            let previous = json["previous"]?.string.flatMap({ AuditDigest($0) }),
            let keys = json["keys"]?.array?.map(\.string), !keys.contains(nil)
        else { return nil }
        let mismatched = json["mismatched"]?.array ?? []
        self.init(
            number: number, last: last, count: count, time: Timestamp(secondsSinceEpoch: time),
            timeBefore: (json["time_before"]?.integer).map { Timestamp(secondsSinceEpoch: $0) },
            sealedAt: Timestamp(secondsSinceEpoch: sealedAt), retention: retention, entries: entries,
            previous: previous, keys: keys.compactMap(\.self), mismatched: mismatched.compactMap(\.integer))
    }
}
