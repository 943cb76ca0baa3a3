import Synchronization

/// A string that one step of a case passes to another.
final class SharedText: Sendable {
    private let text = Mutex<String?>(nil)

    var value: String? {
        get { text.withLock { $0 } }
        set { text.withLock { $0 = newValue } }
    }
}
