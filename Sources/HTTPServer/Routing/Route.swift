import HTTPTypes
import Primitives

struct Route: Sendable {
    enum Segment: Sendable, Hashable {
        case literal(String)
        case parameter(String)
    }

    let pattern: [Segment]
    /// The value of `Allow` for this path.
    private(set) var allow = "OPTIONS"
    private var handlers: [MethodHandler] = []

    /// A structure, because a closure in a tuple of an array is called through two more functions.
    private struct MethodHandler: Sendable {
        let method: HTTPRequest.Method
        let handler: ImmediateHandler
    }

    init(_ pattern: [Segment]) { self.pattern = pattern }

    var literalCount: Int {
        pattern.count { if case .literal = $0 { true } else { false } }
    }

    /// Without `OPTIONS`, which is no operation of an API.
    var methods: [String] { handlers.map(\.method.rawValue).filter { $0 != "OPTIONS" }.sorted() }

    mutating func set(_ handler: @escaping ImmediateHandler, for method: HTTPRequest.Method) {
        handlers.removeAll { $0.method == method }
        handlers.append(MethodHandler(method: method, handler: handler))
        var methods = Set(handlers.map(\.method.rawValue))
        if methods.contains("GET") { methods.insert("HEAD") }
        methods.insert("OPTIONS")
        allow = methods.sorted().joined(separator: ", ")
    }

    /// The handler of a method; `GET`'s for `HEAD` where it has none.
    func handler(for method: HTTPRequest.Method) -> ImmediateHandler? {
        if let found = handlers.first(where: { $0.method == method }) { return found.handler }
        return method == .head ? handlers.first { $0.method == .get }?.handler : nil
    }

    /// The parameters of a path that fits the pattern: a slash before each segment, and none at the end.
    ///
    /// It compares bytes in their place, because each request to a path with parameters is matched with several routes.
    func match(_ path: String) -> PathParameters? {
        path.withBytes { bytes in
            var parameters = PathParameters()
            var position = bytes.startIndex
            for expected in pattern {
                guard position < bytes.endIndex, bytes[position] == UInt8(ascii: "/") else { return nil }
                let rest = bytes[(position + 1)...]
                let segment = rest.prefix { $0 != UInt8(ascii: "/") }
                switch expected {
                case .literal(let text):
                    guard text.withBytes({ segment.elementsEqual($0) }) else { return nil }
                case .parameter(let name):
                    guard !segment.isEmpty else { return nil }
                    parameters.values.append((name, String(decoding: segment, as: UTF8.self)))
                }
                position = segment.endIndex
            }
            return position == bytes.endIndex ? parameters : nil
        }
    }
}

/// The path segments at the `{name}` parts of a route's pattern.
public struct PathParameters: Sendable {
    var values: [(name: String, value: String)] = []

    /// The segment at `{name}`, percent-decoded; nil if the pattern has no such part.
    public subscript(name: String) -> String? { values.first { $0.name == name }?.value }
}
