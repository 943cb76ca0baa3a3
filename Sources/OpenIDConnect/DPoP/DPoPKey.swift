import Crypto
public import Primitives
import Synchronization

/// The key that the tokens of a grant are bound to (RFC 9449): P-256, for ES256.
///
/// Each authorization has a new one, so that proofs do not connect the sign-ins of a user. It prints and reflects as
/// `‹redacted›`. A class, so that a value that has no key has one word for it.
public final class DPoPKey: Sendable, Redacted {
    /// The RFC 7638 thumbprint of the public key, 43 characters: the value of `dpop_jkt` (RFC 9449 section 10).
    public let thumbprint: String
    private let bytes: [UInt8]
    private let key: ClientKey

    public convenience init() { self.init(P256.Signing.PrivateKey()) }

    /// The key that ``secret`` gave; nil if the text is none.
    public convenience init?(secret: Secret) {
        guard let bytes = Base64URL.decode(secret.exposed),
            let key = try? P256.Signing.PrivateKey(rawRepresentation: bytes)
        else { return nil }
        self.init(key)
    }

    private init(_ key: P256.Signing.PrivateKey) {
        bytes = Array(key.rawRepresentation)
        let key = ClientKey(.p256(key), keyID: nil)
        thumbprint = key.keyID
        self.key = key
    }

    /// The private key, to be stored encrypted: its 32 bytes in base64url.
    public var secret: Secret { Secret(Base64URL.encode(bytes)) }

    /// A proof (RFC 9449 section 4.2) in compact form: it shows for one request that its sender has this key.
    /// - Parameters:
    ///   - accessToken: In the request; its hash is `ath`. Nil for a request without one.
    ///   - nonce: What the server has given, if it has given one.
    ///   - demanded: The claims that the provider demands beyond the RFC. They bind the proof to the content of the
    ///     request, which `htm` and `htu` do not cover. Each is the SHA-256 in base64url: of the query as it is sent,
    ///     if there is one, and of the body, without one of no bytes.
    ///   - id: Of this proof alone (`jti`): a server refuses a second one.
    /// - Throws: ``OIDCError/Code/clientRefused`` if the key cannot sign.
    func proof(
        for request: OutboundRequest, accessToken: Secret? = nil, nonce: DPoPNonce?, claims demanded: Set<DPoPClaim>,
        id: String, now: Timestamp
    ) throws(OIDCError) -> Secret {
        func hash(_ bytes: [UInt8]) -> String { Base64URL.encode(Array(SHA256.hash(data: bytes))) }
        var claims = JSONObjectWriter(capacity: 256)
        claims.add("jti", id)
        claims.add("htm", request.method.rawValue)
        claims.add("htu", request.url.withoutQuery)
        claims.add("iat", now.secondsSinceEpoch)
        if let accessToken { claims.add("ath", Base64URL.encode(accessToken.sha256)) }
        claims.add("nonce", ifPresent: nonce?.text)
        if demanded.contains(.queryHash), let query = request.url.query {
            claims.add(named: DPoPClaim.queryHash.rawValue, hash(Array(query.utf8)))
        }
        if demanded.contains(.bodyHash) { claims.add(named: DPoPClaim.bodyHash.rawValue, hash(request.body)) }
        return try key.token(type: "dpop+jwt", naming: .publicKey, claims: claims.finish())
    }
}

extension DPoPKey: Hashable {
    public static func == (left: DPoPKey, right: DPoPKey) -> Bool { left.thumbprint == right.thumbprint }

    public func hash(into hasher: inout Hasher) { hasher.combine(thumbprint) }
}

/// A claim that a provider demands in DPoP proofs beyond RFC 9449: those of the CAMARA Security and Interoperability
/// Profile r4.2, section "Additional Recommendations for DPoP Implementations". The raw value is its name.
public enum DPoPClaim: String, Sendable, Hashable, CaseIterable {
    case queryHash = "camara:qh"
    case bodyHash = "camara:bh"
}

/// What becomes of the tokens of new sign-ins at a provider (DPoP, RFC 9449).
package enum DPoPUse: Sendable, Hashable {
    /// They are Bearer tokens.
    case none
    /// They are bound to a key that only this server has, if the provider binds them.
    case offered
    /// They are bound to such a key, or refused.
    case required

    /// A token that is used once and forgotten gains little, and each proof costs a signature. So what a provider only
    /// supports is used where that gains something.
    /// - Parameters:
    ///   - setting: ``ExtensionUse/auto`` also binds tokens where the provider only supports it, if they are preferred.
    ///   - prefersBoundTokens: Whether tokens are bound wherever the provider supports it.
    package init(_ setting: ExtensionUse, at provider: ProviderMetadata, prefersBoundTokens: Bool) {
        self =
            switch setting {
            case .auto where provider.demands.dpopBoundTokens: .required
            case .auto:
                prefersBoundTokens && provider.demands.dpopAlgorithms?.contains(.es256) ?? false ? .offered : .none
            case .always: .required
            case .never: .none
            }
    }
}

extension RelyingParty {
    /// What becomes of the tokens of new sign-ins at a provider.
    func dpop(at provider: ProviderMetadata) -> DPoPUse {
        DPoPUse(configuration.extensions.dpop, at: provider, prefersBoundTokens: configuration.prefersBoundTokens)
    }

    /// A key for a new authorization at a provider; nil if its tokens are not bound to one.
    public func newDPoPKey(at provider: ProviderMetadata) -> DPoPKey? {
        dpop(at: provider) == .none ? nil : DPoPKey()
    }
}

/// The newest nonce of each server, for the proofs of later requests (RFC 9449 sections 8.2 and 9). Bounded: the oldest
/// nonce gives way, and its server demands one again.
final class DPoPNonces: Sendable {
    /// Who gives nonces. An authorization server and a resource server on one origin may give different nonces.
    struct Server: Sendable, Hashable {
        let scheme: EndpointURL.Scheme
        let authority: String
        let hasResources: Bool

        init(of url: EndpointURL, hasResources: Bool) {
            (scheme, authority, self.hasResources) = (url.scheme, url.authority, hasResources)
        }
    }

    static let capacity = 256

    private let nonces = Mutex(BoundedCache<Server, DPoPNonce>(capacity: capacity))

    subscript(server: Server) -> DPoPNonce? { nonces.withLock { $0[server] } }

    func keep(_ nonce: DPoPNonce, of server: Server) { nonces.withLock { $0.put(nonce, for: server) } }
}

/// A nonce that a server demands in DPoP proofs (RFC 9449 section 8): 1 to 512 characters NQCHAR, which are visible
/// ASCII without quotation mark and backslash.
struct DPoPNonce: Sendable, Hashable {
    /// The RFC sets no limit. This one keeps a proof shorter than the header fields that servers accept.
    static let maximumBytes = 512

    let text: String

    /// The nonce in a `DPoP-Nonce` field (RFC 9449 section 8.1); nil if the value has another length or other
    /// characters, as two fields in one list have.
    init?(_ field: String) {
        guard (1...Self.maximumBytes).contains(field.utf8.count), field.utf8.allSatisfy(Self.isAllowed) else {
            return nil
        }
        text = field
    }

    /// NQCHAR (RFC 6749 appendix A).
    private static func isAllowed(_ byte: UInt8) -> Bool {
        byte.isVisibleASCII && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
    }
}
