/// A step from one version of the tables to the next.
struct Migration: Sendable {
    /// On record in every database that has gone through it.
    let name: String
    /// As SQLite is told.
    let statements: [String]

    init(_ name: String, _ statements: String...) {
        self.name = name
        self.statements = statements
    }
}
