public import Foundation

/// One of the user's identities: an account at a provider that signs the user in.
public struct UserIdentity: Sendable, Hashable, Decodable {
    /// The identifier for ``Latchkey/unlinkIdentity(_:)``; not the provider's subject.
    public let id: String
    /// The provider's issuer.
    public let issuer: String
    /// When the user first signed in with it or linked it.
    public let createdAt: Date

    private enum CodingKeys: String, CodingKey {
        case id, issuer
        case createdAt = "created_at"
    }

    /// Decodes the server's JSON.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        id = try container.decode(String.self, forKey: .id)
        issuer = try container.decode(String.self, forKey: .issuer)
        createdAt = Date(timeIntervalSince1970: try container.decode(Double.self, forKey: .createdAt))
    }
}
