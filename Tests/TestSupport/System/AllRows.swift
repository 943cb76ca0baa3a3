import Foundation

/// Whether tests run everything, or a short form of what takes long.
public enum AllRows {
    /// Whether the environment variable `LATCHKEY_ALL_ROWS` is set, as `make nightly` does.
    public static let areRun = ProcessInfo.processInfo.environment["LATCHKEY_ALL_ROWS"] != nil

    /// How often a test repeats something.
    /// - Parameter short: In the short form, which must still find the fault that the test is for.
    public static func count(_ all: Int, short: Int) -> Int { areRun ? all : short }
}
