import HTTPServer
import HTTPTypes
import Primitives

/// Named values of a query, a form or a flat JSON object.
struct Parameters: Sendable {
    typealias Item = CarrierSimulator.RequestLog.Parameter

    var items: [Item] = []

    /// Leaves out the names without a value.
    init(_ items: [(name: String, value: String?)] = []) {
        self.items = items.compactMap { item in item.value.map { Item(name: item.name, value: $0) } }
    }

    init(_ query: Query) { items = query.items.map { Item(name: $0.name, value: $0.value) } }

    /// The parameters of a request's query; none if the query is malformed.
    init(queryOf request: Request) {
        if let query = try? request.query { self.init(query) } else { self.init() }
    }

    /// The parameters in a request's content; none if it is empty.
    /// - Throws: `invalid_request` if the content is malformed, or neither a form nor a JSON object of strings,
    ///   integers, booleans and lists of strings.
    init(contentOf request: Request) throws(OAuthError) {
        if request.body.isEmpty { return }
        let type = request.headers[.contentType]?.split(separator: ";").first?.lowercased()
        switch type {
        case "application/x-www-form-urlencoded"?:
            guard let text = String(validating: request.body, as: UTF8.self), let form = Query(text)
            else { throw .invalidRequest("The form is malformed.") }
            self = Parameters(form)
        case "application/json"?:
            guard let object = (try? JSONValue(parsing: request.body))?.object
            else { throw .invalidRequest("The content is not a JSON object.") }
            for member in object.members {
                guard let text = member.value.parameter
                else { throw .invalidRequest("A member is not a string, an integer, a boolean or a list of strings.") }
                items.append(Item(name: member.name, value: text))
            }
        default: throw .invalidRequest("Content-Type must be application/x-www-form-urlencoded or application/json.")
        }
    }

    /// The parameters of a request: the form's for POST, otherwise the query's.
    init(of request: Request) throws(OAuthError) {
        if request.method == .post { try self.init(contentOf: request) } else { self.init(queryOf: request) }
    }

    /// The value of a parameter that occurs once and is not empty (RFC 6749 section 3.1: a parameter without a value is
    /// treated as if it were omitted).
    subscript(name: String) -> String? {
        let found = items.filter { $0.name == name }
        guard found.count == 1, let value = found.first?.value, !value.isEmpty else { return nil }
        return value
    }

    /// Whether a name occurs, with a value or without.
    func has(_ name: String) -> Bool { items.contains { $0.name == name } }

    /// - Throws: `invalid_request` if a name occurs more than once (RFC 6749 section 3.1).
    func requireUniqueNames() throws(OAuthError) {
        guard Set(items.map(\.name)).count == items.count
        else { throw .invalidRequest("A parameter occurs more than once.") }
    }
}

extension JSONValue {
    /// The value as a form would carry it. The strings of a list are joined by spaces.
    fileprivate var parameter: String? {
        switch self {
        case .string(let text): text
        case .bool(let flag): flag ? "true" : "false"
        case .array(let elements):
            elements.contains { $0.string == nil } ? nil : elements.compactMap(\.string).joined(separator: " ")
        default: integer.map { String($0) }
        }
    }
}

extension String {
    /// The URL with parameters added to its query. It has no fragment.
    func adding(_ parameters: [(name: String, value: String?)]) -> String {
        let given = parameters.compactMap { name, value in value.map { (name: name, value: $0) } }
        guard !given.isEmpty else { return self }
        let query = String(decoding: PercentEncoding.form(given), as: UTF8.self)
        return self + (utf8.contains(UInt8(ascii: "?")) ? "&" : "?") + query
    }
}
