import LatchkeyConfiguration

extension Configuration.Outbound.Timeouts {
    /// So that a carrier that never answers is waited for no longer than a test needs.
    static var short: Self {
        var timeouts = Self()
        timeouts.discovery = .seconds(1)
        timeouts.keys = .seconds(1)
        timeouts.token = .seconds(1)
        timeouts.userInfo = .seconds(1)
        return timeouts
    }
}
