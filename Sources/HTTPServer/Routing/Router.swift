public import HTTPTypes
public import Primitives

/// Selects the handler of a request by method and path.
///
/// ```swift
/// var router = Router()
/// router.on(.post, "/auth/{provider}/sign-in") { request in … request.parameters["provider"] … }
/// ```
///
/// A literal segment wins over a `{name}`. The handler of `GET` also serves `HEAD` (the connection omits the content),
/// and the router itself serves `OPTIONS` where a route does not. An unknown path is 404, a known one with another
/// method 405 with `Allow` (RFC 9110 sections 15.5.5, 15.5.6). Paths without a route are looked up in ``files`` first.
public struct Router: Sendable {
    /// In the order in which their patterns were added. Matches have numbers of them, because a copy of a route would
    /// count references that all loops share.
    private var allRoutes: [Route] = []
    /// The numbers of routes without parameters, by path.
    private var literalRoutes: [String: Int] = [:]
    /// The numbers of routes with parameters, those with more literal segments first.
    private var patternRoutes: [Int] = []
    /// The patterns of all routes, in the order in which they were added.
    public private(set) var patterns: [String] = []

    /// Responds on paths without a route; nil for 404.
    public var files: (@Sendable (Request) async throws -> Response?)?

    public init() {}

    /// Adds a route. A later one replaces an earlier one of the same method and pattern.
    public mutating func on(_ method: HTTPRequest.Method, _ pattern: String, _ handler: @escaping Handler) {
        on(method, pattern, immediate(handler))
    }

    /// Adds a route whose handler mostly need not wait. A later one replaces an earlier one of the same method and
    /// pattern.
    public mutating func on(_ method: HTTPRequest.Method, _ pattern: String, _ handler: @escaping ImmediateHandler) {
        let segments = pattern.split(ascii: "/", omittingEmptySubsequences: true).map { segment in
            segment.hasPrefix("{") && segment.hasSuffix("}")
                ? Route.Segment.parameter(String(segment.dropFirst().dropLast())) : .literal(String(segment))
        }
        var route = Route(segments)
        let isLiteral = route.literalCount == segments.count
        let known =
            isLiteral ? literalRoutes[pattern] : patternRoutes.first { allRoutes[$0].pattern == segments }
        if let known { return allRoutes[known].set(handler, for: method) }
        route.set(handler, for: method)
        let number = allRoutes.count
        allRoutes.append(route)
        patterns.append(pattern)
        if isLiteral {
            literalRoutes[pattern] = number
        } else {
            patternRoutes.append(number)
            patternRoutes.sort { (-allRoutes[$0].literalCount, $0) < (-allRoutes[$1].literalCount, $1) }
        }
    }

    package var routes: [(method: String, pattern: String)] {
        zip(allRoutes, patterns)
            .flatMap { route, pattern in route.methods.map { (method: $0, pattern: pattern) } }
            .sorted { ($0.pattern, $0.method) < ($1.pattern, $1.method) }
    }

    /// Adds a route for `GET`.
    public mutating func get(_ pattern: String, _ handler: @escaping Handler) { on(.get, pattern, handler) }
    /// Adds a route for `POST`.
    public mutating func post(_ pattern: String, _ handler: @escaping Handler) { on(.post, pattern, handler) }

    /// Adds a route for `GET` whose handler mostly need not wait.
    public mutating func get(_ pattern: String, _ handler: @escaping ImmediateHandler) { on(.get, pattern, handler) }
    /// Adds a route for `POST` whose handler mostly need not wait.
    public mutating func post(_ pattern: String, _ handler: @escaping ImmediateHandler) { on(.post, pattern, handler) }
    /// Adds a route for `PATCH` whose handler mostly need not wait.
    public mutating func patch(_ pattern: String, _ handler: @escaping ImmediateHandler) {
        on(.patch, pattern, handler)
    }
    /// Adds a route for `DELETE` whose handler mostly need not wait.
    public mutating func delete(_ pattern: String, _ handler: @escaping ImmediateHandler) {
        on(.delete, pattern, handler)
    }

    /// The route of a path.
    public struct Match: Sendable {
        /// The index of the route's pattern in ``Router/patterns``; nil without a route.
        public let number: Int?
        fileprivate let parameters: PathParameters
    }

    /// Finds the route of a request by its path.
    public func match(_ request: Request) -> Match {
        if let number = literalRoutes[request.path] { return Match(number: number, parameters: PathParameters()) }
        let depth = request.path.utf8.count { $0 == UInt8(ascii: "/") }
        for number in patternRoutes where allRoutes[number].pattern.count == depth {
            guard let parameters = allRoutes[number].match(request.path) else { continue }
            return Match(number: number, parameters: parameters)
        }
        return Match(number: nil, parameters: PathParameters())
    }

    /// Whether a route serves `OPTIONS` itself.
    package func servesOptions(at match: Match) -> Bool {
        match.number.map { allRoutes[$0].handler(for: .options) != nil } ?? false
    }

    /// Responds with the route's handler.
    /// - Throws: ``HTTPError`` 404 or 405, and what the handler throws.
    public func respond(to request: Request) async throws -> Response {
        try await respond(to: request, at: match(request)).run()
    }

    /// As ``respond(to:)``, for a request that this router matched before; at once if the route's handler need not
    /// wait.
    public func respond(to request: Request, at match: Match) throws -> ValueOrTask<Response> {
        if request.path == "*" { return .value(Response(status: .noContent)) }
        if let number = match.number, allRoutes.indices.contains(number) {
            guard !match.parameters.values.isEmpty else { return try respond(to: request, withRoute: number) }
            var request = request
            request.parameters = match.parameters
            return try respond(to: request, withRoute: number)
        }
        guard let files else { throw HTTPError.nothingHere }
        return .task {
            guard let response = try await files(request) else { throw HTTPError.nothingHere }
            return response
        }
    }

    private func respond(to request: Request, withRoute number: Int) throws -> ValueOrTask<Response> {
        if let handler = allRoutes[number].handler(for: request.method) { return try handler(request) }
        let allow = allRoutes[number].allow
        if request.method == .options { return .value(Response(status: .noContent, headers: [.allow: allow])) }
        throw HTTPError.methodNotAllowed(allowing: allow)
    }
}

extension HTTPError {
    package static let nothingHere = HTTPError(
        .notFound, code: "not_found",
        message: "There is nothing at this path. Check it for typing errors; paths do not end with a slash.")

    /// The response to a method that a path does not support.
    /// - Parameter methods: The value of `Allow`.
    package static func methodNotAllowed(allowing methods: String) -> HTTPError {
        HTTPError(
            .methodNotAllowed, code: "method_not_allowed",
            message: "This path does not support the method. Use one of: \(methods).", headers: [.allow: methods])
    }
}
