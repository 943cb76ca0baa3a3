import HTTPServer
import HTTPTypes

extension Request {
    /// The provider that the path names.
    var provider: String { parameters["provider"] ?? "" }

    /// Whether whoever asks is a script rather than a person's browser on its way.
    var prefersJSON: Bool { headers[.accept]?.hasPrefix("application/json") ?? false }
}
