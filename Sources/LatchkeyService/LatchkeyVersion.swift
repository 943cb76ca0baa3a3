/// The version of this program.
public enum LatchkeyVersion {
    public static let text = "0.1.0"
}
