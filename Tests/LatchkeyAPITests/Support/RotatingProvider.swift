import Foundation
import OpenIDConnect
import Primitives
import Synchronization
import TestSupport

/// A provider without ID tokens whose refresh tokens are good once, as RFC 9700 section 4.14.2 recommends: a second use
/// revokes the grant, unless it accepts repetitions.
final class RotatingProvider: Sendable {
    /// What becomes of a refresh request.
    enum Course: Sendable {
        /// It is processed, and the response arrives once the gate is open.
        case answered(after: Gate?)
        /// It is processed, and the response is lost.
        case lost
        /// It does not arrive.
        case notSent
        /// It is refused with an error of RFC 6749 section 5.2.
        case refused(String)
    }

    private struct State {
        var number = 0
        /// The refresh tokens that were issued, the last one being the current one.
        var issued = ["refresh-0"]
        var isRevoked = false
        var acceptsRepetitions = false
        var lifetime: Int64 = 600
        var courses: [Course] = []
        var sent: [String] = []
    }

    static let tokenURL = "https://meetings.example/token"
    static let resourceURL = "https://meetings.example/me/token"

    private let state = Mutex(State())

    var http: ScriptedHTTPClient {
        ScriptedHTTPClient { [self] request async throws(OutboundError) in try await respond(to: request) }
    }

    /// The refresh tokens of all requests that were made, in their order.
    var sent: [String] { state.withLock(\.sent) }

    /// The access token that the resource accepts; nil after the grant has ended.
    var accessToken: String? { state.withLock { $0.isRevoked ? nil : "access-\($0.number)" } }

    /// The next requests take these courses, and later ones are answered.
    func courses(_ courses: Course...) { state.withLock { $0.courses = courses } }

    func acceptRepetitions() { state.withLock { $0.acceptsRepetitions = true } }

    func issueTokens(for seconds: Int64) { state.withLock { $0.lifetime = seconds } }

    /// Revokes the present access token, but no refresh token.
    func expireAccessToken() { state.withLock { $0.number += 1 } }

    func revoke() { state.withLock { $0.isRevoked = true } }

    private func respond(to request: OutboundRequest) async throws(OutboundError) -> OutboundResponse {
        guard request.url.text == Self.tokenURL else {
            let bearer = request.headers.first { $0.name == "Authorization" }?.value
            guard let accessToken, bearer == "Bearer " + accessToken else { return .json("{}", status: 401) }
            return .json(#"{"token":"zak"}"#)
        }
        let form = String(decoding: request.body, as: UTF8.self).split(separator: "&")
        let shown = form.first { $0.hasPrefix("refresh_token=") }.map { String($0.dropFirst(14)) } ?? ""
        let course = state.withLock { state in
            state.sent.append(shown)
            return state.courses.isEmpty ? .answered(after: nil) : state.courses.removeFirst()
        }
        switch course {
        case .notSent: throw OutboundError(.unreachable, mayHaveBeenSent: false, reason: "connection refused")
        case .refused(let code): return .json(#"{"error":"\#(code)"}"#, status: 400)
        case .lost:
            _ = process(shown)
            throw OutboundError(.closed, mayHaveBeenSent: true, reason: "connection closed")
        case .answered(let gate):
            let response = process(shown)
            await gate?.pass()
            return response
        }
    }

    private func process(_ shown: String) -> OutboundResponse {
        state.withLock { state in
            if shown != state.issued.last, !(state.acceptsRepetitions && state.issued.contains(shown)) {
                state.isRevoked = true
            }
            guard !state.isRevoked else { return .json(#"{"error":"invalid_grant"}"#, status: 400) }
            state.number += 1
            state.issued.append("refresh-\(state.number)")
            return .json(
                """
                {"access_token":"access-\(state.number)","token_type":"Bearer","expires_in":\(state.lifetime),\
                "refresh_token":"refresh-\(state.number)"}
                """)
        }
    }
}
