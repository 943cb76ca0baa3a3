import Synchronization

/// A text that one step of a case leaves for another.
final class Remembered: Sendable {
    private let text = Mutex<String?>(nil)

    var value: String? {
        get { text.withLock { $0 } }
        set { text.withLock { $0 = newValue } }
    }
}
