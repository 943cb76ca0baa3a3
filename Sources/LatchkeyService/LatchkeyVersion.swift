/// The version of this program.
public enum LatchkeyVersion {
    /// As `latchkey --version` prints it.
    public static let text = "0.1.0"
}
