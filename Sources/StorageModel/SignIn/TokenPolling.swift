package import Primitives

/// How the tokens of a backchannel authentication are fetched from a provider (CIBA Core section 10), stored so that
/// all instances together keep to the provider's interval.
package struct TokenPolling: Sendable, Hashable {
    /// Whether the provider notifies this server (CIBA Core section 5).
    package enum Mode: String, Sendable, CaseIterable {
        case poll, ping
    }

    package let mode: Mode
    /// The provider's id of the request (`auth_req_id`), encrypted by the use case; nil before the provider has
    /// accepted the request, and after the sign-in has ended.
    package var sealedRequest: [UInt8]?
    /// The seconds that the provider wants between two polls.
    package var interval: Int64
    /// Before this time the provider is not polled.
    package var nextAt: Timestamp
    /// Until this time a poll is under way, and no other one is sent; nil if there is none.
    package var busyUntil: Timestamp?
    /// Whether the provider has said that the tokens are ready.
    package var isNotified = false

    package init(mode: Mode, interval: Int64, nextAt: Timestamp) {
        self.mode = mode
        self.interval = interval
        self.nextAt = nextAt
    }
}
