import LatchkeyConfiguration
import OpenIDConnect
import SignIn

extension OutboundLimits {
    /// The timeout of tests with a carrier that never answers: short, and long enough for the answers that do come on a
    /// machine that is busy with other work.
    static let shortTimeout = Duration.seconds(3)

    /// ``shortTimeout`` for all requests.
    static var short: Self {
        var limits = Self()
        limits.discoveryTimeout = shortTimeout
        limits.keysTimeout = shortTimeout
        limits.tokenTimeout = shortTimeout
        limits.userInfoTimeout = shortTimeout
        return limits
    }
}

extension EncryptionKey {
    /// The keys of 64 hexadecimal digits each.
    static func of(_ keys: String...) -> [EncryptionKey] { keys.compactMap { EncryptionKey(hexadecimal: $0) } }
}
