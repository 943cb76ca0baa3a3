import HTTPTypes

/// A path pattern and the handlers of its methods.
struct Route: Sendable {
    enum Segment: Sendable, Hashable {
        case literal(String)
        case parameter(String)
    }

    let pattern: [Segment]
    /// Its index in the router's patterns.
    let number: Int
    /// The value of `Allow` for this path.
    private(set) var allow = "OPTIONS"
    private var handlers: [MethodHandler] = []

    /// A structure, because a closure in a tuple of an array is called through two more functions.
    private struct MethodHandler: Sendable {
        let method: HTTPRequest.Method
        let handler: ImmediateHandler
    }

    init(_ pattern: [Segment], number: Int) {
        self.pattern = pattern
        self.number = number
    }

    var literalCount: Int {
        pattern.count { if case .literal = $0 { true } else { false } }
    }

    /// The methods with a handler of their own.
    var methods: [String] { handlers.map(\.method.rawValue).sorted() }

    mutating func set(_ handler: @escaping ImmediateHandler, for method: HTTPRequest.Method) {
        handlers.removeAll { $0.method == method }
        handlers.append(MethodHandler(method: method, handler: handler))
        var methods = Set(handlers.map(\.method.rawValue))
        if methods.contains("GET") { methods.insert("HEAD") }
        methods.insert("OPTIONS")
        allow = methods.sorted().joined(separator: ", ")
    }

    /// The handler of a method; that of `GET` for `HEAD` where it has none of its own.
    func handler(for method: HTTPRequest.Method) -> ImmediateHandler? {
        if let found = handlers.first(where: { $0.method == method }) { return found.handler }
        return method == .head ? handlers.first { $0.method == .get }?.handler : nil
    }

    /// The parameters of a path that fits the pattern.
    func match(_ segments: ArraySlice<Substring>) -> PathParameters? {
        guard segments.count == pattern.count else { return nil }
        var parameters = PathParameters()
        for (expected, segment) in zip(pattern, segments) {
            switch expected {
            case .literal(let text): guard segment == text else { return nil }
            case .parameter(let name):
                guard !segment.isEmpty else { return nil }
                parameters.values.append((name, String(segment)))
            }
        }
        return parameters
    }
}
