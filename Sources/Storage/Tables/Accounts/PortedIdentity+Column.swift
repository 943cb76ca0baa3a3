import Primitives
import StorageModel

/// Former identities in a database column: a JSON array, in their order; NULL if there are none.
extension PortedIdentity {
    static func text(of identities: [PortedIdentity]) -> String? {
        guard !identities.isEmpty else { return nil }
        let objects = identities.map { ported in
            var json = JSONObjectWriter()
            json.add("issuer", ported.identity.issuer)
            json.add("subject", ported.identity.subject)
            json.add("issued_at", ported.issuedAt.secondsSinceEpoch)
            json.add("token", Base64URL.encode(ported.token.bytes))
            return String(decoding: json.finish(), as: UTF8.self)
        }
        return "[" + objects.joined(separator: ",") + "]"
    }

    /// - Throws: `corrupt` for a text that ``text(of:)`` did not write.
    static func all(in text: String?) throws -> [PortedIdentity] {
        guard let text else { return [] }
        guard let values = (try? JSONValue(parsing: Array(text.utf8)))?.array else { throw unreadable }
        return try values.map { value in
            guard let issuer = value.object?["issuer"]?.string, let subject = value.object?["subject"]?.string,
                let issuedAt = value.object?["issued_at"]?.integer,
                let token = value.object?["token"]?.string.flatMap({ Base64URL.decode($0) }).flatMap({ TokenHash($0) })
            else { throw unreadable }
            return PortedIdentity(
                identity: Identity(issuer: issuer, subject: subject),
                issuedAt: Timestamp(secondsSinceEpoch: issuedAt), token: token)
        }
    }

    private static let unreadable = StorageError(
        .corrupt, reason: "the former identities of a backchannel authentication are unreadable")
}
