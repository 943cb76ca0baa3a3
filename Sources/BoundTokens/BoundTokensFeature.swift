package import HTTPServer
import HTTPTypes
package import LatchkeyAPI
package import LatchkeyConfiguration
package import LatchkeyService
import OpenIDConnect
package import Primitives
import SignIn
import StorageModel
import Synchronization

/// What contradicts itself in `dpop_bound_tokens`, which is the core's.
package struct BoundTokensSettings: FeatureSettings {
    package static let settings: [Setting<BoundTokensSettings>] = []

    package init() {}

    package func contradictions(in configuration: Configuration) -> [(key: String, reason: String, remedy: String)] {
        if configuration.publicURL != nil || configuration.http.hosts.allSatisfy(Self.isLoopback) { return [] }
        return configuration.allProviders.flatMap { provider in
            provider.clients.filter { $0.rules.boundTokens != .off }.map { client in
                let reason = "the client \(client.id.text) has dpop_bound_tokens, whose proofs name the request's URL"
                return (provider.keys.clients, reason, "set public_url")
            }
        }
    }

    /// There the address that the server is bound to is its URL.
    private static func isLoopback(_ host: String) -> Bool { IPAddress(host)?.isLoopback ?? false }
}

/// Session tokens that are bound to keys of apps (DPoP, RFC 9449; docs/sessions.md). A stolen token is of no use
/// without the key, which never leaves the device.
package struct BoundTokensFeature: Feature {
    private let verifier = KeyProofVerifier()

    /// For clients that are configured otherwise.
    package init() {}

    /// Nil if no client has bound tokens.
    /// - Throws: ``LatchkeyStartError`` for settings that contradict each other.
    package init?(_ settings: BoundTokensSettings, in context: FeatureContext) throws(LatchkeyStartError) {
        if let found = settings.contradictions(in: context.configuration).first {
            throw LatchkeyStartError(.configuration, "\(found.key): \(found.reason); \(found.remedy)")
        }
        guard context.configuration.allClients.contains(where: { $0.rules.boundTokens != .off }) else { return nil }
    }

    package var keyProofs: (any KeyProofs)? { verifier }
}

/// Verifies the proofs of apps' keys, each of which counts once.
package final class KeyProofVerifier: KeyProofs {
    /// So many of the last proofs with session tokens are known.
    static let capacity = 65_536
    /// A proof is known for longer than it could be accepted.
    static let lifetime = 2 * DPoPProof.tolerance + 1

    private let used = Mutex(BoundedCache<TokenHash, Bool>(capacity: capacity, age: .insertion, lifetime: lifetime))

    package init() {}

    package func proof(of request: Request, to api: LatchkeyAPI) throws(APIError) -> KeyProof? {
        do throws(DPoPProof.Fault) {
            guard let proof = try verified(request, api) else { return nil }
            let (store, id) = (api.useCases.oneTimeStore, proof.id)
            return KeyProof(key: proof.key) { () async throws(SignInError) in
                let isFirst = try await store.add(store.record(id, for: .usedProof, seconds: Self.lifetime))
                guard isFirst else { throw .keyProof("was used before") }
            }
        } catch {
            throw APIError(SignInError.keyProof(error.problem))
        }
    }

    package func token(of request: Request, to api: LatchkeyAPI) throws(APIError) -> Secret? {
        guard let token = request.dpopToken else { return nil }
        do throws(DPoPProof.Fault) {
            guard let proof = try verified(request, api) else { throw DPoPProof.Fault("is missing") }
            try proof.check(for: token)
            let key = SessionTokenFormat.key(of: token)
            guard key == nil || key == proof.key else { throw DPoPProof.Fault("is of another key than the token") }
            let now = api.useCases.environment.clock.now()
            let isFirst = used.withLock { used in
                guard used.value(for: proof.id, at: now) == nil else { return false }
                used.put(true, for: proof.id, at: now)
                return true
            }
            guard isFirst else { throw DPoPProof.Fault("was used before") }
            return Secret(key == nil ? "\(proof.key)~\(token)" : token)
        } catch {
            throw .proofRefused(.keyProof(error.problem))
        }
    }

    private func verified(_ request: Request, _ api: LatchkeyAPI) throws(DPoPProof.Fault) -> DPoPProof? {
        try DPoPProof(
            of: request, below: api.baseURL.url.flatMap { EndpointURL($0, policy: .allowHTTP) },
            at: api.useCases.environment.clock.now())
    }
}

extension EncryptedOneTimeStore.Purpose {
    /// A proof that a session was bound or refreshed with.
    fileprivate static let usedProof = Self("used proof of a key")
}

extension Request {
    /// The token of `Authorization: DPoP …`; nil for another scheme, or a repeated field.
    fileprivate var dpopToken: String? {
        let scheme = Array("dpop ".utf8)
        guard let field = headers.bytes(of: .authorization),
            field.prefix(scheme.count).elementsEqual(scheme, by: { $0.lowercasedASCII == $1 })
        else { return nil }
        let token = field.dropFirst(scheme.count).drop { $0 == UInt8(ascii: " ") }
        guard (1...4096).contains(token.count), token.allSatisfy(\.isVisibleASCII) else { return nil }
        return String(decoding: token, as: UTF8.self)
    }
}
