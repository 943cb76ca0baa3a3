/// A value in its own memory: one word wherever it is passed on.
///
/// For errors: each function that may throw one, and waits, keeps room for it while it waits.
public struct Boxed<Value: Sendable>: Sendable {
    private final class Box: Sendable {
        let value: Value

        init(_ value: Value) { self.value = value }
    }

    private var box: Box

    /// Moves a value there.
    public init(_ value: Value) { box = Box(value) }

    /// The value. A change makes a new one, which no other copy sees.
    public var value: Value {
        get { box.value }
        set { box = Box(newValue) }
    }
}

extension Boxed: Equatable where Value: Equatable {
    /// Compares the values.
    public static func == (left: Boxed, right: Boxed) -> Bool { left.value == right.value }
}

extension Boxed: Hashable where Value: Hashable {
    /// Feeds the value to the hasher.
    public func hash(into hasher: inout Hasher) { hasher.combine(value) }
}
