import HTTPServer
import HTTPTypes
import Primitives

extension Response {
    static func json(
        _ object: JSONMembers, status: HTTPResponse.Status = .ok, cacheControl: String = "no-store"
    ) -> Response {
        Response(
            status: status, headers: [.contentType: "application/json", .cacheControl: cacheControl],
            body: object.serialized)
    }

    /// An HTML page. It loads only its own style sheet, sends no referrer and cannot be framed.
    static func page(_ page: HTML, status: HTTPResponse.Status = .ok) -> Response {
        let headers: HTTPFields = [
            .contentType: "text/html; charset=utf-8", .cacheControl: "no-store", .referrerPolicy: "no-referrer",
            .contentSecurityPolicy: "default-src 'none'; style-src 'self'; base-uri 'none'; frame-ancestors 'none'",
        ]
        return Response(status: status, headers: headers, body: Array(page.source.utf8))
    }

    /// A redirect, by default to a GET request (RFC 9110 section 15.4.4).
    static func redirect(to location: String, status: HTTPResponse.Status = .seeOther) -> Response {
        Response(
            status: status,
            headers: [.location: location, .cacheControl: "no-store", .referrerPolicy: "no-referrer"])
    }

    /// The HTML page of a broken backend.
    static func brokenPage(_ status: HTTPResponse.Status) -> Response {
        Response(
            status: status, contentType: "text/html; charset=utf-8",
            text: "<!doctype html><title>Something went wrong</title><p>Please try again later.</p>\n")
    }

    /// The response with permission for pages on this machine to read it. No other origin may.
    func shared(withPageOf request: Request) -> Response {
        var response = self
        response.headers[.vary] = "Origin"
        guard let origin = request.headers[.origin],
            ["http://127.0.0.1:", "http://localhost:"].contains(where: origin.hasPrefix)
        else { return response }
        response.headers[.accessControlAllowOrigin] = origin
        return response
    }
}

typealias OAuthError = CarrierSimulator.OAuthError

extension CarrierSimulator {
    /// An OAuth error of the simulator (RFC 6749 sections 4.1.2.1 and 5.2).
    public struct OAuthError: Error, Sendable {
        /// The `error`, such as `invalid_request` or `invalid_grant`.
        public let code: String
        /// The `error_description`. Repeats nothing of the request.
        public let reason: String

        var status: HTTPResponse.Status = .badRequest
        /// The nonce that the next DPoP proof must have.
        var nonce: String?
        /// Where a redirect carries the error to; nil if the browser shows it.
        var returning: ReturnAddress?

        init(_ code: String, _ reason: String, status: HTTPResponse.Status = .badRequest) {
            self.code = code
            self.reason = reason
            self.status = status
        }

        static func invalidRequest(_ reason: String, status: HTTPResponse.Status = .badRequest) -> OAuthError {
            OAuthError("invalid_request", reason, status: status)
        }

        static func invalidRequestURI(_ reason: String) -> OAuthError { OAuthError("invalid_request_uri", reason) }

        static func invalidClient(_ reason: String) -> OAuthError {
            OAuthError("invalid_client", reason, status: .unauthorized)
        }

        static let invalidToken = OAuthError(
            "invalid_token", "The access token is missing, unknown, expired or revoked.", status: .unauthorized)

        /// The JSON response, with the challenge of RFC 6749 section 5.2 or RFC 6750 section 3.
        var response: Response {
            var response = Response.json(
                ["error": .string(code), "error_description": .string(reason)], status: status)
            switch code {
            case "invalid_client": response.headers[.wwwAuthenticate] = "Basic realm=\"token\""
            case "invalid_token": response.headers[.wwwAuthenticate] = "Bearer error=\"invalid_token\""
            case "invalid_dpop_proof" where status == .unauthorized, "use_dpop_nonce" where status == .unauthorized:
                response.headers[.wwwAuthenticate] = "Bearer, DPoP algs=\"ES256\", error=\"\(code)\""
            default: break
            }
            if let nonce { response.headers[DPoPVerifier.nonceField] = nonce }
            return response
        }

        var page: Response { .page(RefusalPage.html(self), status: status) }
    }
}
