import Logging
package import OpenIDConnect
package import Primitives
import StorageModel

/// A receipt: who approved which transaction, when, and with which assurance.
package struct Receipt: Sendable, Hashable {
    /// A random value, under which the receipt is spent.
    package let id: String
    /// This server.
    package let issuer: String
    /// The user's public id, not the carrier's subject.
    package let subject: String
    /// The client whose user approved.
    package let clientID: ClientID
    /// The text the user approved.
    package let context: String
    /// The authentication context.
    package let acr: String
    /// When the user was authenticated.
    package let authTime: Timestamp
    package let issuedAt: Timestamp
    package let expiresAt: Timestamp
}

/// The receipt as a signed JWT (RFC 7519, RFC 7515), with its own type so that it cannot pass for another token (RFC
/// 8725 section 3.11).
extension Receipt {
    /// The largest size of a receipt, in bytes.
    package static let maximumBytes = 8192
    private static let type = "receipt+jwt"
    private static let algorithm = "ES256"

    func signed(by key: SigningKey) throws(SignInError) -> Secret {
        var header = JSONObjectWriter(capacity: 128)
        header.add("alg", Self.algorithm)
        header.add("typ", Self.type)
        header.add("kid", key.id)
        let signed = Base64URL.encode(header.finish()) + "." + Base64URL.encode(claims)
        guard let signature = try? key.sign(Array(signed.utf8)) else { throw .internalFault }
        return Secret(signed + "." + Base64URL.encode(signature))
    }

    private var claims: [UInt8] {
        var json = JSONObjectWriter(capacity: 512)
        write(to: &json)
        return json.finish()
    }

    /// Adds the receipt's claims.
    package func write(to json: inout JSONObjectWriter) {
        json.add("iss", issuer)
        json.add("sub", subject)
        json.add("aud", clientID.text)
        json.add("jti", id)
        json.add("iat", issuedAt.secondsSinceEpoch)
        json.add("exp", expiresAt.secondsSinceEpoch)
        json.add("context", context)
        json.add("acr", acr)
        json.add("auth_time", authTime.secondsSinceEpoch)
    }

    /// Reads a receipt that one of these keys signed; nil for anything else. Does not check its expiry or use.
    init?(_ text: Secret, signedByOneOf keys: [PublicSigningKey]) {
        guard text.exposed.utf8.count <= Self.maximumBytes else { return nil }
        let parts = text.exposed.split(ascii: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let header = Self.object(parts[0]), let signature = Base64URL.decode(parts[2].utf8),
            header["alg"]?.string == Self.algorithm, header["typ"]?.string == Self.type, header["crit"] == nil,
            let key = keys.first(where: { $0.id == header["kid"]?.string }),
            key.verifies(signature, for: Array("\(parts[0]).\(parts[1])".utf8)), let claims = Self.object(parts[1])
        else { return nil }
        self.init(claims)
    }

    private static func object(_ part: Substring) -> JSONObject? {
        Base64URL.decode(part.utf8).flatMap { try? JSONValue(parsing: $0) }?.object
    }

    private init?(_ claims: JSONObject) {
        guard let id = claims["jti"]?.string, let issuer = claims["iss"]?.string, let subject = claims["sub"]?.string,
            let clientID = claims["aud"]?.string.flatMap(ClientID.init), let context = claims["context"]?.string,
            let acr = claims["acr"]?.string, let authTime = claims["auth_time"]?.integer,
            let issuedAt = claims["iat"]?.integer, let expiresAt = claims["exp"]?.integer
        else { return nil }
        self.init(
            id: id, issuer: issuer, subject: subject, clientID: clientID, context: context, acr: acr,
            authTime: Timestamp(secondsSinceEpoch: authTime), issuedAt: Timestamp(secondsSinceEpoch: issuedAt),
            expiresAt: Timestamp(secondsSinceEpoch: expiresAt))
    }
}

/// Verifies a receipt for one of the operator's services, and spends it.
package struct RedeemReceipt: UseCase {
    let environment: Environment
    let keys: SigningKeys
    let store: any ReceiptStore

    /// - Parameter clients: The clients whose receipts the caller may redeem; nil for all.
    /// - Throws: `invalid_token` for a receipt of another issuer, or one that has expired; `receipt_redeemed` for one
    ///   that was redeemed; `temporarily_unavailable`, and then it may have been redeemed.
    package func callAsFunction(_ text: Secret, clients: Set<String>? = nil) async throws(SignInError) -> Receipt {
        do throws(SignInError) {
            let receipt = try await redeem(text, clients)
            logger.info("receipt redeemed", metadata: ["client_id": "\(receipt.clientID)"])
            return receipt
        } catch {
            logger.log(
                level: error.fault.logLevel, "receipt refused",
                metadata: ["outcome": "\(error.codeText)", "reason": "\(error.description)"])
            throw error
        }
    }

    private func redeem(_ text: Secret, _ clients: Set<String>?) async throws(SignInError) -> Receipt {
        guard let receipt = Receipt(text, signedByOneOf: try await keys.published()),
            clients?.contains(receipt.clientID.text) ?? true
        else { throw .unknownReceipt }
        let now = clock.now()
        guard now < receipt.expiresAt else { throw .expiredReceipt }
        let id = TokenHash(sha256Of: receipt.id)
        let result = try await mappingStoreErrors(await store.redeemReceipt(id, at: now))
        switch result {
        case .redeemed: return receipt
        case .alreadyRedeemed: throw .usedReceipt
        case .expired: throw .expiredReceipt
        case .unknown: throw .unknownReceipt
        }
    }
}
