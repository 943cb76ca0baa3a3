import CarrierSimulator

/// A plan of the OpenID Foundation's relying-party certification, with all of its modules.
struct CertificationPlan: Sendable {
    /// A client of the provider.
    enum Client: String, Sendable, CaseIterable {
        /// Authenticates with a secret, by HTTP Basic.
        case secret = "rp-secret"
        /// Authenticates with a key.
        case key = "rp-key"
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
    var settings: @Sendable (_ issuer: String) -> Settings = { _ in [:] }
    /// The settings of the client beside its credentials.
    var clientSettings: Settings = ["id_token_signed_response_alg": "RS256"]
    /// The provider that the plan demands.
    var provider: @Sendable (inout CarrierSimulator.Carrier) -> Void = { _ in }
    var modules: [CertificationModule] = []
    var others: [Others] = []
    var postsForms = false

    /// All plans, in the order of the page.
    static let all = [
        basic, formPost, configuration, dynamic, loginInitiation, refreshToken, initiatedLogout, backChannelLogout,
        frontChannelLogout, sessionManagement, securityProfile, messageSigning, comprehensive,
    ]

    /// The name of a module's provider, in Latchkey's configuration and in paths.
    func provider(of module: CertificationModule) -> String {
        let index = modules.firstIndex { $0.name == module.name } ?? modules.count
        return "\(id)-\(index + 1)"
    }
}
