import LatchkeyConfiguration
import OpenIDConnect
import SignIn

extension OutboundLimits {
    /// One second each, so that tests do not wait long for a carrier that never answers.
    static var short: Self {
        var limits = Self()
        limits.discoveryTimeout = .seconds(1)
        limits.keysTimeout = .seconds(1)
        limits.tokenTimeout = .seconds(1)
        limits.userInfoTimeout = .seconds(1)
        return limits
    }
}

extension EncryptionKey {
    /// The keys of 64 hexadecimal digits each.
    static func of(_ keys: String...) -> [EncryptionKey] { keys.compactMap { EncryptionKey(hexadecimal: $0) } }
}
