/// What stood in a path where its route has `{name}`.
public struct PathParameters: Sendable {
    var values: [(name: String, value: String)] = []

    public subscript(name: String) -> String? {
        values.first { $0.name == name }?.value
    }
}
