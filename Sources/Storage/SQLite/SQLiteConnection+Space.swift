/// Space in the file that is not in use.
extension SQLiteConnection {
    /// The pages that are kept for rows to come: an eighth, and at least 1 MiB.
    private static let reserve: Int64 = 256

    /// Gives some unused pages back to the file system, if there are more than a reserve. The file gets shorter with
    /// the next checkpoint.
    ///
    /// Only for databases made with `auto_vacuum`: others keep their unused pages for new rows.
    /// - Returns: Whether there is more to give back.
    func shorten(in db: SQLSession) throws -> Bool {
        guard try db.number("PRAGMA auto_vacuum") == 2 else { return false }
        let unused = try db.number("PRAGMA freelist_count")
        let reserve = max(Self.reserve, try db.number("PRAGMA page_count") / 8)
        guard unused > reserve else { return false }
        _ = try db.run("PRAGMA incremental_vacuum(64)")
        return unused - 64 > reserve
    }
}
