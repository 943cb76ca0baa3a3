import OpenIDConnect
import Primitives
import Testing

@testable import SignIn
@testable import Transactions

/// The largest receipt that is read.
@Suite struct ReceiptSizeTests {
    @Test("A receipt of 8192 bytes is read, and no longer one")
    func size() throws {
        let key = SigningKey()
        let keys = [try #require(PublicSigningKey(id: key.id, point: key.publicPoint))]
        let now = Timestamp(secondsSinceEpoch: 1_800_000_000)
        let clientID = try #require(ClientID("client-1"))
        let sizes = try (5_800..<5_870).map { count in
            let receipt = Receipt(
                id: "i", issuer: "https://op.example", subject: "s", clientID: clientID,
                context: String(repeating: "c", count: count), acr: "a", authTime: now, issuedAt: now,
                expiresAt: now.advanced(bySeconds: 60))
            let text = try receipt.signed(by: key)
            let isRead = Receipt(text, signedByOneOf: keys) == receipt
            #expect(isRead == (text.exposed.utf8.count <= 8192))
            return text.exposed.utf8.count
        }
        #expect(sizes.contains(8192) && sizes.contains { $0 > 8192 })
    }
}
