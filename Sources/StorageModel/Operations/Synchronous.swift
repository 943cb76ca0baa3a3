/// How durable a commit is before it is answered (SQLite's `PRAGMA synchronous`).
public enum Synchronous: String, Sendable, CaseIterable {
    /// Every commit is on the disk: it survives a loss of power.
    case full
    /// Every commit is with the operating system: it survives a crash of the process, but a loss of power may undo the
    /// last.
    case normal
}
