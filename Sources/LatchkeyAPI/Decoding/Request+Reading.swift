import HTTPServer
import HTTPTypes

extension Request {
    /// The `{provider}` of the path.
    var provider: String { parameters["provider"] ?? "" }

    /// Whether the client is a script rather than a browser navigation.
    var prefersJSON: Bool { headers[.accept]?.hasPrefix("application/json") ?? false }
}
