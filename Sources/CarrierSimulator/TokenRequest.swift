import HTTPServer
import HTTPTypes
import Primitives

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A token request (RFC 6749 section 4.1.3 with RFC 7636 section 4.5) of a client that proved who it is.
struct TokenRequest: Sendable {
    typealias Refusal = CarrierSimulator.Refusal

    let client: CarrierSimulator.Client
    let code: String
    let redirectURI: String
    let codeVerifier: String

    init(
        _ request: Request, form: Parameters, clients: [String: CarrierSimulator.Client]
    ) throws(Refusal) {
        client = try Self.authenticate(request, clients: clients)
        guard !form.hasRepeatedName else { throw .invalidRequest("A parameter stands more than once.") }
        // One of ZenKey's carriers refuses a second statement of the client, so every carrier here does.
        guard form["client_id"] == nil, form["client_secret"] == nil
        else { throw .invalidRequest("With HTTP Basic the form must not name the client too.") }
        guard form["grant_type"] == "authorization_code"
        else { throw Refusal("unsupported_grant_type", "The grant_type must be authorization_code.") }
        guard let code = form["code"] else { throw .invalidRequest("There is no code.") }
        guard let redirectURI = form["redirect_uri"] else { throw .invalidRequest("There is no redirect_uri.") }
        guard let verifier = form["code_verifier"] else { throw .invalidRequest("There is no code_verifier.") }
        guard (43...128).contains(verifier.utf8.count), verifier.utf8.allSatisfy(FormCoding.isUnreserved)
        else { throw .invalidRequest("The code_verifier is not 43 to 128 unreserved characters.") }
        self.code = code
        self.redirectURI = redirectURI
        self.codeVerifier = verifier
    }

    /// Whether the verifier belongs to a code challenge (RFC 7636 section 4.6).
    func matches(codeChallenge: String) -> Bool {
        Digest.codeChallenge(of: codeVerifier) == codeChallenge
    }

    /// HTTP Basic with id and secret form-encoded first (RFC 6749 section 2.3.1).
    private static func authenticate(
        _ request: Request, clients: [String: CarrierSimulator.Client]
    ) throws(Refusal) -> CarrierSimulator.Client {
        guard let field = request.headers[.authorization] else { throw .invalidClient("There is no HTTP Basic.") }
        let words = field.split(separator: " ")
        guard words.count == 2, words[0].lowercased() == "basic", let bytes = Data(base64Encoded: String(words[1])),
            let text = String(validating: bytes, as: UTF8.self)
        else { throw .invalidClient("The Authorization field is not well-formed HTTP Basic.") }
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        // Exactly one colon: those of an id or a secret are encoded.
        guard parts.count == 2, let id = FormCoding.decode(parts[0]), let secret = FormCoding.decode(parts[1])
        else { throw .invalidClient("The id and the secret are not form-encoded.") }
        guard let client = clients[id], client.secret.exposed.hasSameBytesInConstantTime(as: secret)
        else { throw .invalidClient("The client is unknown or its secret is wrong.") }
        return client
    }
}

extension CarrierSimulator.Refusal {
    fileprivate static func invalidClient(_ reason: String) -> Self {
        Self("invalid_client", reason, status: .unauthorized)
    }
}
