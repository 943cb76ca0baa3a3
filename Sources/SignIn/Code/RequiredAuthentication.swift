package import Primitives

/// How recently the user must have authenticated at the provider (OpenID Connect Core sections 3.1.2.1 and 3.1.3.7).
package struct RequiredAuthentication: Sendable, Hashable {
    /// The longest `max_age`, in seconds: one year.
    package static let longestMaximumAge: Int64 = 31_536_000

    /// How long ago the user may have authenticated, in seconds (`max_age`); nil if it was not limited.
    package var maximumAge: Int64?
    /// The time before which the user must not have authenticated: the start of a sign-in with `prompt=login`.
    package var since: Timestamp?

    package init(maximumAge: Int64? = nil, since: Timestamp? = nil) {
        self.maximumAge = maximumAge
        self.since = since
    }

    /// Whether nothing is required.
    var isEmpty: Bool { maximumAge == nil && since == nil }
}

extension RequiredAuthentication {
    /// As it is stored: two numbers, each empty if it is nil.
    var text: String {
        "\(maximumAge.map(String.init) ?? "") \(since.map { String($0.secondsSinceEpoch) } ?? "")"
    }

    /// Nil for a text that ``text`` cannot be.
    init?(_ text: String) {
        let words = text.utf8.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
        guard words.count == 2 else { return nil }
        let numbers = words.map { Int64(Substring($0)) }
        self.init(maximumAge: numbers[0], since: numbers[1].map { Timestamp(secondsSinceEpoch: $0) })
        guard !isEmpty, self.text.hasSameBytes(as: text), (0...Self.longestMaximumAge).contains(maximumAge ?? 0)
        else { return nil }
    }
}
