import LatchkeyService
import Primitives
import StorageModel

extension AdminService {
    /// What a command prints: its lines, or one JSON object that `members` writes. A command that only tells what it
    /// would do says so.
    func report(
        _ lines: [String], as format: LineFormat, applies: Bool = true,
        _ members: (inout JSONObjectWriter) -> Void
    ) -> [String] {
        guard format == .json else { return lines + (applies ? [] : Self.dryRun) }
        var json = JSONObjectWriter()
        members(&json)
        json.add("applied", applies)
        return [String(decoding: json.finish(), as: UTF8.self)]
    }

    /// At most `limit` lines, and one more that says so if there are more.
    static func whole(_ lines: [String], limit: Int, as format: LineFormat) -> [String] {
        guard lines.count > limit else { return lines }
        return lines.prefix(limit) + [
            format == .json ? #"{"more":true}"# : "… and more; the first \(limit) are shown"
        ]
    }

    private static let dryRun = ["Nothing was changed. Add --apply to apply the change."]
}

/// What administrators cause.
extension AuditEvent.Kind {
    static let apiKeyCreated = AuditEvent.Kind("api_key.created")
    static let apiKeyRevoked = AuditEvent.Kind("api_key.revoked")
    static let allSessionsRevoked = AuditEvent.Kind("session.all_revoked")
    /// The stored tokens and claims are encrypted with another key.
    static let vaultRotated = AuditEvent.Kind("vault.rotated")
}
