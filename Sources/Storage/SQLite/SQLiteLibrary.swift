import CLatchkeySQLite

/// The SQLite library of the process.
package struct SQLiteLibrary: Sendable {
    /// That of this process.
    package static let current = SQLiteLibrary(number: sqlite3_libversion_number())

    private let number: CInt

    /// - Parameter number: Such as 3051003 for 3.51.3.
    package init(number: CInt) { self.number = number }

    /// Such as 3.51.3.
    package var version: String { "\(number / 1_000_000).\(number / 1000 % 1000).\(number % 1000)" }

    /// Whether processes that write at the same moment, or move the write-ahead log into the database, can damage it
    /// (https://www.sqlite.org/wal.html, "The WAL-Reset Bug"). 3.44.6 and 3.50.7 have the correction, too.
    package var hasWALResetFault: Bool {
        number < 3_051_003 && !(3_044_006..<3_045_000).contains(number) && !(3_050_007..<3_051_000).contains(number)
    }
}
