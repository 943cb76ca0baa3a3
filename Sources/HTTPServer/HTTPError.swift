public import HTTPTypes

/// An error response: the server's own refusals, and errors that a handler throws.
public struct HTTPError: Error, Sendable {
    public let status: HTTPResponse.Status
    /// Stable, in snake_case; for programs.
    public let code: String
    /// For developers: what was wrong and what to do. Never repeats input.
    public let message: String
    /// Fields of the response.
    public let headers: HTTPFields

    /// An error with its response.
    public init(_ status: HTTPResponse.Status, code: String, message: String, headers: HTTPFields = [:]) {
        self.status = status
        self.code = code
        self.message = message
        self.headers = headers
    }

    /// The response without an ``ErrorRenderer``: the message as plain text.
    public func plainResponse() -> Response {
        var response = Response(status: status, contentType: "text/plain; charset=utf-8", text: message + "\n")
        response.headers.append(contentsOf: headers)
        return response
    }
}

extension HTTPError {
    /// 500: a handler threw an error that is not an ``HTTPError``.
    public static let internalServerError = HTTPError(
        .internalServerError, code: "server_error", message: "The server failed. Try again later.")
}
