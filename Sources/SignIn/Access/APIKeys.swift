import OpenIDConnect
package import Primitives
package import StorageModel

/// What a caller may do: with an API key, or from the origin of a web frontend.
package struct APIGrant: Sendable, Hashable {
    /// The administrator's name for the key; nil if it has none.
    package let name: String?
    /// The clients whose users and sessions it may access; nil for all.
    package let clients: Set<String>?
    /// The origins that it is limited to; nil for any.
    package let origins: Set<String>?
    /// Whether the key belongs to an administrator, who may see the administrators' pages.
    package let isAdministrator: Bool

    package init(
        name: String? = nil, clients: Set<String>? = nil, origins: Set<String>? = nil, isAdministrator: Bool = false
    ) {
        self.isAdministrator = isAdministrator
        self.name = name
        self.clients = clients
        self.origins = origins
    }
}

/// The configured API keys, sent in `X-API-KEY`, and what each may do.
package struct APIKeys: Sendable {
    private let entries: [(hash: TokenHash, grant: APIGrant)]

    package init(_ keys: [(hash: TokenHash, grant: APIGrant)]) { entries = keys }

    /// What a key may do; nil if it is unknown. Takes the same time whichever key matches.
    package func grant(for hash: TokenHash) -> APIGrant? {
        var found = -1
        for index in entries.indices {
            let isSame = entries[index].hash == hash
            found = isSame ? index : found
        }
        return found < 0 ? nil : entries[found].grant
    }

    /// The origins that any key is limited to.
    package var origins: Set<String> {
        entries.reduce(into: []) { $0.formUnion($1.grant.origins ?? []) }
    }
}

/// The API keys in the store, which administrators make and revoke while servers run.
///
/// A read is used for five seconds. Within that time a new key may be unknown, and a revoked one accepted, on any
/// instance; guessing keys causes one read in that time.
package final class StoredAPIKeys: Sendable {
    /// How long a read is valid, in seconds.
    package static let freshness: Int64 = 5
    /// The most keys there can be.
    package static let limit = 1000

    private let known: CachedRead<(keys: APIKeys, origins: Set<String>), SignInError>

    init(store: any KeyStore, clock: WallClock) {
        known = CachedRead(lifetime: Self.freshness, clock: clock) { () async throws(SignInError) in
            let records = try await mappingStoreErrors(await store.apiKeys(limit: Self.limit))
            let keys = APIKeys(
                records.map { key in
                    let (clients, origins) = (key.clients.map { Set($0) }, key.origins.map { Set($0) })
                    return (key.hash, APIGrant(name: key.name, clients: clients, origins: origins))
                })
            return (keys, keys.origins)
        }
    }

    /// What a key allows; nil if it is unknown or revoked.
    /// - Throws: `temporarily_unavailable` if the store cannot tell.
    package func grant(for hash: TokenHash) async throws(SignInError) -> APIGrant? {
        try await known().keys.grant(for: hash)
    }

    /// Reads the keys if the last read is too old.
    package func refresh() async { _ = try? await known() }

    /// The origins that any key is limited to, as of the last read.
    package var origins: Set<String> { known.lastValue?.origins ?? [] }
}

/// Identifies the caller of a request by a hash of its API key or of its origin.
package struct Caller: Sendable, Hashable {
    package let hash: TokenHash
    /// Whether it has no API key. Anyone can send the origin of a page.
    package let isKeyless: Bool

    package init(apiKey: String) {
        hash = TokenHash(sha256Of: "key " + apiKey)
        isKeyless = false
    }

    /// - Parameter hash: That by which the key is known.
    package init(apiKeyHash hash: TokenHash) {
        self.hash = hash
        isKeyless = false
    }

    package init(origin: String) {
        hash = TokenHash(sha256Of: "origin " + origin)
        isKeyless = true
    }

    /// One user of an origin, as far as an address tells users apart.
    package init(address: IPAddress) {
        hash = TokenHash(sha256Of: "address \(address.high) \(address.low)")
        isKeyless = true
    }
}

/// What a caller may use of the configured providers.
package struct CallerTerms: Sendable {
    /// The clients that it may use; nil for all. Without an API key they are all.
    package var clients: Set<String>?
    /// The network of its address, whose callers share what is limited for all; nil if it is not known.
    package var subnet: IPAddress?

    /// Whose part of the limits of a phone number it uses; nil if the caller is not known.
    package var id: TokenHash?

    /// A caller without limits.
    package init() {}

    /// - Parameters:
    ///   - key: By which the caller was admitted; nil for a browser without an API key.
    ///   - address: The caller's; nil if it is not known. With the key it tells the users of an app apart.
    package init(clients: Set<String>?, key: TokenHash?, address: IPAddress?) {
        self.clients = clients
        subnet = address?.subnet
        guard key != nil || address != nil else { return }
        let place = address.map { "\($0.network.high) \($0.network.low)" } ?? ""
        id = TokenHash(sha256Of: "caller \(key.map { Base64URL.encode($0.bytes) } ?? "") \(place)")
    }

    /// The same for a signed-in user, who is the caller then, wherever they are.
    package func of(_ user: UserID) -> CallerTerms {
        var terms = self
        terms.id = TokenHash(sha256Of: "user \(user.number)")
        return terms
    }

    func allows(_ client: SignInConfiguration.Client) -> Bool { clients?.contains(client.id.text) ?? true }

    /// - Throws: `unauthorized_client` if the caller may not use the client.
    package func check(_ client: SignInConfiguration.Client) throws(SignInError) {
        guard allows(client) else { throw .clientNotAllowed }
    }

    /// - Throws: `unauthorized_client` if the caller may use none of the clients.
    package func check<Clients: Sequence<SignInConfiguration.Client>>(
        mayUseOneOf clients: @autoclosure () -> Clients
    ) throws(SignInError) {
        guard self.clients == nil || clients().contains(where: allows) else { throw .clientNotAllowed }
    }
}

extension SignInError {
    /// A sign-in, its start, or a verification for another client than the caller's. 400, as RFC 6749 section 5.2 says,
    /// because the published apps read any 403 of a sign-in as the offer of a registration.
    package static let clientNotAllowed = SignInError(
        .unauthorizedClient, .configurationError,
        "This API key or origin is not for this client. The administrator must add the client to it.")
}

/// The origin of a web page (RFC 6454), as browsers write it in `Origin`: scheme, host and, if it is not the scheme's
/// own, port.
public struct Origin: Sendable, Hashable, CustomStringConvertible {
    /// The serialized origin, such as `https://app.example.com`.
    public let text: String

    /// The same as ``text``.
    public var description: String { text }

    /// Parses an origin. Nil if the text has a path or query, or is not https (or http to loopback).
    public init?(_ text: String) {
        guard let url = EndpointURL(text, policy: .allowLoopbackHTTP) else { return nil }
        let authority = text.utf8.dropFirst(url.scheme.rawValue.utf8.count + 3)
        guard !authority.contains(where: { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") }) else { return nil }
        self.text = "\(url.scheme.rawValue)://\(url.authority)"
    }
}
