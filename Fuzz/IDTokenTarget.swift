import Crypto
import Primitives
import StorageModel

@testable import AccountMigration
@testable import OpenIDConnect

/// The bytes as a token; a JSON object also as the claims and as the header of a correctly signed token, and as the
/// claims of a port token.
enum IDTokenTarget {
    private static let issuer = "https://carrier.example"
    private static let now = Timestamp(secondsSinceEpoch: 1_800_000_000)
    private static let rules = IDTokenRules()

    static func read(_ bytes: [UInt8]) {
        validate(String(decoding: bytes, as: UTF8.self))
        guard JSONPromise.value(bytes)?.object != nil else { return }
        let written = Base64URL.encode(bytes)
        demand(Base64URL.decode(written) == bytes, "base64url that was written reads the same")
        validate(Signer.signed(header: ordinaryHeader, payload: written))
        validate(Signer.signed(header: written, payload: ordinaryClaims))
        readPortToken(portHeader + "." + written + ".AAAA")
    }

    private static let ordinaryHeader = Base64URL.encode(Array(#"{"alg":"ES256"}"#.utf8))
    private static let portHeader = Base64URL.encode(Array(#"{"typ":"port_token+jwt","alg":"ES256","kid":"k"}"#.utf8))
    private static let ordinaryClaims = Base64URL.encode(
        Array(
            #"{"iss":"https://carrier.example","sub":"s","aud":"client","exp":1800000600,"iat":1800000000,"nonce":"n""#
                .utf8
        ) + Array(#","auth_time":1800000000,"acr":"a3","context":"Pay"}"#.utf8))

    private static let expectation = ClientID("client").map { id in
        var expectation = IDTokenExpectation(clientID: id, nonce: "n", accessToken: Secret("access"))
        expectation.demand.acrValues = ["a3"]
        expectation.demand.maximumAge = 60
        expectation.demand.context = "Pay"
        return expectation
    }

    /// An explanation must agree with a sign-in.
    private static func validate(_ text: String) {
        guard let keys = Signer.keys, let expectation else { return }
        let validator = IDTokenValidator(rules: rules, issuer: issuer)
        let token = try? SignedToken(
            Secret(text), maximumBytes: rules.maximumBytes, signedWith: SigningAlgorithm.standard)
        let verified = token.flatMap { try? validator.validate($0, keys: keys, expecting: expectation, now: now) }
        let explanation = validator.explain(
            TokenExamination(Secret(text), rules, keys: .success(keys)), signedWith: SigningAlgorithm.standard,
            expecting: expectation, now: now)
        demand(explanation.isAccepted == (verified != nil), "a token is explained as a sign-in takes it")
        demand(
            explanation.steps.allSatisfy { !$0.found.utf8.contains { $0 < 0x20 } }, "an explanation stays on its lines")
        guard let verified else { return }
        demand(verified.issuer == issuer && (1...255).contains(verified.subject.utf8.count), "who signs in is known")
        demand(verified.portTokens.count <= 8, "port tokens are few")
    }

    private static func readPortToken(_ text: String) {
        guard let clientID = ClientID("client"),
            let discovery = EndpointURL("https://discovery.example", policy: .httpsOnly)
        else { return }
        var configuration = RelyingParty.Configuration(discoveryURL: discovery)
        configuration.urlPolicy = MetadataTarget.requirements.urlPolicy
        configuration.trustedHosts = MetadataTarget.requirements.trustedHosts
        let token = try? UnverifiedPortToken(
            Secret(text), for: clientID, configuration, PortTokenRules(), now: now)
        guard let token else { return }
        demand((1...255).contains(token.identity.subject.utf8.count), "a port token names somebody")
        demand(token.issuedAt <= now.advanced(bySeconds: rules.clockSkewSeconds), "a port token is of the past")
    }
}

/// Always signs with the same key, so that findings can be repeated.
enum Signer {
    private static let key = try? P256.Signing.PrivateKey(rawRepresentation: [UInt8](repeating: 1, count: 32))

    static let keys: JSONWebKeySet? = {
        guard let point = key.map({ Array($0.publicKey.rawRepresentation) }) else { return nil }
        let x = Base64URL.encode(point.prefix(32))
        let y = Base64URL.encode(point.suffix(32))
        return JSONWebKeySet(parsing: Array(#"{"keys":[{"kty":"EC","crv":"P-256","x":"\#(x)","y":"\#(y)"}]}"#.utf8))
    }()

    static func signed(header: String, payload: String) -> String {
        let signed = header + "." + payload
        guard let signature = try? key?.signature(for: SHA256.hash(data: Array(signed.utf8))) else { return signed }
        return signed + "." + Base64URL.encode(Array(signature.rawRepresentation))
    }
}
