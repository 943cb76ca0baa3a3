internal import CLatchkeyRevision

/// The version of this program.
public enum LatchkeyVersion {
    /// As requests and metrics name it.
    public static let text = "0.1.0"

    /// Whether the compiler did not optimise this program.
    package static let isDebugBuild: Bool = {
        #if DEBUG
            true
        #else
            false
        #endif
    }()

    /// As `latchkey --version` prints it: with the commit, if scripts/build-release made the program.
    package static let description: String = {
        let commit = "commit " + (crevision_text().map { String(cString: $0) } ?? "unknown")
        return "\(text) (\(isDebugBuild ? "debug build, " : "")\(commit))"
    }()
}
