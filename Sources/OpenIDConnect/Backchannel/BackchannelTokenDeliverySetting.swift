/// How a provider delivers the tokens of backchannel authentications, as the registration of the clients says
/// (`backchannel_token_delivery_mode`, CIBA Core section 4). The raw value is its name in the configuration.
///
/// The default is ``off``. Metadata lists what a provider supports, and not what it has registered for a client. And
/// who may start backchannel authentications may have users prompted.
public enum BackchannelTokenDeliverySetting: String, Sendable, Hashable, CaseIterable {
    /// There are no backchannel authentications.
    case off
    /// ``BackchannelTokenDeliveryMode/poll``.
    case poll
    /// ``BackchannelTokenDeliveryMode/ping``.
    case ping

    /// The mode; nil for ``off``.
    public var mode: BackchannelTokenDeliveryMode? {
        switch self {
        case .off: nil
        case .poll: .poll
        case .ping: .ping
        }
    }
}
