import Primitives
import Synchronization

/// Why a logout token or a signed authorization response is not used.
public enum TokenRefusal<Check: TokenCheck>: Error, Sendable {
    case failed(Check)
    /// It cannot be verified: metadata or keys are not available.
    case unknown(OIDCError)
}

/// Why a logout token ends no session.
public typealias LogoutTokenError = TokenRefusal<LogoutTokenCheck>

/// Why a signed authorization response is not used.
public typealias AuthorizationResponseError = TokenRefusal<AuthorizationResponseCheck>

/// A check of a token that a provider signs for this server: an ID token, a logout token or an authorization response.
protocol MessageCheck: TokenCheck {
    static var format: Self { get }
    static var algorithm: Self { get }
    static var claims: Self { get }
}

extension MessageCheck {
    /// The check of an ID token that applies to each of them: of form, header and signature.
    init(_ check: IDTokenCheck) { self = Self(rawValue: check.rawValue) ?? .format }
}

extension IDTokenCheck: MessageCheck {}

extension LogoutTokenCheck: MessageCheck {}

extension AuthorizationResponseCheck: MessageCheck {}

struct MessageRequirements: Sendable {
    let issuer: String
    /// Our clients, each with what its messages may be signed with.
    let clients: [ClientID: Set<SigningAlgorithm>]
    let rules: IDTokenRules
    let now: Timestamp

    /// What the messages of any client may be signed with.
    var algorithms: Set<SigningAlgorithm> { clients.values.reduce([]) { $0.union($1) } }
}

protocol MessageValidationContext: IssuedClaims, Sendable {
    associatedtype Check: MessageCheck

    static var type: TokenType { get }
    /// The rules for the claims, in the order in which a message is refused by them.
    static var claimRules: [TokenRule<Check, Self>] { get }

    var requirements: MessageRequirements { get }

    init(claims: JSONObject, requirements: MessageRequirements)
}

extension MessageValidationContext {
    var rules: IDTokenRules { requirements.rules }
    var issuer: String { requirements.issuer }
    var now: Timestamp { requirements.now }

    /// Our client that the message is for. Of several the one that is not itself a trusted audience of another, or the
    /// first by name.
    var client: ClientID? {
        let trusted = rules.clientAudiences.values.reduce(rules.trustedAudiences) { $0.union($1) }
        let clients = requirements.clients.keys.filter { claims.isFor($0, by: rules) }
        return clients.min { (trusted.contains($0) ? 1 : 0, $0.text) < (trusted.contains($1) ? 1 : 0, $1.text) }
    }

    /// What the messages of the client that this one is for may be signed with; without such a client, of any.
    var algorithms: Set<SigningAlgorithm> {
        client.flatMap { requirements.clients[$0] } ?? requirements.algorithms
    }

    /// Applies every rule to a message, also after one that is not met.
    /// - Parameter listed: What the provider signs with; nil if that is not known.
    static func explain(
        _ token: TokenExamination, _ requirements: MessageRequirements,
        listed: Set<SigningAlgorithm>? = nil
    ) -> TokenExplanation<Check> {
        let context = token.claims.map { Self(claims: $0, requirements: requirements) }
        let accepted = context?.algorithms ?? requirements.algorithms
        return token.explanation([
            token.formatSteps(), token.headerSteps(type, listed?.intersection(accepted) ?? accepted),
            token.claimsSteps(), token.claimSteps(claimRules, context), token.signatureSteps(),
        ])
    }
}

/// A message whose signature is not checked yet. Reading it needs neither network nor keys, so that junk is cheap.
struct UnverifiedMessage<Context: MessageValidationContext>: Sendable {
    let token: SignedToken
    /// Meets every rule. To be believed when ``checkSignature(_:)`` has passed.
    let context: Context

    init(_ text: Secret, _ requirements: MessageRequirements) throws(TokenRefusal<Context.Check>) {
        token = try mappingErrors(
            try SignedToken(
                text, maximumBytes: requirements.rules.maximumBytes, type: Context.type,
                signedWith: requirements.algorithms)
        ) { (error: OIDCError) in TokenRefusal.failed(error.check.map { Context.Check($0) } ?? .format) }
        guard let claims = JSONObject(claims: token.payload) else { throw .failed(.claims) }
        context = Context(claims: claims, requirements: requirements)
        guard context.algorithms.contains(token.algorithm) else { throw .failed(.algorithm) }
        for rule in Context.claimRules where !rule.isMet(context) { throw .failed(rule.check) }
    }

    func checkSignature(_ keys: JSONWebKeySet) throws(TokenRefusal<Context.Check>) {
        let context = SignatureValidationContext(token, keys: keys)
        for rule in SignatureValidationContext.signatureRules where !rule.isMet(context) {
            throw .failed(Context.Check(rule.check))
        }
    }
}

extension RelyingParty {
    /// Checks the signature of a message with the provider's keys, which are fetched if they are not cached.
    /// - Parameter bucket: Limits the fetches of newer keys after a signature that does not verify.
    func checkSignature<Context>(
        of message: UnverifiedMessage<Context>, limitedBy bucket: borrowing Mutex<TokenBucket>,
        at provider: () async throws(OIDCError) -> ProviderMetadata
    ) async throws(TokenRefusal<Context.Check>) {
        let cache: KeyCache
        let held: KeyCache.Snapshot
        do throws(OIDCError) {
            cache = try keyCaches.cache(of: try await provider())
            held = try await cache.current()
        } catch {
            if error.check == .algorithm { throw .failed(.algorithm) }
            throw .unknown(error)
        }
        try await cache.check(
            with: held, mayFetch: { _ in bucket.withLock { $0.take(now: clock.now()) } }, message.checkSignature)
    }
}
