/// The path segments at the `{name}` parts of a route's pattern.
public struct PathParameters: Sendable {
    var values: [(name: String, value: String)] = []

    /// The segment at `{name}`, percent-decoded; nil if the pattern has no such part.
    public subscript(name: String) -> String? { values.first { $0.name == name }?.value }
}
