import CarrierSimulator
import OpenIDConnect
import TestSupport

/// A plan of the OpenID Foundation's relying-party certification, with all of its modules.
struct CertificationPlan: Sendable {
    /// A client of the provider.
    enum Client: String, Sendable, CaseIterable {
        /// Authenticates with a secret, by HTTP Basic.
        case secret = "rp-secret"
        /// Authenticates with a key.
        case key = "rp-key"
        /// Authenticates with a key; its tokens are bound to its TLS certificate.
        case boundKey = "rp-bound-key"
        /// Authenticates with a TLS certificate of an authority.
        case certificate = "rp-certificate"
        /// Authenticates with a self-signed TLS certificate.
        case selfSigned = "rp-self-signed"

        /// Whose certificate it presents; nil for none.
        var holder: IssuedCertificates.Holder? {
            switch self {
            case .secret, .key: nil
            case .boundKey, .certificate: .one
            case .selfSigned: .selfSigned
            }
        }
    }

    /// Where the plan's provider is.
    struct Address: Sendable {
        let issuer: String
        /// The same provider where TLS asks for certificates.
        let certified: String
    }

    /// Modules that do not apply, with the reason.
    struct Others: Sendable {
        let names: [String]
        let reason: String
    }

    typealias Settings = [String: any Sendable]

    /// Begins the names of the plan's providers.
    let id: String
    let title: String
    /// The name in the OpenID Foundation's suite.
    let name: String
    /// What the plan demands of the provider, and how Latchkey is configured for it.
    let summary: String
    var client = Client.secret
    /// The settings of the provider in Latchkey's configuration beside `kind`, `issuer` and `clients`.
    var settings: @Sendable (_ address: Address) -> Settings = { _ in [:] }
    /// The settings of the client beside its credentials.
    var clientSettings: Settings = ["id_token_signed_response_alg": "RS256"]
    /// The provider that the plan demands.
    var provider: @Sendable (inout CarrierSimulator.Carrier) -> Void = { _ in }
    var modules: [CertificationModule] = []
    var others: [Others] = []
    var postsForms = false
    /// The mode of a plan without browsers; nil for the others.
    var backchannel: BackchannelTokenDeliverySetting?

    /// All plans, in the order of the page.
    static let all = [
        basic, formPost, configuration, dynamic, loginInitiation, refreshToken, initiatedLogout, backChannelLogout,
        frontChannelLogout, sessionManagement, securityProfile, securityProfileMutualTLS, securityProfileBoundKey,
        securityProfileCertificate, messageSigning, messageSigningMutualTLS, messageSigningBoundKey,
        messageSigningCertificate, comprehensive, comprehensiveCertificate, comprehensiveSelfSigned,
        backchannelPoll, backchannelPollMutualTLS, backchannelPollBoundKey, backchannelPing, backchannelPingMutualTLS,
        backchannelPingBoundKey,
    ]

    /// The plans in which browsers sign in.
    static let ofBrowsers = all.filter { $0.backchannel == nil }

    /// The name of a module's provider, in Latchkey's configuration and in paths.
    func provider(of module: CertificationModule) -> String {
        let index = modules.firstIndex { $0.name == module.name } ?? modules.count
        return "\(id)-\(index + 1)"
    }
}
