import Primitives

@testable import OpenIDConnect

/// The bytes as the response to a pushed authorization request, plain or signed: of status 400 if they begin with an
/// exclamation mark, and 201 otherwise.
enum PushedAuthorizationTarget {
    static func read(_ bytes: [UInt8]) {
        let isRefusal = bytes.first == UInt8(ascii: "!")
        let response = OutboundResponse(status: isRefusal ? 400 : 201, body: Array(bytes.dropFirst(isRefusal ? 1 : 0)))
        JSONPromise.value(response.body)
        do throws(OIDCError) {
            let pushed = try PushedAuthorizationResponse(response, limits: OutboundLimits())
            demand(!isRefusal, "a refusal gives no request_uri")
            demand(
                (1...PushedAuthorizationResponse.maximumBytes).contains(pushed.requestURI.utf8.count)
                    && pushed.requestURI.utf8.allSatisfy { (0x21...0x7E).contains($0) },
                "a request_uri breaks no line of a response")
            demand(pushed.expiresIn > 0, "a request has not expired when it begins")
        } catch {
            let isUnderstood = [.carrierRefused, .clientRefused].contains(error.code)
            demand(isUnderstood || error.code == .unusableResponse, "a response is an answer, a refusal, or unusable")
            demand(!isUnderstood || isRefusal, "only a refusal is read as one")
            demand(error.carrierError.map(OIDCError.isErrorCode) ?? true, "what is shown of an error is a code")
            demand(!error.codeMayBeSpent, "no code was sent")
        }
    }
}
