public import Primitives

/// Where the data is: an SQLite database in a file, or a PostgreSQL server's.
public enum DatabaseURL: Sendable, Hashable, CustomStringConvertible {
    /// The file's path; a relative one counts from the working directory.
    case sqlite(path: String)
    case postgres(PostgresURL)

    /// `sqlite:///latchkey.db`
    public static let standard = DatabaseURL(path: "latchkey.db")

    /// The SQLite database in the file at a path.
    public init(path: String) {
        self = .sqlite(path: path)
    }

    /// Why a text is no database URL, and what to write instead. Does not repeat it.
    public struct Refusal: Error, Sendable, Hashable, CustomStringConvertible {
        public let description: String
    }

    /// The database that a URL names, as a command's option has it.
    /// - Throws: ``Refusal``.
    public init(_ url: Secret) throws(Refusal) {
        do throws(ValueRefusal) {
            self = try Self.parse(url.exposed)
        } catch {
            throw Refusal(description: error.reason + (error.remedy.map { "; \($0)" } ?? ""))
        }
    }

    /// The file's path; nil for PostgreSQL.
    public var path: String? {
        switch self {
        case .sqlite(let path): path
        case .postgres: nil
        }
    }

    /// In the form of the configuration: three slashes in front of a relative path, four with an absolute one. A
    /// PostgreSQL URL is without its password.
    public var description: String {
        switch self {
        case .sqlite(let path): Self.prefix + path
        case .postgres(let url): url.description
        }
    }

    private static let prefix = "sqlite:///"

    /// - Throws: ``ValueRefusal``, which does not repeat the text: a PostgreSQL URL may hold a password.
    static func parse(_ text: String) throws(ValueRefusal) -> DatabaseURL {
        let forms = "write sqlite:///relative.db or sqlite:////absolute/path.db"
        if text.hasPrefix("postgres:") || text.hasPrefix("postgresql:") {
            return .postgres(try PostgresURL(parsing: text))
        }
        guard text.hasPrefix(prefix) else {
            if text.hasPrefix("sqlite:") {
                throw ValueRefusal("a SQLite URL has three slashes in front of its path", forms)
            }
            throw ValueRefusal("is not a database URL", forms + ", or postgres://user:password@host/database")
        }
        let path = text.dropFirst(prefix.count)
        guard !path.isEmpty, !path.hasSuffix("/") else { throw ValueRefusal("names no file", forms) }
        guard path.utf8.count <= 4096 else { throw ValueRefusal("the path is longer than 4096 bytes", forms) }
        if path.hasPrefix(":") || path.hasPrefix("file:") {
            throw ValueRefusal("special SQLite names are not taken: the data has to be in a file", forms)
        }
        if path.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F || $0 == 0x3F || $0 == 0x23 || $0 == 0x25 }) {
            throw ValueRefusal("the path has a ?, #, % or control character, and none of them is taken", forms)
        }
        return .sqlite(path: String(path))
    }
}
