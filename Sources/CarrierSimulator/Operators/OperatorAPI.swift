import Crypto
import HTTPServer
import HTTPTypes
import Primitives

/// An error of a CAMARA API: an object of `status`, `code` and `message`.
struct OperatorAPIError: Error, Sendable {
    let status: HTTPResponse.Status
    let code: String
    let message: String
    /// What is wrong with the request's DPoP proof; nil for other errors.
    var refusal: OAuthError?

    static func invalidArgument(_ message: String) -> Self {
        Self(status: .badRequest, code: "INVALID_ARGUMENT", message: message)
    }

    static func outOfRange(_ message: String) -> Self {
        Self(status: .badRequest, code: "OUT_OF_RANGE", message: message)
    }

    static func unauthenticated(_ message: String) -> Self {
        Self(status: .unauthorized, code: "UNAUTHENTICATED", message: message)
    }

    /// A proof that is missing or wrong, or has not the nonce of the operator (RFC 9449 section 7.1).
    static func proof(_ refusal: OAuthError) -> Self {
        Self(status: .unauthorized, code: "UNAUTHENTICATED", message: refusal.reason, refusal: refusal)
    }

    static let permissionDenied = Self(
        status: .forbidden, code: "PERMISSION_DENIED", message: "The access token does not have the required scope.")
    static let notFound = Self(
        status: .notFound, code: "IDENTIFIER_NOT_FOUND", message: "The operator does not know the phone number.")
    static let notApplicable = Self(
        status: .unprocessableContent, code: "SERVICE_NOT_APPLICABLE",
        message: "The service is not available for the phone number.")
    static let missingIdentifier = Self(
        status: .unprocessableContent, code: "MISSING_IDENTIFIER", message: "The phone number is not identified.")
    static let unnecessaryIdentifier = Self(
        status: .unprocessableContent, code: "UNNECESSARY_IDENTIFIER",
        message: "The phone number is already identified by the access token.")
    static let quotaExceeded = Self(
        status: .tooManyRequests, code: "QUOTA_EXCEEDED", message: "The business quota is used up.")
    static let notByNetwork = Self(
        status: .forbidden, code: "NUMBER_VERIFICATION.USER_NOT_AUTHENTICATED_BY_MOBILE_NETWORK",
        message: "The client must authenticate via the mobile network to use this service.")

    var response: Response {
        var response = Response.json(
            ["status": .integer(Int64(status.code)), "code": .string(code), "message": .string(message)],
            status: status)
        if status == .unauthorized {
            response.headers[.wwwAuthenticate] =
                refusal?.response.headers[.wwwAuthenticate] ?? "Bearer error=\"invalid_token\""
        }
        if let nonce = refusal?.nonce { response.headers[DPoPVerifier.nonceField] = nonce }
        return response
    }
}

/// What the APIs of an operator share: access tokens, `x-correlator`, and bodies in JSON.
struct OperatorAPI: Sendable {
    static let correlatorField = HTTPField.Name("x-correlator") ?? .from

    let simulator: CarrierSimulator

    /// A call of an API with an access token that is good for it.
    struct Call: Sendable {
        let request: Request
        let site: CarrierSite
        let profile: CarrierSimulator.OperatorProfile
        let grant: OperatorGrant
        let token: String
    }

    /// Serves a call: checks its `x-correlator` and its access token, and applies the faults.
    /// - Parameters:
    ///   - faults: What the names of the API's faults begin with.
    ///   - scopes: One of them is required.
    func serve(
        _ endpoint: CarrierSimulator.RequestLog.Endpoint, _ request: Request, faults prefix: String, scopes: [String],
        _ respond: (Call) throws(OperatorAPIError) -> Response
    ) async throws -> Response {
        let content = try? Parameters(contentOf: request)
        return try await simulator.serve(endpoint, request, faults: prefix, content: content) { site in
            var response: Response
            do throws(OperatorAPIError) {
                guard request.headers.values(of: Self.correlatorField).allSatisfy(Self.isCorrelator)
                else { throw .invalidArgument("The x-correlator does not have the form of one.") }
                guard let profile = site.carrier.operatorProfile else { throw .notFound }
                let (token, grant, proofs) = try grant(of: request, at: site)
                guard grant.terms.scopes.contains(where: scopes.contains) else { throw .permissionDenied }
                if site.has(.operatorQuotaExceeded) { throw .quotaExceeded }
                response = try respond(Call(request: request, site: site, profile: profile, grant: grant, token: token))
                response = proofs?.giving(nonceWith: response, hasProof: true) ?? response
            } catch {
                response = error.response
                if let refusal = error.refusal { simulator.note(refusal, of: endpoint, at: site) }
            }
            if let correlator = request.headers[Self.correlatorField], Self.isCorrelator(correlator) {
                response.headers[Self.correlatorField] = correlator
            }
            return response
        }
    }

    /// The schema `XCorrelator`: up to 256 letters, digits and `-_:;./<>{}`.
    private static func isCorrelator(_ text: String) -> Bool {
        text.utf8.count <= 256
            && text.utf8.allSatisfy { $0.isASCIILetterOrDigit || "-_:;./<>{}".utf8.contains($0) }
    }

    /// What a call's access token is for, and what has verified the proof of a token that is bound to a key.
    private func grant(
        of request: Request, at site: CarrierSite
    ) throws(OperatorAPIError) -> (token: String, grant: OperatorGrant, proofs: DPoPVerifier?) {
        let words = request.headers[.authorization]?.split(separator: " ") ?? []
        if site.has(.operatorWrongAudience) { throw .unauthenticated("The access token is of another audience.") }
        guard words.count == 2, let token = simulator.withState({ $0.operators.accessTokens[String(words[1])] }),
            token.grant.operatorName == site.mccmnc, !token.isRevoked, simulator.clock.now() < token.expiresAt,
            words[0].lowercased() == (token.keyThumbprint == nil ? "bearer" : "dpop")
        else { throw .unauthenticated("The access token is missing, invalid or expired.") }
        guard let bound = token.keyThumbprint else { return (String(words[1]), token.grant, nil) }
        let verifier = DPoPVerifier(simulator: simulator, site: site, server: .resource)
        let thumbprint: String?
        do throws(OAuthError) {
            thumbprint = try verifier.thumbprint(
                of: request, to: site.base + request.path, accessToken: String(words[1]))
        } catch {
            throw .proof(error)
        }
        guard thumbprint == bound else {
            throw .proof(.init("invalid_dpop_proof", "The proof is missing or of another key.", status: .unauthorized))
        }
        return (String(words[1]), token.grant, verifier)
    }

    static func object(of request: Request) throws(OperatorAPIError) -> JSONObject {
        guard request.headers[.contentType]?.lowercased().hasPrefix("application/json") ?? false,
            let object = (try? JSONValue(parsing: request.body))?.object
        else { throw .invalidArgument("The body must be a JSON object.") }
        return object
    }

    /// The member `phoneNumber` of an object; nil if it has none. E.164 with `+`: 5 to 15 digits.
    static func phoneNumber(in object: JSONObject) throws(OperatorAPIError) -> String? {
        guard let value = object["phoneNumber"] else { return nil }
        guard let text = value.string, isPhoneNumber(text)
        else { throw .invalidArgument("The phoneNumber is not in E.164 form.") }
        return text
    }

    private static func isPhoneNumber(_ text: String) -> Bool {
        let digits = text.utf8.dropFirst()
        return text.hasPrefix("+") && (5...15).contains(digits.count) && digits.first != UInt8(ascii: "0")
            && digits.allSatisfy(\.isASCIIDigit)
    }
}
