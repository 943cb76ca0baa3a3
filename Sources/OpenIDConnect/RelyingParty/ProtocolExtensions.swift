/// Whether an extension of OAuth 2.0 is used at a provider, whose metadata may demand it. The raw value is its name in
/// the configuration.
public enum ExtensionUse: String, Sendable, Hashable, CaseIterable {
    /// If the provider's metadata demands it. Some extensions are also used where the metadata supports them; their
    /// settings say so.
    case auto
    /// Always, whatever the provider's metadata says.
    case always
    /// Not even if the provider's metadata demands it.
    case never

    /// Whether an extension is used that ``auto`` uses only where the metadata demands it.
    package func applies(ifDemanded isDemanded: Bool) -> Bool {
        switch self {
        case .auto: isDemanded
        case .always: true
        case .never: false
        }
    }
}

/// Which extensions of OAuth 2.0 are used at a provider, as it is configured.
public struct ProtocolExtensions: Sendable, Hashable {
    /// Whether authorization requests are pushed to the provider before the browser goes there (RFC 9126).
    public var pushedAuthorizationRequests = ExtensionUse.auto
    /// Whether tokens are bound to a key that only this server has (DPoP, RFC 9449).
    public var dpop = ExtensionUse.auto
    /// Whether tokens are bound to the client's certificate (RFC 8705 section 3).
    public var mutualTLS = ExtensionUse.auto
    /// Whether authorization requests are signed (RFC 9101).
    public var signedRequestObjects = ExtensionUse.auto

    /// What the provider's metadata demands.
    public init() {}
}
