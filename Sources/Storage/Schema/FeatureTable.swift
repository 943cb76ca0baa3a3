/// A table of a feature that is in another package, where no migration of ``Schema`` can make it.
///
/// Every program that has the feature makes the table where it is missing, and never changes it: a later version of the
/// feature that needs other columns has a table of another name. A program without the feature leaves the table alone,
/// restores a backup that has it, and refuses to copy the database.
public struct FeatureTable: Sendable, Hashable {
    /// What the names of such tables begin with, and of no other table.
    package static let prefix = "own_"

    /// With the prefix.
    public let name: String
    /// In SQLite's dialect.
    package let statements: String

    /// - Parameters:
    ///   - name: The table is `own_` and this name.
    ///   - columns: Their definitions and the constraints, of the types `INTEGER`, `TEXT` and `BLOB`. A row of a user
    ///     ends with the user by `user_id INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE`. So
    ///     `latchkey users merge` erases the rows of the user that it merges into another.
    ///   - indexes: The columns of each index, such as `user_id, visited_at`.
    public init(_ name: String, _ columns: String, indexes: [String] = []) {
        let name = Self.prefix + name
        self.name = name
        let made = indexes.enumerated().map { number, columns in
            "CREATE INDEX IF NOT EXISTS \(name)_\(number + 1) ON \(name) (\(columns));"
        }
        statements = (["CREATE TABLE IF NOT EXISTS \(name) (\(columns)) STRICT;"] + made).joined(separator: "\n")
    }
}
