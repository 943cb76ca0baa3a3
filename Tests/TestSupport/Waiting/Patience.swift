import Foundation

/// How much longer than usual tests wait before they give up.
public enum Patience {
    /// 1, or what the environment variable `LATCHKEY_TEST_PATIENCE` says: programs with a sanitizer are several times
    /// slower.
    public static let factor = max(1, environment["LATCHKEY_TEST_PATIENCE"].flatMap { Int($0) } ?? 1)

    /// The sanitizers' variables, for programs that get no other environment.
    public static let sanitizerOptions = environment.filter {
        ["ASAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS"].contains($0.key)
    }

    private static let environment = ProcessInfo.processInfo.environment
}
