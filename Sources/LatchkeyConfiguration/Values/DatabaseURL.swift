public import Primitives

/// The URL of an SQLite database file or a PostgreSQL database.
public enum DatabaseURL: Sendable, Hashable, CustomStringConvertible {
    /// The file's path; a relative one starts at the working directory.
    case sqlite(path: String)
    /// A database of a PostgreSQL server.
    case postgres(PostgresURL)

    /// `sqlite:///latchkey.db`
    public static let standard = DatabaseURL(path: "latchkey.db")

    /// The SQLite database file at a path.
    public init(path: String) { self = .sqlite(path: path) }

    /// The file's path; nil for PostgreSQL.
    public var path: String? {
        switch self {
        case .sqlite(let path): path
        case .postgres: nil
        }
    }

    /// As in the configuration: three slashes before a relative path, four with an absolute one. A PostgreSQL URL is
    /// shown without its password.
    public var description: String {
        switch self {
        case .sqlite(let path): Self.prefix + path
        case .postgres(let url): url.description
        }
    }

    private static let prefix = "sqlite:///"

    /// Parses a URL.
    /// - Throws: ``InvalidValueError``, which does not repeat the text: a PostgreSQL URL may hold a password.
    public init(_ url: Secret) throws(InvalidValueError) {
        let text = url.exposed
        let forms = "write sqlite:///relative.db or sqlite:////absolute/path.db"
        if text.hasPrefix("postgres:") || text.hasPrefix("postgresql:") {
            self = .postgres(try PostgresURL(parsing: text))
            return
        }
        guard text.hasPrefix(Self.prefix) else {
            if text.hasPrefix("sqlite:") {
                throw InvalidValueError("an SQLite URL has three slashes before its path", forms)
            }
            throw InvalidValueError("is not a database URL", forms + ", or postgres://user:password@host/database")
        }
        let path = text.dropFirst(Self.prefix.count)
        guard !path.isEmpty, !path.hasSuffix("/") else { throw InvalidValueError("names no file", forms) }
        guard path.utf8.count <= 4096 else { throw InvalidValueError("the path is longer than 4096 bytes", forms) }
        if path.hasPrefix(":") || path.hasPrefix("file:") {
            throw InvalidValueError("special SQLite names are not supported: the data must be in a file", forms)
        }
        if path.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F || $0 == 0x3F || $0 == 0x23 || $0 == 0x25 }) {
            throw InvalidValueError("the path has a ?, #, % or control character, which are not supported", forms)
        }
        self = .sqlite(path: String(path))
    }
}
