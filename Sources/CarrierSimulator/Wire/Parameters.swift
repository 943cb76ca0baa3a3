import HTTPServer
import HTTPTypes

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Named values of a query, a form or a flat JSON object.
struct Parameters: Sendable {
    typealias Item = CarrierSimulator.RequestLog.Parameter

    var items: [Item] = []

    init(_ items: [Item] = []) {
        self.items = items
    }

    init(_ query: Query) {
        items = query.items.map { Item(name: $0.name, value: $0.value) }
    }

    /// The parameters of a request's query; none if the query is malformed.
    init(queryOf request: Request) {
        if let query = try? request.query { self.init(query) } else { self.init() }
    }

    /// What stands in a request's content; nothing if it has none.
    /// - Throws: `invalid_request` if it is neither a form nor a JSON object of texts, numbers, flags and lists of
    ///   texts, or is malformed.
    init(contentOf request: Request) throws(CarrierSimulator.Refusal) {
        if request.body.isEmpty { return }
        let type = request.headers[.contentType]?.split(separator: ";").first?.lowercased()
        switch type {
        case "application/x-www-form-urlencoded"?:
            guard let text = String(validating: request.body, as: UTF8.self), let form = Query(text)
            else { throw .invalidRequest("The form is malformed.") }
            self = Parameters(form)
        case "application/json"?:
            guard let object = try? JSONDecoder().decode([String: Scalar].self, from: Data(request.body))
            else { throw .invalidRequest("The content is not a JSON object of texts, numbers, flags and lists.") }
            items = object.sorted { $0.key < $1.key }.map { Item(name: $0.key, value: $0.value.text) }
        default:
            throw .invalidRequest("Content-Type must be application/x-www-form-urlencoded or application/json.")
        }
    }

    /// The value of a parameter that stands once and is not empty (RFC 6749 section 3.1: a parameter without a value
    /// is treated as if it were left out).
    subscript(name: String) -> String? {
        let found = items.filter { $0.name == name }
        guard found.count == 1, let value = found.first?.value, !value.isEmpty else { return nil }
        return value
    }

    /// Whether a name stands at all, with a value or without.
    func has(_ name: String) -> Bool { items.contains { $0.name == name } }

    /// Whether a name stands more than once, which RFC 6749 section 3.1 forbids.
    var hasRepeatedName: Bool { Set(items.map(\.name)).count != items.count }

    mutating func add(_ name: String, _ value: String?) {
        if let value { items.append(Item(name: name, value: value)) }
    }
}

/// A JSON value that fits where a form has a text. A list of texts becomes one text with spaces between.
private struct Scalar: Decodable {
    let text: String

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let text = try? container.decode(String.self) {
            self.text = text
        } else if let number = try? container.decode(Int64.self) {
            text = String(number)
        } else if let flag = try? container.decode(Bool.self) {
            text = flag ? "true" : "false"
        } else {
            text = try container.decode([String].self).joined(separator: " ")
        }
    }
}
