public import OpenIDConnect

/// A security profile of a provider: one name for the settings that it demands of a client. The raw value is its name
/// in the configuration.
public enum SecurityProfile: String, Sendable, Hashable, CaseIterable {
    /// FAPI 2.0 Security Profile (Final), with tokens that are bound by DPoP or mutual TLS, and clients that
    /// authenticate by assertion or mutual TLS.
    case fapi2
    /// ``fapi2``, with signed authorization requests and responses (FAPI 2.0 Message Signing, Final).
    case fapi2MessageSigning = "fapi2-message-signing"

    /// Whether authorization requests and responses are signed.
    public var signsMessages: Bool { self == .fapi2MessageSigning }

    /// What either side may sign with (FAPI 2.0 Security Profile section 5.4.1). Ed25519 is the same as EdDSA with that
    /// curve (RFC 9864).
    public static let signingAlgorithms: Set<SigningAlgorithm> = [.ps256, .es256, .edDSA, .ed25519]
}
