import Crypto
import LatchkeyConfiguration
import Primitives
package import StorageModel

/// A SHA-256 in the audit log: of an event, of a seal, or of the list of a seal's events.
package struct AuditDigest: Sendable, Hashable, CustomStringConvertible {
    package let bytes: [UInt8]

    /// Stands for no seal: the predecessor of the first one.
    package static let noSeal = AuditDigest([UInt8](repeating: 0, count: 32))

    package init(sha256Of bytes: some Sequence<UInt8>) { self.bytes = Array(SHA256.hash(data: Array(bytes))) }

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
        guard salt != nil || detailsDigest != nil else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(256)
        let fields: [String?] = [
            "latchkey audit event 1", "\(serial)", "\(event.time.secondsSinceEpoch)", event.kind.name,
            event.user.map { "\($0.number)" }, event.actor.name, event.requestID, detailsDigest?.hexadecimal,
        ]
        for field in fields {
            guard let field else {
                bytes.append(UInt8(ascii: "-"))
                continue
            }
            bytes.append(contentsOf: "\(field.utf8.count):".utf8)
            bytes.append(contentsOf: field.utf8)
            bytes.append(UInt8(ascii: ","))
        }
        return AuditDigest(sha256Of: bytes)
    }

    /// Whether the details match the stored digest, or erased.
    package var hasItsDetails: Bool {
        guard let salt else { return event.details == AuditDetails() }
        return salt.count == AuditDetails.saltBytes && event.details.digest(salt: salt) == detailsDigest
    }
}
