import OpenIDConnect
import Primitives
import SignIn
import StorageModel

/// A mobile operator that redeems digital credentials at its token endpoint, as it redeems operator tokens. This server
/// makes the request for the phone itself, so a session costs nothing until a credential is there.
struct OperatorCredentials: CredentialRedeemer {
    /// What is before a credential where it names the user (login_hint, or sub of a JWT).
    static let prefix = "vp_token:"

    let operators: MobileOperators
    let mobileOperator: MobileOperator
    let rules: CredentialRequestRules

    func prepare(
        _ inquiry: CredentialInquiry, _ correlationID: CorrelationID
    ) async throws(SignInError) -> PreparedCredential {
        guard let client = mobileOperator.server.client(nil) else { throw .internalFault }
        let request = try await askingOperator(try authorization(inquiry.nonce, of: client.id))
        return PreparedCredential(
            session: JSONValue.null.text, content: Self.request(inquiry, authorizedBy: request),
            seconds: PreparedCredential.lifetime)
    }

    /// The signed part of the request, by which the phone knows who asks, and for whom it encrypts the credential.
    private func authorization(_ nonce: Secret, of client: ClientID) throws(OIDCError) -> Secret {
        var claims = JSONObjectWriter(capacity: 512)
        claims.add("iss", client.text)
        claims.add("nonce", nonce.exposed)
        claims.add("encrypted_response_enc_values_supported", ["A128GCM"])
        claims.add("jwks") { $0.add("keys", json: "[\(rules.encryptionKey)]") }
        claims.add("consent_data", ifPresent: rules.consent)
        return try rules.signer.certificate.token(type: "oauth-authz-req+jwt", claims: claims.finish())
    }

    /// With one query (OpenID4VP 1.0 section 6 and appendix A).
    private static func request(_ inquiry: CredentialInquiry, authorizedBy signed: Secret) -> String {
        let kind = inquiry.number == nil ? "device-phone-number" : "verify"
        let query = JSONValue.object(of: [
            (name: "id", value: "phone"), (name: "format", value: "dc-authorization+sd-jwt"),
            (
                name: "meta",
                value: .object(of: [
                    (name: "vct_values", value: .texts(["number-verification/\(kind)/ts43"])),
                    (name: "credential_authorization_jwt", value: .string(signed.exposed)),
                ])
            ),
        ])
        return JSONValue.object(of: [
            (name: "protocol", value: "openid4vp-v1-unsigned"),
            (
                name: "data",
                value: .object(of: [
                    (name: "nonce", value: .string(inquiry.nonce.exposed)),
                    (name: "response_type", value: "vp_token"), (name: "response_mode", value: "dc_api"),
                    (name: "dcql_query", value: .object(of: [(name: "credentials", value: .array([query]))])),
                ])
            ),
        ]).text
    }

    func process(
        _ session: CredentialSession, _ proof: CredentialProof, _ run: SignInRun, at provider: ProviderMetadata
    ) async throws(SignInError) -> CredentialFinding? {
        guard case .credential(let text) = proof else { throw .internalFault }
        let settings = mobileOperator.settings
        let tokens = try await run.tokens(
            about: Secret(Self.prefix + text.exposed), for: settings.scopes(toVerify: session.number), at: provider,
            pausing: operators.pause)
        let directory = OperatorDirectory(operators: operators, environment: run.environment)
        let found = try await run.number(session.number, from: settings, with: tokens, at: provider, directory)
        guard let found else { return CredentialFinding(number: nil, isVerified: false) }
        return CredentialFinding(
            number: found.number, isVerified: session.number == nil ? nil : true, sim: found.sim,
            identity: Identity(of: found.idToken, or: found.number, from: provider.issuer))
    }
}

extension MobileOperators {
    /// The credentials of an operator; nil if phones are not asked for any.
    func credentials(of operatorName: String?) -> CredentialNumbers? {
        guard let found = all.first(where: { $0.settings.name == operatorName }),
            let request = found.settings.credentials
        else { return nil }
        var rules = AggregatorRules()
        rules.credentialOrigins = request.origins
        // No number signs in by these rules: the operator says who the user is.
        let signIns = NumberSignIns(rules: NumberSignInRules(), store: store, oneTimeStore: oneTimeStore)
        return CredentialNumbers(
            reference: ProviderReference(provider: provider, operatorName: operatorName), server: found.server,
            rules: rules, signIns: signIns,
            redeemer: OperatorCredentials(operators: self, mobileOperator: found, rules: request))
    }
}

extension Identity {
    /// The user of an operator: by the ID token, or without one by the number.
    init(of idToken: VerifiedIDToken?, or number: MSISDN, from issuer: String) {
        self =
            idToken.map { Identity(issuer: issuer, subject: $0.subject) } ?? Identity(ofNumber: number, from: issuer)
    }
}

extension Provider {
    /// The numbers that phones prove by credentials at an aggregator, or at one mobile operator; nil for a provider of
    /// another kind, and for an operator that redeems no credentials.
    func credentials(of operatorName: String? = nil) -> CredentialNumbers? {
        group as? CredentialNumbers ?? mobileOperators?.credentials(of: operatorName)
    }

    /// Whether phones prove their numbers by credentials here.
    var takesCredentials: Bool {
        credentials() != nil || mobileOperators?.all.contains { $0.settings.credentials != nil } == true
    }

    /// As ``credentials(of:)``, of the aggregator, or of the operator that a request chooses.
    /// - Throws: `invalid_request` at a provider of another kind; `operator_unknown` for an operator that redeems no
    ///   credentials; as ``OperatorDirectory/choose(_:_:_:)``.
    func credentials(
        by choice: OperatorChoice, _ flow: FailedOperation.Flow, _ correlationID: CorrelationID,
        in environment: Environment
    ) async throws(SignInError) -> CredentialNumbers {
        if let aggregator = credentials() { return aggregator }
        guard let operators = mobileOperators else { throw .noCredentials }
        let target = try await OperatorDirectory(operators: operators, environment: environment).choose(
            choice, flow, correlationID)
        guard let found = operators.credentials(of: target.reference.operatorName) else {
            throw .operatorWithoutCredentials
        }
        return found
    }
}
