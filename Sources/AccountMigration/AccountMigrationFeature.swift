package import LatchkeyConfiguration
package import LatchkeyService
import Logging
import OpenIDConnect
import Primitives
package import SignIn
import StorageModel

/// `zenkey.port_tokens`
extension PortTokenRules: FeatureSettings {
    package static let settings = [
        Setting(
            "zenkey.port_tokens.require_type", .flag(), \PortTokenRules.requiresType,
            "Whether the typ of port tokens must be port_token+jwt; otherwise it may also be absent.")
    ]

    package func warnings(in configuration: Configuration) -> [SettingNote] {
        guard !requiresType else { return [] }
        return [
            (
                "zenkey.port_tokens.require_type",
                "a signed token of a carrier without typ may move an account, and its claims alone show what it is for",
                "set it to true unless a carrier's port tokens have no typ"
            )
        ]
    }
}

/// Account migration (docs/accounts.md): a user who changes carriers keeps the account, if the former carrier vouches
/// for that with a port token.
package struct AccountMigrationFeature: Feature {
    let rules: PortTokenRules
    let store: any IdentityStore
    let clock: WallClock

    package init(_ rules: PortTokenRules, in context: FeatureContext) {
        self.rules = rules
        store = context.store
        clock = context.clock
    }

    package var formerIdentities: FormerIdentitySource? { formerIdentities(of:in:) }
}

/// Account migration: a user who is unknown under one carrier may have an account under a former carrier, which vouches
/// for that with a port token (the guides' section “Account Migration”).
extension AccountMigrationFeature {
    /// The user's identities at former carriers, in the order of the port tokens; none if the user is known.
    ///
    /// An invalid port token is logged and otherwise ignored. A former carrier is asked for its keys only if the token
    /// names a stored identity.
    func formerIdentities(
        of user: VerifiedSignIn, in signIn: any UserVerification
    ) async throws(SignInError) -> [PortedIdentity] {
        let relyingParty = signIn.relyingParty
        // Only carriers vouch for each other's users.
        guard !user.portTokens.isEmpty, relyingParty.usesNetworkDiscovery else { return [] }
        let verifier = PortTokenVerifier(relyingParty: relyingParty, rules: rules, clock: clock)
        let read = verifier.read(user.portTokens, for: signIn.client.id)
        let tokens = read.compactMap { try? $0.get() }
        let identities = [user.identity] + tokens.map(\.identity)
        let statuses = try await mappingStoreErrors(await store.statuses(of: identities))
        let present = statuses.first ?? .unknown
        if case .live = present { return [] }
        for case .failure(let refusal) in read { signIn.noteIgnored(refusal) }
        var candidates: [UnverifiedPortToken] = []
        for (token, former) in zip(tokens, statuses.dropFirst()) {
            if let reason = Self.obstacle(to: former, becoming: present) {
                signIn.noteIgnoredPortToken(reason, issuer: token.identity.issuer, level: .info)
            } else {
                candidates.append(token)
            }
        }
        guard !candidates.isEmpty else { return [] }
        let verified = await verifier.verify(candidates)
        for case .failure(let refusal) in verified { signIn.noteIgnored(refusal) }
        return verified.compactMap { try? $0.get() }
    }

    /// Why an account is not moved from an identity, whatever the signature; nil if it may be. The store checks again
    /// when it moves the account.
    private static func obstacle(to former: IdentityStatus, becoming present: IdentityStatus) -> String? {
        guard case .live(let user) = former else { return "not_on_record" }
        if case .moved(let owner) = present, owner != user { return "another_user" }
        return nil
    }
}

extension UserVerification {
    fileprivate func noteIgnored(_ refusal: PortTokenError) {
        noteIgnoredPortToken(refusal.check.rawValue, issuer: refusal.issuer, level: .warning)
    }

    /// Logs a port token that moves no account, and why, without a subject.
    fileprivate func noteIgnoredPortToken(_ reason: String, issuer: String?, level: Logger.Level) {
        var details: Logger.Metadata = ["reason": "\(reason)"]
        if let issuer { details["issuer"] = "\(issuer)" }
        note("port token ignored", details, at: level)
    }
}

/// The checks a port token must pass before it moves an account, in the order in which they are made. The raw values
/// are stable names for logs and metrics.
enum PortTokenCheck: String, Sendable, Hashable, CaseIterable {
    /// Strict compact form, of at most the allowed size.
    case format
    /// No header extension that changes how the token is read.
    case criticalHeader = "critical_header"
    /// `typ` is `port_token+jwt`, or absent if ``PortTokenRules/requiresType`` is off.
    case type
    case algorithm
    /// A `kid`, which selects the key.
    case keyID = "key_id"
    /// A strict JSON object.
    case claims
    /// A URL on a trusted carrier's host.
    case issuer
    /// 1 to 255 visible ASCII characters.
    case subject
    /// Our client alone.
    case audience
    /// Not in the future, and not older than carriers' port tokens can be.
    case issuedAt = "issued_at"
    /// Not over, if the token has an `exp`.
    case expiry
    /// Begun, if the token has an `nbf`.
    case notBefore = "not_before"
    /// Not of more issuers than are asked for one sign-in.
    case issuerCount = "issuer_count"
    /// The issuer's OpenID configuration is available and names the issuer.
    case metadata
    /// The issuer's keys are available.
    case keys
    /// One of them has the token's `kid` and fits its algorithm.
    case key
    case signature
}

/// Why a port token moves no account. Names no subject and shows nothing of the token.
struct PortTokenError: Error, Sendable, Hashable {
    let check: PortTokenCheck
    /// The carrier that the token names as its issuer, if it is a trusted one.
    var issuer: String?
}

/// What is demanded of port tokens beside ``SigningAlgorithm/standard`` and ``IDTokenRules/clockSkewSeconds``.
package struct PortTokenRules: Sendable, Hashable {
    /// Whether `typ` must be `port_token+jwt`. Otherwise it may also be absent; such a token must have neither `exp`
    /// nor `events`, because every ID token and access token has the one, and every logout token the other.
    package var requiresType = true
    /// How long ago a port token may have been issued, in seconds, beside the clock skew: carriers issue them for 180
    /// days.
    package var maximumAgeSeconds: Int64 = 180 * 86_400
    /// The longest port token that is read, in bytes.
    package var maximumBytes = 8 * 1024
    /// How many issuers are asked for their keys during one sign-in.
    package var maximumIssuers = 4

    package init() {}
}

/// A port token whose signature is not checked yet: it says that a user of a former carrier has moved to another.
///
/// Its claims are read before the signature is checked, because they name the issuer that has the key. They only decide
/// whether to check the signature; ``PortTokenVerifier/verify(_:)`` does.
///
/// The subject is personal, so only the issuer is printed and reflected.
struct UnverifiedPortToken: Sendable {
    /// The user as the former carrier knows them.
    let identity: Identity
    let issuerURL: EndpointURL
    let issuedAt: Timestamp
    let token: SignedToken

    /// Makes every check that needs neither network nor keys.
    init(
        _ text: Secret, for clientID: ClientID, _ configuration: RelyingParty.Configuration,
        _ portTokenRules: PortTokenRules, now: Timestamp
    ) throws(PortTokenError) {
        do throws(OIDCError) {
            token = try SignedToken(
                text, maximumBytes: portTokenRules.maximumBytes,
                type: .named("port_token+jwt", orAbsent: !portTokenRules.requiresType),
                signedWith: SigningAlgorithm.standard)
        } catch {
            // All kinds of token have the checks of the header in common.
            throw PortTokenError(check: error.check.flatMap { PortTokenCheck(rawValue: $0.rawValue) } ?? .format)
        }
        guard token.keyID != nil else { throw PortTokenError(check: .keyID) }
        guard let claims = JSONObject(claims: token.payload) else { throw PortTokenError(check: .claims) }
        // Without a type, the claims keep a token of another kind from passing as a port token (RFC 8725 section 3.12).
        guard token.type != .absent || (claims["exp"] == nil && claims["events"] == nil) else {
            throw PortTokenError(check: .type)
        }
        guard let text = claims["iss"]?.string, let url = EndpointURL(text, policy: configuration.urlPolicy),
            configuration.trustedHosts.contains(url.host), !url.text.utf8.contains(UInt8(ascii: "?"))
        else { throw PortTokenError(check: .issuer) }
        issuerURL = url
        let issuer = url.text
        guard let subject = claims["sub"]?.visibleText else { throw PortTokenError(check: .subject, issuer: issuer) }
        identity = Identity(issuer: issuer, subject: subject)
        guard claims.onlyAudience?.hasSameBytes(as: clientID.text) == true else {
            throw PortTokenError(check: .audience, issuer: issuer)
        }
        var rules = configuration.idTokenRules
        rules.maximumAgeSeconds = portTokenRules.maximumAgeSeconds
        let context = PlainClaims(claims: claims, rules: rules, issuer: issuer, now: now)
        guard context.wasIssuedJustNow, let issuedAt = context.issuedAt else {
            throw PortTokenError(check: .issuedAt, issuer: issuer)
        }
        self.issuedAt = issuedAt
        // Carriers' port tokens have neither `exp` nor `nbf`. If a token has one, it counts.
        guard context.isNotExpiredIfStated else { throw PortTokenError(check: .expiry, issuer: issuer) }
        guard context.isValidAlready else { throw PortTokenError(check: .notBefore, issuer: issuer) }
    }

    /// What the former carrier vouches for.
    /// - Throws: ``PortTokenCheck/key`` or ``PortTokenCheck/signature``.
    fileprivate func verified(with keys: JSONWebKeySet) throws(PortTokenError) -> PortedIdentity {
        let context = SignatureValidationContext(token, keys: keys)
        guard !context.candidates.isEmpty else { throw PortTokenError(check: .key, issuer: identity.issuer) }
        guard context.verifies else { throw PortTokenError(check: .signature, issuer: identity.issuer) }
        // Of what was signed: the same for the same port token, however its signature is written. Port tokens are
        // signed with one of the standard algorithms, which all use SHA-256.
        guard let digest = token.sha256.flatMap({ TokenHash($0) }) else {
            throw PortTokenError(check: .algorithm, issuer: identity.issuer)
        }
        return PortedIdentity(identity: identity, issuedAt: issuedAt, token: digest)
    }
}

extension UnverifiedPortToken: Redacted { var shown: [Mirror.Child] { [("issuer", identity.issuer)] } }

/// Reads and verifies the port tokens of a sign-in. With one, a former carrier vouches for a user who moved to another.
struct PortTokenVerifier: Sendable {
    /// Of the present carrier. It knows the issuers that are trusted, and keeps their keys.
    let relyingParty: RelyingParty
    let rules: PortTokenRules
    let clock: WallClock

    /// Reads the port tokens of an ID token, in their order. Nothing is fetched, and no result can be trusted yet.
    func read(_ portTokens: [Secret], for clientID: ClientID) -> [Result<UnverifiedPortToken, PortTokenError>] {
        let now = clock.now()
        return portTokens.map { text in
            Result { () throws(PortTokenError) in
                try UnverifiedPortToken(text, for: clientID, relyingParty.configuration, rules, now: now)
            }
        }
    }

    /// Verifies the signatures of all tokens concurrently, so that several carriers that hang cost no more time than
    /// one. The results are in the order of the tokens.
    ///
    /// For each of at most ``PortTokenRules/maximumIssuers`` issuers, the OpenID configuration and the keys are fetched
    /// if they are not cached; the keys once more if the token's key is missing or its signature does not verify.
    func verify(_ portTokens: [UnverifiedPortToken]) async -> [Result<PortedIdentity, PortTokenError>] {
        var issuers: Set<String> = []
        for token in portTokens where issuers.count < rules.maximumIssuers { issuers.insert(token.identity.issuer) }
        return await withTaskGroup { group in
            for (index, token) in portTokens.enumerated() where issuers.contains(token.identity.issuer) {
                group.addTask { (index, await self.verify(token)) }
            }
            var results = portTokens.map { token in
                Result<PortedIdentity, _>.failure(PortTokenError(check: .issuerCount, issuer: token.identity.issuer))
            }
            for await (index, result) in group { results[index] = result }
            return results
        }
    }

    private func verify(_ token: UnverifiedPortToken) async -> Result<PortedIdentity, PortTokenError> {
        guard let cache = try? await relyingParty.keys(of: token.issuerURL) else {
            return .failure(PortTokenError(check: .metadata, issuer: token.identity.issuer))
        }
        guard let held = try? await cache.current() else {
            return .failure(PortTokenError(check: .keys, issuer: token.identity.issuer))
        }
        return await Result(
            awaiting: try await cache.check(
                with: held, mayFetch: { [.key, .signature].contains($0.check) }, token.verified(with:)))
    }
}
