import Primitives

@testable import OpenIDConnect

/// The bytes as a signed authorization response (JARM); a JSON object also as the claims and as the header of a
/// correctly signed one.
enum AuthorizationResponseTarget {
    private static let issuer = "https://carrier.example"

    static func read(_ bytes: [UInt8]) {
        verify(String(decoding: bytes, as: UTF8.self))
        guard JSONPromise.value(bytes)?.object != nil else { return }
        let written = Base64URL.encode(bytes)
        verify(Signer.signed(header: header, payload: written))
        verify(Signer.signed(header: written, payload: claims))
    }

    private static let header = Base64URL.encode(Array(#"{"alg":"ES256"}"#.utf8))
    private static let claims = Base64URL.encode(
        Array(#"{"iss":"https://carrier.example","aud":"client","exp":1800000300,"state":"s","code":"c"}"#.utf8))

    private static func verify(_ text: String) {
        guard let keys = Signer.keys, let clientID = ClientID("client") else { return }
        let requirements = MessageRequirements(
            issuer: issuer, clients: [clientID: [.es256]], rules: IDTokenRules(),
            now: Timestamp(secondsSinceEpoch: 1_800_000_000))
        guard
            let unverified = try? UnverifiedMessage<AuthorizationResponseValidationContext>(
                Secret(text), requirements)
        else { return }
        guard let response = try? unverified.context.response() else { return demand(false, "nothing is missing") }
        demand(response.issuer == issuer && response.clientID == clientID, "the provider and the client are known")
        demand(isText(response.state.exposed, upTo: 256, from: 0x21), "a state can be looked up")
        switch response.outcome {
        case .code(let code): demand(isText(code.exposed, upTo: 4096, from: 0x20), "a code breaks no line")
        case .error(let error): demand(isText(error, upTo: 256, from: 0x20), "an error breaks no line")
        }
        _ = try? unverified.checkSignature(keys)
    }

    private static func isText(_ text: String, upTo longest: Int, from lowest: UInt8) -> Bool {
        (1...longest).contains(text.utf8.count) && text.utf8.allSatisfy { (lowest...0x7E).contains($0) }
    }
}
