import HTTPServer
import HTTPTypes
import Primitives
import SignIn

/// The fields of a request's body: of a JSON object, or of a form.
enum BodyFields {
    case json(JSONObject)
    case form(Query)

    /// Body fields are few and small.
    private static let limits = JSONLimits(bytes: 65_536, depth: 8, values: 256)

    /// Reads the body by its `Content-Type`.
    /// - Throws: 415 for another type or charset; 400 for a malformed body, or a repeated field.
    init(_ request: Request) throws(APIError) {
        switch try MediaType(request) {
        case .json:
            guard let value = try? JSONValue(parsing: request.body, limits: Self.limits) else {
                throw .malformed("The body is not JSON, or names a member twice. Send one JSON object.")
            }
            guard let object = value.object else { throw .malformed("The body is not a JSON object. Send one.") }
            self = .json(object)
        case .form:
            guard let text = String(validating: request.body, as: UTF8.self), let form = Query(text) else {
                throw .malformed("The body is not a form. Send name=value pairs, joined by & and percent-encoded.")
            }
            guard form.repeatedName == nil else {
                throw .malformed("A field of the form is repeated. Send each once.")
            }
            self = .form(form)
        }
    }

    /// The names of all fields.
    var names: [String] {
        switch self {
        case .json(let object): object.members.map(\.name)
        case .form(let form): form.items.map(\.name)
        }
    }

    /// The value of a field, also null or empty.
    func raw(_ name: String) -> JSONValue? {
        switch self {
        case .json(let object): object[name]
        case .form(let form): form[name].map { .string($0) }
        }
    }

    /// The value of a field; nil if it is missing, null, or empty (RFC 6749 section 3.1: then it counts as omitted).
    subscript(name: String) -> JSONValue? {
        switch self {
        case .json(let object):
            guard let value = object[name], !value.isNull, value != .string("") else { return nil }
            return value
        case .form(let form):
            guard let text = form[name], !text.isEmpty else { return nil }
            return .string(text)
        }
    }
}

/// The supported types of bodies.
private enum MediaType {
    case json
    case form

    init(_ request: Request) throws(APIError) {
        guard let field = request.headers[.contentType] else { throw .unsupportedMediaType }
        switch MediaTypeText.essence(of: field) {
        case "application/json": self = .json
        case "application/x-www-form-urlencoded": self = .form
        default: throw .unsupportedMediaType
        }
        guard field.utf8.contains(UInt8(ascii: ";")) else { return }
        let isUTF8 = field.split(ascii: ";", omittingEmptySubsequences: false).dropFirst().map(Self.normalized)
            .allSatisfy { parameter in
                !parameter.hasPrefix("charset=") || parameter == "charset=utf-8" || parameter == "charset=\"utf-8\""
            }
        guard isUTF8 else { throw .unsupportedMediaType }
    }

    private static func normalized(_ part: Substring) -> String {
        part.filter { $0 != " " && $0 != "\t" }.lowercased()
    }
}

extension APIError {
    static let unsupportedMediaType = APIError(
        .unsupportedMediaType, "unsupported_media_type", .invalidRequest,
        "Send application/json or application/x-www-form-urlencoded, in UTF-8.")
}
