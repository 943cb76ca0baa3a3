import Primitives

@testable import OpenIDConnect

/// The bytes as a response of the token endpoint; of status 400 if they begin with an exclamation mark.
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
    }
}
