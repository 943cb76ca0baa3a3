import Logging
import OpenIDConnect
package import Primitives
import StorageModel

/// Verifies a receipt for one of the operator's services, and spends it.
package struct RedeemReceipt: Sendable {
    let keys: SigningKeys
    let store: any ReceiptStore
    let clock: WallClock
    let logger: Logger

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
        let result = try await stored(await store.redeemReceipt(id, at: now))
        switch result {
        case .redeemed: return receipt
        case .alreadyRedeemed: throw .usedReceipt
        case .expired: throw .expiredReceipt
        case .unknown: throw .unknownReceipt
        }
    }
}
