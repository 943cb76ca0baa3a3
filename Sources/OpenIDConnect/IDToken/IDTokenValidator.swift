package import Crypto
public import Primitives

/// Checks an ID token against the sign-in that requested it (OpenID Connect Core section 3.1.3.7, RFC 8725).
///
/// Pure: keys and time are parameters, so that every rule is a row of a table in the tests. The rules are lists:
/// ``HeaderValidationContext/headerRules``, ``SignatureValidationContext/signatureRules``,
/// ``ClaimValidationContext/claimRules``; for the token of a refresh also ``ClaimValidationContext/refreshRules``.
package struct IDTokenValidator: Sendable {
    let rules: IDTokenRules
    let issuer: String

    package init(rules: IDTokenRules = IDTokenRules(), issuer: String) {
        self.rules = rules
        self.issuer = issuer
    }

    package func validate(
        _ token: SignedToken, keys: JSONWebKeySet, expecting expectation: IDTokenExpectation, now: Timestamp
    ) throws(OIDCError) -> VerifiedIDToken {
        let signature = SignatureValidationContext(token, keys: keys.keys(of: rules.tenants, for: token))
        for rule in SignatureValidationContext.signatureRules where !rule.isMet(signature) { throw .failed(rule.check) }
        guard let claims = JSONObject(claims: token.payload) else { throw .failed(.claims) }
        let context = ClaimValidationContext(
            claims, type: token.type, algorithm: token.algorithm, self, expectation, now: now)
        for rule in ClaimValidationContext.claimRules where !rule.isMet(context) { throw .failed(rule.check) }
        if expectation.original != nil {
            for rule in ClaimValidationContext.refreshRules where !rule.isMet(context) { throw .failed(rule.check) }
        }
        return try VerifiedIDToken(context, token.signed)
    }

    /// Applies every rule, also after one that is not met.
    package func explain(
        _ token: TokenExamination, signedWith algorithms: Set<SigningAlgorithm>,
        expecting expectation: IDTokenExpectation, now: Timestamp
    ) -> IDTokenExplanation {
        let context = token.claims.map {
            ClaimValidationContext(
                $0, type: token.header?.type, algorithm: token.header?.algorithm, self, expectation, now: now)
        }
        return token.explanation([
            token.formatSteps(), token.headerSteps(.marked(rules.types), algorithms),
            token.signatureSteps(of: rules.tenants),
            token.claimsSteps(), token.claimSteps(ClaimValidationContext.claimRules, context),
        ])
    }
}

/// What is demanded of every ID token.
public struct IDTokenRules: Sendable, Hashable {
    /// The accepted values of the header parameter `typ`.
    public var types = IDTokenType.standard
    /// How far the provider's clock may be off, in seconds.
    public var clockSkewSeconds: Int64 = 60
    /// How long ago a token may have been issued, in seconds, beside the clock skew.
    public var maximumAgeSeconds: Int64 = 600
    /// The longest token that is read, in bytes.
    public var maximumBytes = 64 * 1024
    /// The audiences that a token may name beside the client (OpenID Connect Core section 3.1.3.7, rule 3).
    public var trustedAudiences: Set<ClientID> = []
    /// Further ones, which the tokens of a client may name.
    public var clientAudiences: [ClientID: Set<ClientID>] = [:]
    /// The issuers of the provider's tenants; nil for a provider with one issuer.
    public var tenants: TenantIssuers?
    /// Whether a token without a nonce is accepted although one was sent: that of a provider that repeats none is bound
    /// by the code verifier. Another nonce is refused all the same.
    public var nonceMayBeMissing = false
    /// Whether an optional claim that is null counts as absent, and a client that is named twice in `aud` as once, as
    /// at providers other than carriers.
    package var isLenient = false

    public init() {}

    /// For tokens that an app brings: no code verifier stands in for a nonce, and they are good for ten minutes.
    package func ofNativeTokens(trusting audiences: Set<ClientID> = []) -> IDTokenRules {
        altered(self) {
            $0.trustedAudiences.formUnion(audiences)
            $0.nonceMayBeMissing = false
            $0.maximumAgeSeconds = min($0.maximumAgeSeconds, 600)
        }
    }

    /// The audiences that a client's tokens may name beside it.
    package func trusted(by client: ClientID) -> Set<ClientID> {
        clientAudiences[client].map(trustedAudiences.union) ?? trustedAudiences
    }

    func trusts(_ audience: ClientID, for client: ClientID) -> Bool {
        trustedAudiences.contains(audience) || clientAudiences[client]?.contains(audience) == true
    }

    func trustsOthers(for client: ClientID) -> Bool {
        !trustedAudiences.isEmpty || clientAudiences[client]?.isEmpty == false
    }
}

/// What one sign-in demands of its ID token, beside ``IDTokenRules``.
public struct IDTokenExpectation: Sendable {
    /// The client that the token must be for.
    public var clientID: ClientID
    /// The audiences that the token must name beside the client, all of them.
    public var requiredAudiences: [ClientID] = []
    /// Audiences that the token may name besides, where ``clientID`` is not the client that they are configured for.
    package var trustedAudiences: Set<ClientID> = []
    /// What the provider may sign the client's tokens with: the client's `id_token_signed_response_alg`, if it has one
    /// (OpenID Connect Dynamic Client Registration section 2).
    public var signingAlgorithms = SigningAlgorithm.standard
    /// The nonce sent with the authorization request. Nil if none was sent; a nonce in the token is ignored then.
    public var nonce: String?
    /// Whether a token without a nonce is accepted although one was sent. A token that came with a notification is
    /// bound to its request by the notification token, and not every carrier repeats the nonce there.
    public var nonceMayBeMissing = false
    /// The audiences of a token that an app brings, which the device or a provider's SDK gave it: the one that it names
    /// takes the place of ``clientID``. The authorized party is the app then, and the token may have the SHA-256 of the
    /// nonce, in hexadecimal digits, in the nonce's place. Empty for other tokens.
    public var nativeAudiences: [ClientID] = []
    var isNative: Bool { !nativeAudiences.isEmpty }
    /// Whom a token with these claims must be for.
    package func audience(of claims: JSONObject?) -> ClientID {
        nativeAudiences.first { claims?.names($0) == true } ?? nativeAudiences.first ?? clientID
    }
    /// What a native token may have in place of the nonce.
    package var hashedNonce: String? {
        isNative ? nonce.map { SHA256.hash(data: Array($0.utf8)).hexadecimal } : nil
    }
    /// The provider's id of the request, which a token that came with a notification may repeat (CIBA Core section
    /// 10.3.1).
    public var requestID: Secret?
    /// What was asked of the provider. The token must have one of the authentication contexts, the text that the user
    /// was asked to approve, and a time of authentication that is as recent as demanded. ``AuthenticationDemand/since``
    /// counts only if the token says when the user authenticated.
    public var demand: AuthenticationDemand
    /// The access token that came with the ID token, for `at_hash`.
    public var accessToken: Secret?
    /// The ID token of the sign-in, if this one came with a refresh (OpenID Connect Core section 12.2).
    public var original: OriginalIDToken?
    /// When the token arrived, by which its times are judged; nil for the time of the call.
    public var receivedAt: Timestamp?

    /// An expectation of the client and of what was requested.
    public init(
        clientID: ClientID, nonce: String? = nil, demand: AuthenticationDemand = AuthenticationDemand(),
        accessToken: Secret? = nil
    ) {
        self.clientID = clientID
        self.nonce = nonce
        self.demand = demand
        self.accessToken = accessToken
    }
}

/// The ID token of a sign-in, as far as an ID token that comes with a refresh is compared with it (OpenID Connect Core
/// section 12.2).
///
/// The subject is personal, so only the issuer is printed and reflected.
public struct OriginalIDToken: Sendable, Hashable {
    public let issuer: String
    /// The user at the issuer (`sub`).
    public let subject: String
    /// The further claims; nil if they are not known.
    public let claims: Claims?

    /// The claims besides the identity.
    public struct Claims: Sendable, Hashable, Redacted {
        /// When the user authenticated (`auth_time`); nil if the token did not say so.
        public let authTime: Timestamp?
        /// The nonce of the sign-in (`nonce`); nil if the token had none.
        public let nonce: String?
        /// The authorized party (`azp`); nil if the token named none.
        public let authorizedParty: String?

        public init(authTime: Timestamp?, nonce: String?, authorizedParty: String?) {
            self.authTime = authTime
            self.nonce = nonce
            self.authorizedParty = authorizedParty
        }
    }

    /// The ID token of an identity.
    public init(issuer: String, subject: String, claims: Claims?) {
        self.issuer = issuer
        self.subject = subject
        self.claims = claims
    }
}

extension OriginalIDToken: Redacted { public var shown: [Mirror.Child] { [("issuer", issuer)] } }

/// The claims of an ID token that has passed every check of `IDTokenValidator`. Only this module can make one.
///
/// The subject is personal, so only the issuer is printed and reflected.
public struct VerifiedIDToken: Sendable, Hashable {
    /// With ``subject``, the user's identity. Never use the subject alone.
    public let issuer: String
    /// 1 to 255 visible ASCII characters, unique within ``issuer``.
    public let subject: String
    /// The client that the token is for (`aud`).
    public let clientID: ClientID
    /// When the token was issued (`iat`).
    public let issuedAt: Timestamp
    /// When the token expires (`exp`).
    public let expiresAt: Timestamp
    /// When the user authenticated (`auth_time`), if the token says so.
    public let authTime: Timestamp?
    /// The authentication context class (`acr`), if the token names one.
    public let acr: String?
    /// The text the user approved, if the token names one.
    public let context: String?
    /// The `aka` claim: port tokens in compact form, not yet verified, with which a former carrier vouches for the
    /// user.
    public let portTokens: [Secret]
    /// The provider's id of the user's session (`sid`), if the token names one.
    public let sessionID: String?
    let claims: JSONObject
    private let signed: SignedContent

    /// The claims of a context that meets every rule, so that no required claim is missing.
    init(_ context: ClaimValidationContext, _ signed: SignedContent) throws(OIDCError) {
        claims = context.claims
        self.signed = signed
        guard let subject = claims["sub"]?.string else { throw .failed(.subject) }
        guard let expiresAt = context.expiresAt else { throw .failed(.expiry) }
        guard let issuedAt = context.issuedAt else { throw .failed(.issuedAt) }
        issuer = claims["iss"]?.string ?? context.issuer
        self.subject = subject
        clientID = context.expectation.clientID
        self.issuedAt = issuedAt
        self.expiresAt = expiresAt
        authTime = context.authTime
        acr = claims["acr"]?.string
        self.context = claims["context"]?.string
        portTokens = Self.portTokens(claims)
        sessionID = claims["sid"]?.sessionIDText
    }

    /// Names the token by what is signed of it: a signature with ES256 can be written in two ways.
    package var fingerprint: SHA256.Digest {
        switch signed {
        case .sha256(let digest): digest
        case .sha384(let digest): SHA256.hash(data: Array(digest))
        case .sha512(let digest): SHA256.hash(data: Array(digest))
        case .whole(let content): SHA256.hash(data: content)
        }
    }

    /// The user's attributes in the token. Read on demand, because they are seldom needed.
    /// - Parameter isPartial: Whether the userinfo endpoint, which has further ones, does not help.
    package func attributes(_ members: UserMembers, isPartial: Bool = false) -> UserInfo {
        altered(UserInfo(claims, members)) { $0.isPartial = isPartial }
    }

    /// Whether somebody asked for the token with a nonce, whatever it is.
    package var hasNonce: Bool { claims["nonce"].map { !$0.isNull } ?? false }

    /// What an ID token of a later refresh is compared with, besides issuer and subject.
    public var claimsForRefresh: OriginalIDToken.Claims {
        OriginalIDToken.Claims(
            authTime: authTime, nonce: claims["nonce"]?.string, authorizedParty: claims["azp"]?.string)
    }

    /// At most eight, from an array or a single text. Other values are ignored.
    private static func portTokens(_ claims: JSONObject) -> [Secret] {
        switch claims["aka"] {
        case .string(let single): [Secret(single)]
        case .array(let several): several.prefix(8).compactMap { $0.string.map(Secret.init) }
        default: []
        }
    }
}

extension VerifiedIDToken: Redacted { public var shown: [Mirror.Child] { [("issuer", issuer)] } }

/// A check of a token. The raw value is its stable name.
public protocol TokenCheck: RawRepresentable<String>, Sendable, Hashable {
    /// What the check demands, or what is wrong if it fails: one sentence for an error response.
    var demand: String { get }
}

/// One rule for a token. Validation ends at the first rule of a list that is not met; an explanation applies them all.
struct TokenRule<Check: TokenCheck, Context>: Sendable {
    let check: Check
    let isMet: @Sendable (Context) -> Bool
    /// Whether there is an expected value to compare with; without one the rule is met. Always true for a rule that a
    /// setting turns on: a replay takes the recorded result of what was not compared.
    let hasExpectedValue: @Sendable (Context) -> Bool
    /// What the token has, for an explanation: nothing personal, and no nonce.
    let found: @Sendable (Context) -> String

    init(
        _ check: Check, _ isMet: @escaping @Sendable (Context) -> Bool,
        hasExpectedValue: @escaping @Sendable (Context) -> Bool = { _ in true },
        found: @escaping @Sendable (Context) -> String
    ) {
        self.check = check
        self.isMet = isMet
        self.hasExpectedValue = hasExpectedValue
        self.found = found
    }
}

/// The checks an ID token must pass: those of OpenID Connect Core section 3.1.3.7 and RFC 8725, in the order in which
/// they are made. ``demand`` explains each. The raw values are stable names for error responses, logs and metrics.
public enum IDTokenCheck: String, TokenCheck, CaseIterable {
    case encryption
    /// Strict compact form (RFC 7515 section 7.1), of at most the allowed size.
    case format
    case criticalHeader = "critical_header"
    /// `typ` is one of ``IDTokenRules/types``.
    case type
    case algorithm
    case key
    case signature
    case claims
    case issuer
    case subject
    case audience
    case authorizedParty = "authorized_party"
    case idTokenClaims = "id_token_claims"
    case expiry
    case issuedAt = "issued_at"
    case notBefore = "not_before"
    case nonce
    /// The `auth_req_id` of this request, or none (CIBA Core section 10.3.1).
    case requestID = "auth_req_id"
    case acr
    case authTime = "auth_time"
    case accessTokenHash = "at_hash"
    case context
    /// The userinfo response has the same subject (OpenID Connect Core section 5.3.2).
    case userInfoSubject = "userinfo_subject"
    case sameUser = "same_user"

    public var demand: String {
        switch self {
        case .encryption:
            "The ID token must be encrypted for the client's decryption_key, as id_token_encrypted_response_alg and "
                + "id_token_encrypted_response_enc say."
        case .format: "The ID token must be a signed JWT in compact form, of at most the allowed size."
        case .criticalHeader: "The ID token's header must not contain crit or b64."
        case .type: "The ID token's typ must be one of the provider's id_token_types."
        case .algorithm: "The ID token must be signed with an allowed algorithm."
        case .key: "The ID token must be signed with exactly one of the provider's current signing keys."
        case .signature: "The ID token's signature does not verify."
        case .claims: "The ID token's claims must be a JSON object without duplicate names."
        case .issuer: "The ID token's iss must be the provider's issuer."
        case .subject: "The ID token must have a sub of 1 to 255 visible ASCII characters."
        case .audience: "The ID token's aud must be this client alone, or with the provider's trusted_audiences."
        case .authorizedParty: "The ID token's azp must be this client or absent."
        case .idTokenClaims:
            "An ID token has no events, which logout tokens have. A token of type at+jwt must have the nonce of the "
                + "sign-in, or acr and auth_time, and neither client_id nor scope: otherwise it is an access token."
        case .expiry: "The ID token has expired, or has no valid exp."
        case .issuedAt: "The ID token was issued too long ago, or in the future, or has no valid iat."
        case .notBefore: "The ID token is not valid yet, or its nbf is not valid."
        case .nonce: "The ID token must contain the nonce of this sign-in."
        case .requestID: "The ID token's auth_req_id must be that of the request it came for."
        case .acr: "The ID token's acr must be one of the requested acr_values."
        case .authTime:
            "The ID token's auth_time is missing or invalid, or older than the requested max_age or prompt allows."
        case .accessTokenHash: "The ID token's at_hash does not match the access token."
        case .context: "The ID token's context must be the requested one."
        case .userInfoSubject: "The userinfo response must have the same sub as the ID token."
        case .sameUser: "The ID token must be about the user who is signed in."
        }
    }
}
