/// How durable a commit is before its caller resumes (SQLite's `PRAGMA synchronous`).
public enum Synchronous: String, Sendable, CaseIterable {
    /// Every commit is on the disk: it survives a power failure.
    case full
    /// The operating system has every commit: it survives a crash of the process, but a power failure may lose the
    /// last commits.
    case normal
}
