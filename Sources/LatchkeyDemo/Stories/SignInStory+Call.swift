import HTTPServer
import OpenIDConnect
import Primitives

extension SignInStory {
    /// One request to a provider, and its response, without secrets: of a value that is not listed in ``shown``, only
    /// the length.
    static func call(
        _ request: OutboundRequest, _ result: Result<OutboundResponse, OutboundError>, took nanoseconds: UInt64
    ) -> JSONValue {
        let (address, query) = split(request.url.text)
        var members: [(name: String, value: JSONValue?)] = [
            ("method", .string(request.method.rawValue)), ("url", .string(address)),
            ("step", (request.destination?.step).map { .string("\($0)") }),
            ("ms", milliseconds(nanoseconds)),
            ("sent", .array(headers(request) + form(query) + content(request.body))),
        ]
        switch result {
        case .success(let response):
            members.append(("status", .integer(Int64(response.status))))
            members.append(("received", .array(Self.members(of: response.body))))
        case .failure(let error): members.append(("failed", .string(error.code.rawValue)))
        }
        return .object(of: members)
    }

    /// The names of values that are neither secret nor a user's, and so are shown as they are.
    private static let shown: Set<String> = [
        "acr", "acr_values", "client_assertion_type", "client_id", "code_challenge_methods_supported",
        "correlation_id", "error", "error_description", "expires_in", "grant_type",
        "id_token_signing_alg_values_supported", "interval", "issuer", "jwks_uri", "lastSimSwap", "latestSimChange",
        "maxAge", "mccmnc", "prompt", "redirect_uri", "requested_token_use", "response_type", "scope",
        "token_endpoint_auth_methods_supported", "token_type",
    ]

    /// The longest value that is shown.
    private static let maximumLength = 160

    private static func split(_ url: String) -> (address: String, query: String) {
        guard let mark = url.firstIndex(of: "?") else { return (url, "") }
        return (String(url[..<mark]), String(url[url.index(after: mark)...]))
    }

    /// The scheme of the authentication, and whether a proof of possession is sent.
    private static func headers(_ request: OutboundRequest) -> [JSONValue] {
        request.headers.compactMap { name, value in
            switch name.lowercased() {
            case "authorization": pair("Authorization", "\(value.prefix { $0 != " " }) …")
            case "dpop": pair("DPoP", "a proof of possession, \(value.utf8.count) characters")
            default: nil
            }
        }
    }

    private static func content(_ body: [UInt8]) -> [JSONValue] {
        body.first == UInt8(ascii: "{") ? members(of: body) : form(String(decoding: body, as: UTF8.self))
    }

    private static func form(_ text: String) -> [JSONValue] {
        (Query(text)?.items ?? []).map { pair($0.name, shown.contains($0.name) ? clipped($0.value) : hidden($0.value)) }
    }

    /// The members of a JSON object; of keys, and of other content, only what it is.
    private static func members(of body: [UInt8]) -> [JSONValue] {
        guard !body.isEmpty else { return [] }
        guard let object = (try? JSONValue(parsing: body))?.object
        else { return [pair("content", "\(body.count) bytes")] }
        let members = object.members.map { (name: $0.name, text: text($0.name, $0.value)) }
        let told = members.filter { $0.text != nil }.map { pair($0.name, $0.text ?? "") }
        let others = members.count - told.count
        return others == 0 ? told : told + [pair("…", "\(others) more")]
    }

    /// Nil for a member that says nothing to a reader.
    private static func text(_ name: String, _ value: JSONValue) -> String? {
        let isShown = shown.contains(name) || name.hasSuffix("_endpoint")
        return switch value {
        case .bool(let flag): isShown || isVerdict(name) ? "\(flag)" : nil
        case .integer(let number): isShown ? "\(number)" : nil
        case .string(let text): isShown ? clipped(text) : hidden(text)
        case .array(let items): name == "keys" ? "\(items.count) keys" : isShown ? clipped(value.text) : nil
        default: nil
        }
    }

    /// The answers of the operators' APIs.
    private static func isVerdict(_ name: String) -> Bool { ["swapped", "devicePhoneNumberVerified"].contains(name) }

    private static func hidden(_ text: String) -> String { "… (\(text.utf8.count) characters)" }

    private static func clipped(_ text: String) -> String {
        text.count <= maximumLength ? text : "\(text.prefix(maximumLength))…"
    }

    private static func pair(_ name: String, _ text: String) -> JSONValue { .texts([clipped(name), text]) }
}
