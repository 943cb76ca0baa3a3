package import HTTPServer
import HTTPTypes
package import Primitives
import SignIn

/// The fields of a request's body: of a JSON object, or of a form.
package enum BodyFields {
    case json(JSONObject)
    case form(Query)

    /// Body fields are few and small.
    private static let limits = JSONLimits(bytes: 65_536, depth: 8, values: 256)

    /// Bytes of a body from a caller without an API key. A provider's token fits; decoding costs anyone's time.
    private static let keylessBytes = 16 << 10

    /// Reads the body by its `Content-Type`.
    /// - Parameter admission: Of the caller; nil on a route that needs no API key.
    /// - Throws: 415 for another type or charset; 413 for more than 16 KiB from a caller without an API key;
    ///   400 for a malformed body, or a repeated field.
    package init(_ request: Request, from admission: Admission? = nil) throws(APIError) {
        let isForm = try Self.isForm(request)
        let hasKey = if case .key? = admission?.ground { true } else { false }
        guard hasKey || request.body.count <= Self.keylessBytes else { throw .bodyTooLarge }
        if isForm {
            guard let form = Query(request.body) else {
                throw .malformed("The body is not a form. Send name=value pairs, joined by & and percent-encoded.")
            }
            guard form.repeatedName == nil else {
                throw .malformed("A field of the form is repeated. Send each once.")
            }
            self = .form(form)
        } else {
            guard let value = try? JSONValue(parsing: request.body, limits: Self.limits) else {
                throw .malformed("The body is not JSON, or names a member twice. Send one JSON object.")
            }
            guard let object = value.object else { throw .malformed("The body is not a JSON object. Send one.") }
            self = .json(object)
        }
    }

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

    /// Whether the body is a form by its `Content-Type`, or else JSON.
    private static func isForm(_ request: Request) throws(APIError) -> Bool {
        guard let field = request.headers[.contentType] else { throw .unsupportedMediaType }
        let type = MediaTypeText.essence(of: field)
        guard type == "application/json" || type == "application/x-www-form-urlencoded", field.withBytes(isUTF8) else {
            throw .unsupportedMediaType
        }
        return type != "application/json"
    }

    /// Whether no parameter of the field names another charset.
    private static func isUTF8(_ field: UnsafeBufferPointer<UInt8>) -> Bool {
        var rest = field[...]
        while let semicolon = rest.firstIndex(of: UInt8(ascii: ";")) {
            rest = rest[(semicolon + 1)...]
            let text = rest.prefix { $0 != UInt8(ascii: ";") }
            // A field can have thousands of parameters that are too short.
            guard text.count >= "charset=".utf8.count else { continue }
            let parameter = text.lazy
                .filter { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\t") }
                .map(\.lowercasedASCII)
            guard
                !parameter.starts(with: "charset=".utf8) || parameter.elementsEqual("charset=utf-8".utf8)
                    || parameter.elementsEqual("charset=\"utf-8\"".utf8)
            else { return false }
        }
        return true
    }
}

extension APIError {
    static let bodyTooLarge = APIError(
        .contentTooLarge, "payload_too_large", .invalidRequest,
        "The body is too large. Without an API key it may have 16,384 bytes.")

    static let unsupportedMediaType = APIError(
        .unsupportedMediaType, "unsupported_media_type", .invalidRequest,
        "Send application/json or application/x-www-form-urlencoded, in UTF-8.")
}
