import Foundation
import LatchkeyClient
import Testing

/// What `LatchkeyClient` decodes of `GET /users/me` beyond the profile.
struct ClientUserTests {
    private func user(_ members: String) throws -> LatchkeyClient.User {
        let json = #"{"user_id":7,"zenkey_sub":"u_7","created_at":1800000000\#(members)}"#
        return try JSONDecoder().decode(LatchkeyClient.User.self, from: Data(json.utf8))
    }

    @Test("Claims and verifications are absent where the server sends none")
    func none() throws {
        let user = try user(#","email":"a@x.example","email_verified":false,"email_verified_at":null"#)
        #expect(user.emailVerification == nil)
        #expect(user.phoneNumberVerification == nil)
        let claims = user.consentedClaims
        #expect(claims.birthdate == nil && claims.address == nil && claims.proofing == nil && claims.issuer == nil)
    }

    @Test("Verifications have their time and issuer")
    func verified() throws {
        let user = try user(
            #","email_verified":true,"email_verified_at":1800000001,"email_verified_by":"https://a.example""#)
        #expect(user.emailVerification?.at == Date(timeIntervalSince1970: 1_800_000_001))
        #expect(user.emailVerification?.issuer == "https://a.example")
    }

    @Test("Claims have their issuer, and are not printed")
    func claims() throws {
        let user = try user(
            #","birthdate":"1984-05-17","last_4_social":"0042","is_adult":true,"is_over_13":false,"claims_by":"#
                + #""https://a.example","address":{"locality":"Town"},"proofing":true"#)
        let claims = user.consentedClaims
        #expect(claims.birthdate == "1984-05-17")
        #expect(claims.last4Social == "0042")
        #expect(claims.isAdult == true)
        #expect(claims.isOver13 == false)
        #expect(claims.address?.locality == "Town")
        #expect(claims.proofing == .flag(true))
        #expect(claims.issuer == "https://a.example")
        #expect(!"\(claims) \(user)".contains("0042"))
        #expect(try self.user(#","proofing":"level-2""#).consentedClaims.proofing == .text("level-2"))
    }
}
