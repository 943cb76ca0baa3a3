import HTTPServer
import HTTPTypes

extension CarrierSimulator {
    /// Why the simulator does not do what was asked, in OAuth's words (RFC 6749 sections 4.1.2.1 and 5.2).
    public struct Refusal: Error, Sendable {
        /// `invalid_request`, `invalid_grant` and the like.
        public let code: String
        /// For people. Repeats nothing of what was received.
        public let reason: String

        var status: HTTPResponse.Status = .badRequest

        init(_ code: String, _ reason: String, status: HTTPResponse.Status = .badRequest) {
            self.code = code
            self.reason = reason
            self.status = status
        }

        static func invalidRequest(_ reason: String) -> Refusal { Refusal("invalid_request", reason) }

        /// The refusal as an endpoint answers it: an object of `error` and `error_description`.
        func response(headers: HTTPFields = [:]) -> Response {
            var response = Response.json(
                ["error": .text(code), "error_description": .text(reason)], status: status)
            response.headers.append(contentsOf: headers)
            return response
        }
    }
}
