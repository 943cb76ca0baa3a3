import Crypto
import OpenIDConnect
import Primitives

/// A digital credential as a wallet presents it: a JWT of its issuer, disclosures, and a JWT that binds it to a request
/// (SD-JWT with key binding, RFC 9901 section 4).
///
/// The key of the second JWT is in the first one. Whether that is genuine can only the aggregator say, which has the
/// keys of the carriers; so a presentation that meets all rules here still proves nothing alone.
struct PresentedCredential: Sendable {
    /// A usual one has some 6 kB.
    static let maximumBytes = 16 * 1024

    /// What a presentation can fail. The raw value is the name in errors.
    enum Check: String, Error, Sendable, CaseIterable {
        case format, type, algorithm
        case confirmationKey = "confirmation_key"
        case signature, expiry, audience, nonce
        case issuedAt = "issued_at"
        case hash = "sd_hash"

        /// What it demands, without the full stop.
        var demand: String {
            switch self {
            case .format: "The credential must be an issuer's JWT and a key-binding JWT, with ~ after the former"
            case .type: "The typ of the key-binding JWT must be kb+jwt"
            case .algorithm: "The key-binding JWT must be signed with ES256, without extensions"
            case .confirmationKey: "The issuer's JWT must have a P-256 key as cnf"
            case .signature: "The key-binding JWT must be signed with the key of the issuer's JWT"
            case .expiry: "The issuer's JWT must not have expired"
            case .audience: "The aud of the key-binding JWT must be one of the provider's credential_origins"
            case .nonce: "The nonce of the key-binding JWT must be that of this request"
            case .issuedAt: "The key-binding JWT must have been issued for this request, by its iat"
            case .hash: "The sd_hash of the key-binding JWT must be that of what is before it"
            }
        }
    }

    /// What a request demands.
    struct Expectation: Sendable {
        let nonce: String
        let origins: [String]
        /// When the request was made.
        let since: Timestamp
        let now: Timestamp
        /// By how much clocks may differ, in seconds.
        let skew: Int64
    }

    let text: String
    /// The JWT that binds the credential to a request.
    private let binding: SignedToken
    private let claims: JSONObject
    private let issuerClaims: JSONObject
    private let key: PublicKey
    /// All before the last JWT.
    private let bound: Substring

    /// Reads a presentation, and checks the form of its parts.
    init(_ text: String) throws(Check) {
        guard text.utf8.count <= Self.maximumBytes, let end = text.lastIndex(of: "~") else { throw .format }
        bound = text[...end]
        guard let first = bound.split(separator: "~", omittingEmptySubsequences: false).first,
            let issued = CompactToken(Secret(String(first)), maximumBytes: Self.maximumBytes), issued.header != nil,
            let issuerClaims = issued.payload.object
        else { throw .format }
        self.issuerClaims = issuerClaims
        self.text = text
        do throws(OIDCError) {
            binding = try SignedToken(
                Secret(String(text[text.index(after: end)...])), maximumBytes: Self.maximumBytes,
                type: .named("kb+jwt", orAbsent: false), signedWith: [.es256])
        } catch {
            switch error.check {
            case .type: throw .type
            case .algorithm, .criticalHeader: throw .algorithm
            default: throw .format
            }
        }
        guard let claims = JSONObject(claims: binding.payload) else { throw .format }
        self.claims = claims
        guard let jwk = issuerClaims["cnf"]?.object?["jwk"]?.object, let key = try? PublicKey(jwk),
            key.algorithms.contains(.es256)
        else { throw .confirmationKey }
        self.key = key
    }

    /// Whether the presentation is for a request.
    /// - Throws: The first check that failed.
    func check(_ expected: Expectation) throws(Check) {
        for rule in Self.rules where !rule.isMet(self, expected) { throw rule.check }
    }

    /// In the order in which a presentation is refused by them.
    private static let rules: [(check: Check, isMet: @Sendable (Self, Expectation) -> Bool)] = [
        (.signature, { credential, _ in credential.binding.isSigned(with: credential.key) }),
        (
            .expiry,
            { credential, expected in
                guard let end = credential.issuerClaims["exp"] else { return true }
                return end.integer.map { $0 > expected.now.secondsSinceEpoch - expected.skew } ?? false
            }
        ),
        // OpenID4VP 1.0 appendix A.4: the origin has a prefix where the request is not signed. Some wallets leave it
        // out.
        (
            .audience,
            { credential, expected in
                guard let audience = credential.claims["aud"]?.string else { return false }
                return expected.origins.contains {
                    audience.hasSameBytes(as: $0) || audience.hasSameBytes(as: "origin:" + $0)
                }
            }
        ),
        (
            .nonce,
            { credential, expected in
                credential.claims["nonce"]?.string.map { $0.hasSameBytes(as: expected.nonce) } ?? false
            }
        ),
        (
            .issuedAt,
            { credential, expected in
                guard let issuedAt = credential.claims["iat"]?.integer else { return false }
                return issuedAt >= expected.since.secondsSinceEpoch - expected.skew
                    && issuedAt <= expected.now.secondsSinceEpoch + expected.skew
            }
        ),
        // RFC 9901 section 4.3.1, by the hash function of the issuer's JWT.
        (
            .hash,
            { credential, _ in
                guard credential.issuerClaims["_sd_alg"].map({ $0.string == "sha-256" }) ?? true,
                    let hash = credential.claims["sd_hash"]?.string
                else { return false }
                return hash.hasSameBytes(as: Base64URL.encode(Array(SHA256.hash(data: Array(credential.bound.utf8)))))
            }
        ),
    ]
}
