package import OpenIDConnect
package import Primitives
package import SignIn
import Storage
import StorageModel

/// The mobile operators of a provider of verified phone numbers, each an OpenID provider with the APIs of CAMARA. Apps
/// know all of them by the name of the provider in paths.
package struct MobileOperators: ServerGroup {
    /// The provider's name in paths.
    let provider: String
    let all: [MobileOperator]
    /// GSMA's Telco Finder, if it chooses among them.
    let finder: OperatorFinder?
    let store: SQLStore
    let oneTimeStore: EncryptedOneTimeStore
    let answers = TelcoFinderAnswers()
    /// Waits between two polls of an operator.
    let pause: PollPauses
    let outcomes: PhoneVerificationOutcomes

    package var kind: ProviderKind { .camara }

    package var servers: [String: AuthorizationServer] {
        Dictionary(all.map { ($0.settings.name, $0.server) }, uniquingKeysWith: { first, _ in first })
    }

    package var otherParties: [String: RelyingParty] {
        finder.map { [ProviderReference.telcoFinderName: $0.relyingParty] } ?? [:]
    }

    /// The user sees no page at an operator.
    package func choose(
        for start: inout RedirectStart, _ correlationID: CorrelationID, in environment: Environment
    ) async throws(SignInError) -> SignInTarget {
        let choice = OperatorChoice(
            name: start.operatorName, network: start.network, number: start.phoneNumber, caller: start.caller)
        let target = try await OperatorDirectory(operators: self, environment: environment).choose(
            choice, .redirect, correlationID)
        let prompt = start.demand.prompt
        guard start.demand.scopes.isEmpty, !start.demand.needsIDToken, prompt.isEmpty || prompt == [.noInteraction]
        else { throw .notForNumbers }
        start.demand.prompt = [.noInteraction]
        start.demand.loginHint = nil
        start.phoneNumber = nil
        return target
    }

    package func check(_ request: SignInRequest) throws(SignInError) {
        guard request.isRedirectFlow || request.standsInForCode else { throw .codeNotForNumbers }
    }

    package func verifyUser(
        of run: SignInRun, at provider: ProviderMetadata
    ) async throws(SignInError) -> VerifiedSignIn {
        let mobileOperator = try mobileOperator(of: run.target)
        let tokens = try await run.tokens(
            for: mobileOperator.scopes, of: mobileOperator, at: provider, pausing: pause)
        // Only now, so that texts that no operator accepts take no room in the store.
        let use = run.request.standsInForCode ? use(of: run.request) : nil
        do throws(SignInError) {
            let directory = OperatorDirectory(operators: self, environment: run.environment)
            guard let found = try await run.number(from: mobileOperator, with: tokens, at: provider, directory) else {
                throw .internalFault
            }
            let identity = Identity(of: found.idToken, or: found.number, from: provider.issuer)
            return VerifiedSignIn(
                identity, UserInfo(verified: found.number), provenPhoneNumber: found.number.text, tokenUse: use)
        } catch {
            // A token that gives no number is used, too.
            if let use { try await oneTimeStore.spend(use) }
            throw error
        }
    }

    package func refusal(atAuthorization code: String) -> SignInError { .refusedByOperator(code) }

    package func refusal(ofPushedRequest error: OIDCError) -> SignInError {
        .refusedTokens(error, advice: "Start a new sign-in.")
    }

    package var taskFlow: FailedOperation.Flow { .phoneVerification }

    package func parameters(ofTask id: Secret) -> [(name: String, value: String)] {
        [("action", "verify_phone"), ("verification_id", id.exposed)]
    }

    package func finish(
        task id: Secret, with request: Result<SignInRequest, SignInError>, _ correlationID: CorrelationID,
        in environment: Environment
    ) async throws(SignInError) -> [(name: String, value: String)] {
        let confirmation = try await OperatorDirectory(operators: self, environment: environment).keepFinding(
            of: id, request, correlationID)
        return [("status", "pending"), ("confirmation", confirmation.exposed)]
    }

    package func log(_ error: SignInError, ofTask correlationID: CorrelationID, in environment: Environment) {
        outcomes.note(error, PhoneVerificationFindings(correlationID: correlationID), in: environment.logger)
    }

    /// The operator that a sign-in or a verification is with.
    func mobileOperator(of target: SignInTarget) throws(SignInError) -> MobileOperatorSettings {
        let found = all.first { $0.settings.name == target.reference.operatorName }
        guard let found else { throw .internalFault }
        return found.settings
    }

    /// Marks the operator token of a request as used.
    func use(of request: SignInRequest) -> TokenUse {
        oneTimeStore.use(
            of: request.code, "operator token of \(request.provider.text)", orThrow: .operatorTokenUsed)
    }
}

extension Provider {
    /// Nil for a provider of another kind.
    var mobileOperators: MobileOperators? { group as? MobileOperators }
}

struct MobileOperator: Sendable {
    let settings: MobileOperatorSettings
    /// With the one client that is registered with the operator.
    let server: AuthorizationServer
}

/// GSMA's Telco Finder, as a provider of verified phone numbers uses it.
struct OperatorFinder: Sendable {
    let rules: TelcoFinderRules
    let relyingParty: RelyingParty
}
