public import Primitives

/// How a provider delivers the tokens of a backchannel authentication (CIBA Core section 5). The raw value is its name
/// in metadata.
///
/// The mode `push` is not here: its notifications carry tokens, and FAPI-CIBA section 5.2.2 forbids it.
public enum BackchannelTokenDeliveryMode: String, Sendable, Hashable, CaseIterable {
    /// The client asks the token endpoint again and again.
    case poll
    /// As ``poll``; besides, the provider notifies the client once the tokens are ready.
    case ping
}

/// What a provider's metadata says about backchannel authentication (CIBA Core section 4).
public struct BackchannelAuthenticationMetadata: Sendable, Hashable {
    /// Where authentication requests are sent: `backchannel_authentication_endpoint`.
    public let endpoint: EndpointURL
    /// The supported modes that the provider lists. Nil without a list, which CIBA demands.
    public let deliveryModes: Set<BackchannelTokenDeliveryMode>?
    /// The algorithms that authentication requests may be signed with, as far as this module supports them; nil without
    /// a list, and then the provider accepts no signed ones.
    public let signingAlgorithms: Set<SigningAlgorithm>?
    /// Whether the provider accepts a `user_code`: `backchannel_user_code_parameter_supported`.
    public let acceptsUserCode: Bool

    /// Whether tokens can be had in a mode, as far as the provider lists modes.
    package func mayDeliver(by mode: BackchannelTokenDeliveryMode) -> Bool { deliveryModes?.contains(mode) ?? true }
}

extension BackchannelAuthenticationMetadata {
    /// Nil if the provider has no acceptable endpoint. Only backchannel authentication needs it, so a bad one does not
    /// keep users from signing in otherwise.
    init?(_ reader: MetadataReader) {
        guard let endpoint = try? reader.optionalEndpoint("backchannel_authentication_endpoint") else { return nil }
        self.init(
            endpoint: endpoint,
            deliveryModes: try? reader.known("backchannel_token_delivery_modes_supported"),
            signingAlgorithms: try? reader.known("backchannel_authentication_request_signing_alg_values_supported"),
            acceptsUserCode: reader.flag("backchannel_user_code_parameter_supported"))
    }
}

/// How a provider delivers the tokens of backchannel authentications, as the registration of the clients says
/// (`backchannel_token_delivery_mode`, CIBA Core section 4). The raw value is its name in the configuration.
///
/// The default is ``off``. Metadata lists what a provider supports, and not what it has registered for a client. And
/// who may start backchannel authentications may have users prompted.
public enum BackchannelTokenDeliverySetting: String, Sendable, Hashable, CaseIterable {
    case off
    case poll
    case ping

    /// The mode; nil for ``off``.
    public var mode: BackchannelTokenDeliveryMode? { BackchannelTokenDeliveryMode(rawValue: rawValue) }
}
