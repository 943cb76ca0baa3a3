/// A connection to a PostgreSQL server, which the feature with its engine has.
package protocol PostgresSession: AnyObject {
    /// How many rows the last statement changed that was waited for.
    var changesCount: Int { get }

    /// A run of a statement.
    /// - Parameter sql: Has question marks for its values.
    func statement(_ sql: String) -> any PostgresStatement

    /// Runs statements without values, and discards their results.
    func script(_ sql: String) throws

    /// Takes locks until the transaction ends.
    func lock(_ locks: [WriteLock]) throws
}

/// One run of a statement on PostgreSQL: values first, in the order of the question marks, then rows.
package protocol PostgresStatement: AnyObject {
    func bind(_ text: String)
    func bind(_ number: Int64)
    func bind(_ bytes: UnsafeRawBufferPointer)
    func bindNull(_ kind: TableShape.Kind)

    /// Begins a row: until ``endRows()``, values are those of its columns, each of which is an array.
    func beginRow()

    /// Ends the last row. There was at least one.
    func endRows()

    /// Runs the statement with the next one that has a result.
    func perform() throws

    /// Runs the statement, and steps to the next row; false after the last one.
    func next() throws -> Bool

    /// A whole number of whatever width, or a truth value; 0 for NULL.
    func number(_ column: CInt) -> Int64

    func isNull(_ column: CInt) -> Bool

    /// The text; nil for NULL.
    func text(_ column: CInt) -> String?

    /// The bytes until the next row; none for NULL.
    func bytes(_ column: CInt) -> UnsafeRawBufferPointer
}
