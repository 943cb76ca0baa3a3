package import OpenIDConnect
import Primitives

/// What a sign-in asks of the provider: for which claims, and how the user shall be authenticated (OpenID Connect Core
/// section 3.1.2.1).
package struct AuthenticationDemand: Sendable {
    /// The longest `max_age`, in seconds: one year.
    package static let longestMaximumAge: Int64 = 31_536_000

    /// The scopes asked for.
    package var scopes: [String] = []
    /// The authentication contexts asked for. Any of them will do.
    package var acrValues: [String] = []
    /// The text that the user is asked to approve.
    package var context: String?
    package var prompt: [Prompt] = []
    /// Whom the provider may expect to sign in.
    package var loginHint: String?
    /// How long ago the user may have authenticated, in seconds (`max_age`), up to ``longestMaximumAge``; nil if it is
    /// not limited.
    package var maximumAge: Int64?
    /// The time before which the user must not have authenticated: the start of a sign-in with `prompt=login`.
    var since: Timestamp?

    package init() {}

    /// Whether only an ID token can confirm it.
    var needsIDToken: Bool { !acrValues.isEmpty || context != nil || maximumAge != nil }
}

/// As it is stored with a sign-in under way, and as a capsule shows it.
extension AuthenticationDemand {
    /// How recently the user must have authenticated: two numbers, each empty if it is nil. Nil if nothing is demanded.
    var recency: String? {
        guard maximumAge != nil || since != nil else { return nil }
        return "\(maximumAge.map(String.init) ?? "") \(since.map { String($0.secondsSinceEpoch) } ?? "")"
    }

    /// Reads ``recency``; false for a text that it cannot be.
    mutating func read(recency text: String) -> Bool {
        let words = text.utf8.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
        guard words.count == 2 else { return false }
        let numbers = words.map { Int64(Substring($0)) }
        maximumAge = numbers[0]
        since = numbers[1].map { Timestamp(secondsSinceEpoch: $0) }
        return recency?.hasSameBytes(as: text) ?? false && (0...Self.longestMaximumAge).contains(maximumAge ?? 0)
    }

    /// The scopes and what else an ID token confirms.
    var capsuleMembers: [CapsuleSubject.Member] {
        [
            ("scopes", .words(scopes)), ("acr_values", acrValues.isEmpty ? nil : .words(acrValues)),
            ("context", context.map { .secret(Secret($0)) }),
        ]
    }
}

/// `prompt` as it is stored with a sign-in under way.
extension Prompt {
    /// Nil if there is no value.
    static func text(_ prompt: [Prompt]) -> String? {
        prompt.isEmpty ? nil : prompt.map(\.rawValue).joined(separator: " ")
    }

    /// The stored values. An unknown one, which an earlier version did not refuse, is left out.
    static func stored(_ text: String) -> [Prompt] {
        text.split(ascii: " ").compactMap { Prompt(rawValue: String($0)) }
    }
}
