import HTTPServer
import LatchkeyAPI
import OpenIDConnect
import SignIn
import Testing

/// `message` of an error response. ``PublishedAPI`` applies the same check to every response in these tests.
@Suite("The message for the user")
struct UserMessageTests {
    /// Words that only developers and operators understand.
    private static let technicalWords = [
        "token", "header", "field", "parameter", "json", "http", "api", "oauth", "openid", "request", "server",
        "client",
        "code", "redirect", "uri", "url", "nonce", "scope", "endpoint", "configur", "issuer", "database", "operator",
        "retry-after", "null", "handle", "key", "_", "`", "{", "<",
    ]

    static func check(_ message: String) {
        let text = message.lowercased()
        for word in technicalWords where text.contains(word) {
            Issue.record("\"\(message)\" says \"\(word)\" to a person")
        }
        #expect(message.hasSuffix("."))
        #expect((10...110).contains(message.count), "\(message)")
    }

    static let codes =
        RequestError.allCases.map(\.httpError.code) + ProviderErrorTable.rows.map(\.code) + [
            "aggregator_error", "carrier_error", "carrier_timeout", "credential_invalid", "email_domain_blocked",
            "expired_token", "grant_missing",
            "grant_revoked",
            "insufficient_user_authentication", "invalid_api_key", "invalid_id_token", "invalid_token",
            "issuer_mismatch",
            "last_identity", "method_not_allowed", "not_found", "receipt_redeemed", "unlinked_user",
            "unsupported_grant_type", "user_already_exists",
            "user_not_registered",
            "anything_of_the_carrier",
        ]

    @Test("is one or two short sentences without technical terms", arguments: Set(codes).sorted())
    func plain(_ code: String) {
        for type in ErrorType.allCases { Self.check(UserMessage.text(code, type)) }
    }

    @Test("of a situation is, too", arguments: UserMessage.Situation.allCases)
    func situation(_ situation: UserMessage.Situation) { Self.check(situation.rawValue) }
}
