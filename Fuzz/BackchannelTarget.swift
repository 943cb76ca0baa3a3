import HTTPTypes
import Primitives

@testable import Backchannel
@testable import HTTPServer
@testable import LatchkeyAPI
@testable import OpenIDConnect

/// The bytes after the first one as what a provider sends about a backchannel authentication. The first byte says what:
/// `s` the response that starts it, `r` its refusal, `t` the response to a poll, `e` the error of a poll, `j` a
/// notification in JSON, `f` one in a form.
enum BackchannelTarget {
    static func read(_ bytes: [UInt8]) {
        guard let first = bytes.first else { return }
        let body = Array(bytes.dropFirst())
        switch first {
        case UInt8(ascii: "s"): readStart(body, status: 200)
        case UInt8(ascii: "r"): readStart(body, status: 400)
        case UInt8(ascii: "t"): readPoll(body, status: 200)
        case UInt8(ascii: "e"): readPoll(body, status: 400)
        case UInt8(ascii: "j"): readNotification(body, "application/json")
        case UInt8(ascii: "f"): readNotification(body, "application/x-www-form-urlencoded")
        default: break
        }
    }

    private static func readStart(_ body: [UInt8], status: Int) {
        let response = OutboundResponse(status: status, body: body)
        guard let started = try? BackchannelAuthenticationResponse(response, limits: OutboundLimits()) else { return }
        demand(status == 200, "a refusal starts no authentication")
        demand(isVisible(started.requestID, upTo: 512), "an auth_req_id is visible ASCII")
        let bounds = 1...BackchannelAuthenticationResponse.longestLifetime
        demand(
            bounds.contains(started.expiresIn) && bounds.contains(started.interval), "the times of polls are bounded")
    }

    private static func readPoll(_ body: [UInt8], status: Int) {
        let response = OutboundResponse(status: status, body: body)
        do throws(OIDCError) {
            let tokens = try TokenResponse(response, limits: OutboundLimits(), idToken: .required)
            demand(status == 200 && tokens.idToken != nil, "the tokens of a user have an ID token")
        } catch {
            switch BackchannelTokenResponse(error) {
            case .tokens: demand(false, "an error has no tokens")
            case .pending: demand(error.carrierError == "authorization_pending", "only one error means to wait")
            case .slowDown: demand(error.carrierError == "slow_down", "only one error means to wait longer")
            case nil: break
            }
        }
    }

    private static func readNotification(_ body: [UInt8], _ type: String) {
        var headers = HTTPFields()
        headers[.contentType] = type
        guard let request = try? Request(.post, "/", headers: headers, body: body),
            let notification = try? BackchannelNotification(BodyFields(request), isPing: false)
        else { return }
        demand(isVisible(notification.requestID, upTo: 512), "an auth_req_id is visible ASCII")
        demand((notification.state?.exposed.utf8.count ?? 0) <= 1024, "a state has its bound")
        switch notification.outcome {
        case .approved(let idToken, let accessToken):
            demand(isVisible(idToken, upTo: 32_768), "an ID token is visible ASCII")
            demand(accessToken.map { isVisible($0, upTo: 8192) } ?? true, "an access token breaks no line of a request")
        case .refused(let code): demand((1...255).contains(code.utf8.count), "an error has its bound")
        case .ready: break
        }
    }

    private static func isVisible(_ text: Secret, upTo longest: Int) -> Bool {
        (1...longest).contains(text.exposed.utf8.count) && text.exposed.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }
}
