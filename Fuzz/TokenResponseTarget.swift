import Primitives

@testable import OpenIDConnect

/// The bytes as a response of the token endpoint and of others; of status 400 if they begin with an exclamation mark.
enum TokenResponseTarget {
    static func read(_ bytes: [UInt8]) {
        let isRefusal = bytes.first == UInt8(ascii: "!")
        let response = OutboundResponse(status: isRefusal ? 400 : 200, body: Array(bytes.dropFirst(isRefusal ? 1 : 0)))
        JSONPromise.value(response.body)
        do throws(OIDCError) {
            let tokens = try TokenResponse(response, limits: OutboundLimits())
            demand(!isRefusal, "a refusal gives no tokens")
            demand(
                !tokens.accessToken.exposed.isEmpty
                    && tokens.accessToken.exposed.utf8.allSatisfy { (0x21...0x7E).contains($0) },
                "an access token breaks no line of a request")
            demand(
                tokens.idToken?.exposed.isEmpty == false && tokens.refreshToken?.exposed != "", "tokens are not empty")
            demand((tokens.expiresIn ?? 0) >= 0, "a lifetime is not negative")
        } catch {
            demand(error.codeMayBeSpent, "after an answer the code is not sent again")
        }
        if let started = try? BackchannelAuthenticationResponse(response, limits: OutboundLimits()) {
            demand(!isRefusal, "a refusal starts no authentication")
            demand(
                started.requestID.exposed.utf8.allSatisfy { (0x21...0x7E).contains($0) },
                "an auth_req_id is visible ASCII")
            let bounds = 1...BackchannelAuthenticationResponse.longestLifetime
            demand(
                bounds.contains(started.expiresIn) && bounds.contains(started.interval),
                "the times of polls are bounded")
        }
        let created = OutboundResponse(status: isRefusal ? 400 : 201, body: response.body)
        if let pushed = try? PushedAuthorizationResponse(created, limits: OutboundLimits()) {
            demand(!isRefusal, "a refusal gives no request_uri")
            demand(
                (1...PushedAuthorizationResponse.maximumBytes).contains(pushed.requestURI.utf8.count)
                    && pushed.requestURI.utf8.allSatisfy { (0x21...0x7E).contains($0) },
                "a request_uri breaks no line of a response")
            demand(pushed.expiresIn > 0, "a request has not expired when it begins")
        }
    }
}
