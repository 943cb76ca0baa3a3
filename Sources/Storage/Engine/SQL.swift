import Synchronization

/// The text of an SQL statement.
///
/// A connection keeps every statement prepared. It finds those of a sign-in and of a session look-up by their number,
/// because hashing their long texts would cost more than running them; it finds all others by their text.
///
/// ```swift
/// private static let userByID = SQL.numbered("SELECT name FROM users WHERE id = ?")
/// let name = try db.first(userByID, user) { row in try row.text(0) }
/// try db.run("DELETE FROM users WHERE id = ?", user)
/// ```
///
/// A value is bound to a question mark, and never a part of the text.
public struct SQL: Sendable, ExpressibleByStringInterpolation {
    let text: String
    /// Nil for a statement that is found by its text.
    let number: Int?

    /// A statement in the words that both engines know.
    public init(_ text: String) {
        self.text = text
        number = nil
    }

    /// A statement that is a literal.
    public init(stringLiteral text: String) { self.init(text) }

    private init(_ text: String, number: Int) {
        self.text = text
        self.number = number
    }

    /// A statement with the next number. Only for constants: the numbers are never reused.
    static func numbered(_ text: String) -> SQL { SQL(text, number: count.add(1, ordering: .relaxed).oldValue) }

    private static let count = Atomic(0)
}
