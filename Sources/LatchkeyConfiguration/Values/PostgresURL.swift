public import Primitives

/// The URL of a PostgreSQL database, in the form of libpq:
/// `postgres://user:password@host:port/database?sslmode=verify-full`.
///
/// See https://www.postgresql.org/docs/15/libpq-connect.html#LIBPQ-CONNSTRING.
public struct PostgresURL: Sendable, Hashable, CustomStringConvertible {
    /// The whole URL; it may hold a password.
    public let secret: Secret
    /// The URL without the password and without parameters that may hold one.
    public let description: String
    /// Whether the connection is encrypted in every case, or stays on this machine.
    public let isConfidential: Bool
    /// Whether it holds a password.
    public let hasPassword: Bool

    /// Nil for a text that is not the URL of a PostgreSQL database.
    public init?(_ url: Secret) {
        guard let parsed = try? PostgresURL(parsing: url.exposed) else { return nil }
        self = parsed
    }

    /// - Throws: ``InvalidValueError``, which does not repeat the text.
    init(parsing text: String) throws(InvalidValueError) {
        let form =
            "write postgres://user:password@host:5432/database?sslmode=verify-full, other signs than letters and "
            + "digits in user and password percent-encoded"
        guard text.utf8.count <= 4096 else { throw InvalidValueError("is longer than 4096 bytes", form) }
        guard let mark = text.firstRange(of: "://"),
            ["postgres", "postgresql"].contains(String(text[..<mark.lowerBound])),
            text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != 0x23 })
        else { throw InvalidValueError("is not a PostgreSQL URL", form) }
        let rest = text[mark.upperBound...]
        let query = rest.firstIndex(of: "?").map { rest[rest.index(after: $0)...] } ?? ""
        let hierarchy = rest.prefix { $0 != "?" }
        let authority = hierarchy.prefix { $0 != "/" }
        let database = hierarchy.dropFirst(authority.count)
        let parts = authority.split(separator: "@", omittingEmptySubsequences: false)
        guard parts.count <= 2, !database.dropFirst().contains("/"), !database.contains("@"), !query.contains("@")
        else { throw InvalidValueError("is not a PostgreSQL URL", form) }
        let hosts = parts.count == 2 ? parts[1] : authority
        let user = parts.count == 2 ? parts[0] : ""
        let settings = Self.settings(query)
        guard let settings else { throw InvalidValueError("has parameters after the ? that are not name=value", form) }
        secret = Secret(text)
        let mode = settings["sslmode"]
        let login = user.prefix { $0 != ":" }
        let account = login.isEmpty ? "" : "\(login)@"
        let shownMode = mode.map { "?sslmode=\($0)" } ?? ""
        description = "postgres://\(account)\(hosts)\(database)\(shownMode)"
        isConfidential = Self.isEncrypted(mode) || Self.isLocal(hosts, settings["host"])
        hasPassword = user.contains(":") || settings["password"] != nil
    }

    private static func settings(_ query: Substring) -> [Substring: Substring]? {
        var settings: [Substring: Substring] = [:]
        for pair in query.split(separator: "&") {
            let sides = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard sides.count == 2, !sides[0].isEmpty else { return nil }
            settings[sides[0]] = sides[1]
        }
        return settings
    }

    private static func isEncrypted(_ mode: Substring?) -> Bool {
        ["require", "verify-ca", "verify-full"].contains(mode)
    }

    /// On this machine, by a loopback address or a Unix socket.
    private static func isLocal(_ hosts: Substring, _ setting: Substring?) -> Bool {
        let names = hosts.isEmpty ? (setting ?? "") : hosts
        return names.split(separator: ",").allSatisfy { host in
            host.hasPrefix("127.") || host.hasPrefix("[::1]") || host.hasPrefix("localhost") || host.hasPrefix("/")
                || host.uppercased().hasPrefix("%2F")
        }
    }
}
