/// What a provider's metadata demands of authorization requests and clients.
///
/// ``pushedRequests``, ``signedRequestObjects``, ``dpopBoundTokens`` and ``dpopClaims`` are met. The others are for the
/// administrator: a sign-in that the provider refuses because of one of them fails at the provider.
public struct ProviderDemands: Sendable, Hashable {
    /// Authorization requests must be pushed: `require_pushed_authorization_requests` (RFC 9126 section 5).
    public private(set) var pushedRequests = false
    /// Authorization requests must be signed: `require_signed_request_object` (RFC 9101 section 10.5).
    public private(set) var signedRequestObjects = false
    /// Access tokens are bound to a key of the client: `dpop_bound_access_tokens` (RFC 9449 section 5.2), which some
    /// providers publish for all their clients.
    public private(set) var dpopBoundTokens = false
    /// The supported algorithms that DPoP proofs may be signed with: `dpop_signing_alg_values_supported` (RFC 9449
    /// section 5.1); nil without a list.
    public private(set) var dpopAlgorithms: Set<SigningAlgorithm>?
    /// The claims that DPoP proofs have beyond RFC 9449: `camara_dpop_claims_required` (CAMARA Security and
    /// Interoperability Profile r4.2). Those that this module does not know are left out.
    public private(set) var dpopClaims: Set<DPoPClaim> = []
    /// Access tokens can be bound to the client's certificate: `tls_client_certificate_bound_access_tokens` (RFC 8705
    /// section 3.3). It says that the provider can, not that it demands so of this client.
    public private(set) var certificateBoundTokens = false
    /// The response modes that the provider lists and this module supports; nil without a list.
    public private(set) var responseModes: Set<AuthorizationResponseMode>?
    /// What the provider can sign authorization responses with, as far as it lists algorithms that this module supports
    /// (JARM section 4).
    public private(set) var responseAlgorithms: Set<SigningAlgorithm>?
    /// What the provider can encrypt ID tokens with (OpenID Connect Discovery section 3).
    public private(set) var idTokenEncryption = EncryptionSupport()
    /// What the provider can encrypt userinfo responses with.
    public private(set) var userInfoEncryption = EncryptionSupport()
    /// Whether the provider accepts S256 code challenges, as far as it lists methods (RFC 8414 section 2).
    public private(set) var acceptsS256 = true

    /// Of a provider without metadata.
    static let none = ProviderDemands()
}

extension ProviderDemands {
    /// A malformed list counts as none, because no sign-in depends on it.
    init(_ reader: MetadataReader) {
        self.init(
            pushedRequests: reader.flag("require_pushed_authorization_requests"),
            signedRequestObjects: reader.flag("require_signed_request_object"),
            dpopBoundTokens: reader.flag("dpop_bound_access_tokens"),
            dpopAlgorithms: try? reader.known("dpop_signing_alg_values_supported"),
            dpopClaims: (try? reader.known("camara_dpop_claims_required")) ?? [],
            certificateBoundTokens: reader.flag("tls_client_certificate_bound_access_tokens"),
            responseModes: try? reader.known("response_modes_supported"),
            responseAlgorithms: try? reader.known("authorization_signing_alg_values_supported"),
            idTokenEncryption: EncryptionSupport(
                algorithms: try? reader.known("id_token_encryption_alg_values_supported"),
                encryptions: try? reader.known("id_token_encryption_enc_values_supported")),
            userInfoEncryption: EncryptionSupport(
                algorithms: try? reader.known("userinfo_encryption_alg_values_supported"),
                encryptions: try? reader.known("userinfo_encryption_enc_values_supported")),
            acceptsS256: reader.mayList("S256", in: "code_challenge_methods_supported"))
    }
}
