public import Primitives

/// Compares a server's responses with its OpenAPI document.
///
/// Stricter than the document: a response has no members that its schema does not name, and the `error` of a refusal is
/// one of the document's examples.
public struct APIContract: Sendable {
    /// A request and its response.
    public struct Exchange: Sendable {
        public let method: String
        /// The path without the query.
        public let path: String
        public let status: Int
        /// The header fields, with names in lower case.
        let fields: [String: String]
        let body: [UInt8]

        /// - Parameter target: With or without a query.
        public init(
            _ method: String, _ target: String, status: Int, fields: [(name: String, value: String)], body: [UInt8]
        ) {
            self.method = method
            path = String(target.prefix { $0 != "?" })
            self.status = status
            self.fields = Dictionary(fields.map { ($0.name.lowercased(), $0.value) }) { first, _ in first }
            self.body = body
        }
    }

    public struct Unreadable: Error {}

    public let schemas: SchemaChecker
    /// By template, then by method in lower case.
    private let paths: [(template: [Substring], calls: JSONObject)]

    /// - Parameter document: OpenAPI 3.1 in JSON, with internal references only.
    public init(_ document: JSONValue) throws {
        guard let paths = document.object?["paths"]?.object else { throw Unreadable() }
        schemas = SchemaChecker(document: document)
        self.paths = paths.members.compactMap { member in
            member.value.object.map { (member.name.split(separator: "/"), $0) }
        }
    }

    /// The operation of a request, as `METHOD /template`; nil if the document has none.
    public func operation(_ method: String, _ path: String) -> String? {
        guard let (template, calls) = match(path), calls[method.lowercased()] != nil else { return nil }
        return "\(method) /\(template.joined(separator: "/"))"
    }

    /// All operations, as `METHOD /template`.
    public var operations: [String] {
        paths.flatMap { path in
            path.calls.members.map { "\($0.name.uppercased()) /\(path.template.joined(separator: "/"))" }
        }
    }

    /// The documented statuses of an operation.
    public func statuses(of operation: String) -> [Int] {
        responses(of: operation)?.members.compactMap { Int($0.name) } ?? []
    }

    /// The documented JSON examples of an operation's responses with one status.
    public func examples(of operation: String, _ status: Int) -> [JSONValue] {
        let response = responses(of: operation)?["\(status)"].flatMap { schemas.resolved($0) }
        let media = response?["content"]?.object?["application/json"]?.object
        return [media?["example"]].compactMap(\.self)
            + (media?["examples"]?.object?.members ?? []).compactMap { schemas.resolved($0.value)?["value"] }
    }

    private func responses(of operation: String) -> JSONObject? {
        let parts = operation.split(separator: " ", maxSplits: 1)
        guard parts.count == 2,
            let calls = paths.first(where: { "/" + $0.template.joined(separator: "/") == parts[1] })?.calls
        else { return nil }
        return calls[parts[0].lowercased()]?.object?["responses"]?.object
    }

    /// The faults of a response, each with a remedy; empty for a correct response.
    public func faults(of exchange: Exchange) -> [String] {
        let place = "\(exchange.method) \(exchange.path) → \(exchange.status): "
        return problems(of: exchange).map { place + $0 }
    }

    private func problems(of exchange: Exchange) -> [String] {
        guard exchange.method != "OPTIONS" else { return [] }
        guard let (template, calls) = match(exchange.path) else { return problemsOfUnknownPath(exchange) }
        let method = exchange.method == "HEAD" ? "get" : exchange.method.lowercased()
        guard let call = calls[method]?.object else {
            return exchange.status == 405 ? problems(of: exchange, shared("405.method_not_allowed")) : unknown(exchange)
        }
        guard let found = call["responses"]?.object?["\(exchange.status)"] else {
            return [
                "/\(template.joined(separator: "/")) has no such status in /openapi.json. Add it to the responses or "
                    + "refusals of `\(call["operationId"]?.string ?? "")` in Sources/LatchkeyAPI/Document, or fix the "
                    + "handler. It was: \(String(decoding: exchange.body.prefix(300), as: UTF8.self))"
            ]
        }
        return problems(of: exchange, schemas.resolved(found))
    }

    private func shared(_ name: String) -> JSONObject? {
        schemas.resolved(.object(of: [("$ref", .string("#/components/responses/\(name)"))]))
    }

    /// Pages are not part of the API.
    private func problemsOfUnknownPath(_ exchange: Exchange) -> [String] {
        if exchange.status == 404 { return problems(of: exchange, shared("404.not_found")) }
        if exchange.path == "/" || exchange.path.split(separator: "/").last?.contains(".") == true { return [] }
        return exchange.status == 405 || exchange.status < 400 ? unknown(exchange) : []
    }

    private func unknown(_ exchange: Exchange) -> [String] {
        [
            "There is no such operation in /openapi.json. Add an `APIOperation` for it to the file of its tag in "
                + "Sources/LatchkeyAPI/Document."
        ]
    }

    private func problems(of exchange: Exchange, _ response: JSONObject?) -> [String] {
        guard let response else { return ["The response in /openapi.json cannot be found."] }
        var found: [String] = []
        for header in response["headers"]?.object?.members ?? [] {
            guard schemas.resolved(header.value)?["required"]?.bool == true else { continue }
            if exchange.fields[header.name.lowercased()] == nil {
                found.append("The header \(header.name) is missing.")
            }
        }
        guard exchange.method != "HEAD" else { return found }
        guard let content = response["content"]?.object else {
            if !exchange.body.isEmpty { found.append("There is content, and none is documented.") }
            return found
        }
        let type = (exchange.fields["content-type"] ?? "").prefix { $0 != ";" }
        guard let media = content[String(type)]?.object else {
            return found + ["The content is \(type), which the document does not name."]
        }
        guard type.hasSuffix("json") else { return found }
        guard let value = try? JSONValue(parsing: exchange.body, limits: Self.limits) else {
            return found + ["The content is not JSON."]
        }
        if let schema = media["schema"] { found += schemas.faults(of: value, schema) }
        // Problem details have the codes of the errors in JSON.
        return found + problems(ofError: value, content["application/json"]?.object ?? media)
    }

    private static let limits = JSONLimits(bytes: 1 << 20, depth: 32, values: 65_536)

    private func problems(ofError value: JSONValue, _ media: JSONObject) -> [String] {
        guard let examples = media["examples"]?.object, let code = value.object?["error"]?.string else { return [] }
        if examples["code_of_the_carrier"] != nil { return [] }
        let codes = examples.members.compactMap { schemas.resolved($0.value)?["value"]?.object?["error"]?.string }
        if codes.contains(code) { return [] }
        return [
            "The error \(code) is not documented for this status, only \(codes.joined(separator: ", ")). Add it to the "
                + "refusals of the operation in Sources/LatchkeyAPI/Document."
        ]
    }

    /// The template of a path, the one with the most literals.
    private func match(_ path: String) -> (template: [Substring], calls: JSONObject)? {
        let segments = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
        let found = paths.filter { template, _ in
            template.count == segments.count
                && zip(template, segments).allSatisfy { $0.hasPrefix("{") ? !$1.isEmpty : $0 == $1 }
        }
        return found.max { literals($0.template) < literals($1.template) }
    }

    private func literals(_ template: [Substring]) -> Int { template.count { !$0.hasPrefix("{") } }
}
