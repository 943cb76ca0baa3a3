import HTTPTypes
import Primitives

/// An operation as OpenAPI writes it (OpenAPI 3.1, Operation Object).
extension APIOperation {
    func json(_ shared: inout APIResponses) -> JSONValue {
        .object(of: [
            ("operationId", .string(id)), ("tags", .texts([tag.rawValue])), ("summary", .string(summary)),
            ("description", .string(description)), ("security", security),
            ("parameters", parameters.isEmpty ? nil : .array(parameters.map(\.json))),
            ("requestBody", body?.json), ("responses", allResponses(&shared)),
        ])
    }

    private var security: JSONValue {
        let ways: [[String]] =
            switch access {
            case .open, .browser: []
            case .key: [["apiKey"], ["allowedOrigin"]]
            case .keyOrPage: [["apiKey"], ["allowedOrigin"], ["ownPage"]]
            case .refresh: [["apiKey"], ["allowedOrigin"], ["refreshCookie"]]
            case .service: [["apiKey"], ["apiKeyAsPassword"]]
            case .session: [["apiKey", "session"], ["allowedOrigin", "session"], ["sessionCookie"]]
            case .browserSession: [["sessionCookie"]]
            case .notification: [["notificationToken"]]
            }
        return .array(ways.map { way in .object(of: way.map { ($0, .array([])) }) })
    }

    private func allResponses(_ shared: inout APIResponses) -> JSONValue {
        let own = APIRefusal.ofAccess(access, method) + refusals + (body == nil ? [] : [.unsupportedMediaType])
        let refusals = APIRefusal.ofAnyRequest + own
        var statuses: [HTTPResponse.Status] = []
        for status in responses.map(\.status) + refusals.map(\.status) where !statuses.contains(status) {
            statuses.append(status)
        }
        statuses.sort { $0.code < $1.code }
        return .object(
            of: statuses.map { status in
                let name = "\(status.code)"
                let successes = responses.filter { $0.status == status }
                if !successes.isEmpty { return (name, APIOperation.Response.json(successes)) }
                // The server's own refusals come before it knows that a browser asks. A form can also be too large for
                // its route.
                let isRouted =
                    [400, 429, 500, 503].contains(status.code) || own.contains { $0.status == status }
                    || body != nil && status == .contentTooLarge
                let asPage = (access == .browser || access == .browserSession) && isRouted
                return (name, shared.reference(to: refusals.filter { $0.status == status }, asPage: asPage))
            })
    }
}

extension APIOperation.Parameter {
    fileprivate var json: JSONValue {
        .object(of: [
            ("name", .string(name)), ("in", .string(location)), ("required", isRequired ? .bool(true) : nil),
            ("schema", schema.json),
        ])
    }
}

extension APIOperation.Body {
    fileprivate var json: JSONValue {
        let body = JSONValue.object(of: [
            ("schema", APISchema.named(schema).json), ("example", try? JSONValue(parsing: Array(example.utf8))),
        ])
        return ["required": true, "content": .object(of: [(contentType, body)])]
    }
}

extension APIOperation.Response {
    /// The responses of one status, each with its own content type.
    fileprivate static func json(_ responses: [Self]) -> JSONValue {
        let contents = responses.compactMap { response in
            response.schema.map { schema in
                let example = response.example.flatMap { try? JSONValue(parsing: Array($0.utf8)) }
                return (response.contentType, JSONValue.object(of: [("schema", schema.json), ("example", example)]))
            }
        }
        let headers = responses.flatMap(\.headers).reduce(into: ["X-Request-Id"]) { names, name in
            if !names.contains(name) { names.append(name) }
        }
        return .object(of: [
            ("description", .string(responses.map(\.description).joined(separator: " "))),
            ("headers", APIResponses.headers(headers)),
            ("content", contents.isEmpty ? nil : .object(of: contents)),
        ])
    }
}
