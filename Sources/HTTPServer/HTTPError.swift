public import HTTPTypes

/// An answer that says no: the server's own refusals and those a handler throws.
public struct HTTPError: Error, Sendable {
    public let status: HTTPResponse.Status
    /// Stable, in snake_case; for programs.
    public let code: String
    /// What was wrong and what to do; for people. Never repeats what was received.
    public let message: String
    public let headers: HTTPFields

    public init(_ status: HTTPResponse.Status, code: String, message: String, headers: HTTPFields = [:]) {
        self.status = status
        self.code = code
        self.message = message
        self.headers = headers
    }

    /// The answer where nobody says how to render one.
    public func plainResponse() -> Response {
        var response = Response(status: status, contentType: "text/plain; charset=utf-8", text: message + "\n")
        response.headers.append(contentsOf: headers)
        return response
    }
}

extension HTTPError {
    /// A handler failed in a way that nobody foresaw.
    public static let internalServerError = HTTPError(
        .internalServerError, code: "server_error", message: "The server met an error of its own. Try again later.")
}
