import Primitives

@testable import OpenIDConnect

/// The bytes as a userinfo response that must be encrypted; also as what was encrypted, and a JSON object as the claims
/// of a correctly signed token that was encrypted.
enum EncryptedUserInfoTarget {
    private static let header = Base64URL.encode(Array(#"{"alg":"ES256"}"#.utf8))
    private static let limits = OutboundLimits()

    static func read(_ bytes: [UInt8]) {
        read(bytes, wasEncrypted: false)
        read(Array(Encryptor.token(content: bytes).utf8), wasEncrypted: true)
        guard JSONPromise.value(bytes)?.object != nil else { return }
        let signed = Signer.signed(header: header, payload: Base64URL.encode(bytes))
        read(Array(Encryptor.token(content: Array(signed.utf8)).utf8), wasEncrypted: true)
    }

    private static func read(_ body: [UInt8], wasEncrypted: Bool) {
        let response = OutboundResponse(status: 200, contentType: "application/jwt", body: body)
        let isEncrypted = body.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).count == 5
        demand(isEncrypted || !wasEncrypted, "an encrypted token has five parts")
        // Without registered encryption.
        switch try? UserInfoResponse(response, signedWith: nil, limits: limits) {
        case .plain, .encrypted: demand(false, "a JWT is no plain claims")
        case .signed: demand(!isEncrypted, "what is encrypted is refused where it is not registered")
        case nil: break
        }
        for algorithm in [nil, SigningAlgorithm.es256] {
            let read = try? UserInfoResponse(
                response, signedWith: algorithm, encryptedAs: Encryptor.decryption, limits: limits)
            switch read {
            case .plain: demand(false, "a response that must be encrypted is not plain")
            case .encrypted(let claims):
                demand(isEncrypted && algorithm == nil, "claims without a signature were encrypted, and may have none")
                check(claims)
            case .signed(let token):
                demand(isEncrypted, "a token was encrypted")
                guard let keys = Signer.keys, SignatureValidationContext(token, keys: keys).verifies,
                    let claims = try? UserInfoResponse.claims(token.payload)
                else { break }
                check(claims)
            case nil: break
            }
        }
    }

    private static func check(_ claims: JSONObject) {
        let rules = IDTokenRules()
        let now = Timestamp(secondsSinceEpoch: 1_800_000_000)
        let issuer = "https://carrier.example"
        guard let client = ClientID("client"),
            (try? UserInfoResponse.check(claims, issuer: issuer, clientID: client, rules: rules, now: now)) != nil
        else { return }
        demand(claims["iss"] == nil || claims["iss"] == .string(issuer), "the issuer is the provider's")
        guard let user = try? UserInfo(claims, subject: "subject") else { return }
        demand(claims["sub"] == "subject", "the subject is that of the ID token")
        UserInfoTarget.check(user)
    }
}
