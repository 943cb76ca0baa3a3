import HTTPServer
import HTTPTypes
import Primitives

/// The errors of CAMARA's APIs.
extension OAuthError {
    static func invalidArgument(_ message: String) -> Self { Self("INVALID_ARGUMENT", message) }

    static let permissionDenied = Self(
        "PERMISSION_DENIED", "The access token does not have the required scope.", status: .forbidden)
    static let notFound = Self(
        "IDENTIFIER_NOT_FOUND", "The operator does not know the phone number.", status: .notFound)
    fileprivate static let noSuchPath = Self("NOT_FOUND", "The operator has no such API.", status: .notFound)
    fileprivate static let headerMissing = Self(
        "UNAUTHENTICATED", "A header field is missing or wrong.", status: .unauthorized)
    static let missingIdentifier = Self(
        "MISSING_IDENTIFIER", "The phone number is not identified.", status: .unprocessableContent)

    /// An object of `status`, `code` and `message`.
    fileprivate var responseOfAPI: Response {
        var response = response
        let code = status == .unauthorized ? "UNAUTHENTICATED" : code
        let members: JSONMembers = [
            "status": .integer(Int64(status.code)), "code": .string(code), "message": .string(reason),
        ]
        response.body = members.serialized
        return response
    }
}

/// A call of an operator's API with an access token that is good for it.
struct OperatorCall: Sendable {
    static let correlatorField = HTTPField.Name("x-correlator") ?? .from

    let request: Request
    let site: CarrierSite
    let profile: CarrierSimulator.OperatorProfile
    let grant: Grant
    let token: String

    func object() throws(OAuthError) -> JSONObject {
        guard request.headers[.contentType]?.lowercased().hasPrefix("application/json") ?? false,
            let object = (try? JSONValue(parsing: request.body))?.object
        else { throw .invalidArgument("The body must be a JSON object.") }
        return object
    }

    /// The schema `XCorrelator`: up to 256 letters, digits and `-_:;./<>{}`.
    fileprivate static func isCorrelator(_ text: String) -> Bool {
        text.utf8.count <= 256
            && text.utf8.allSatisfy { $0.isASCIILetterOrDigit || "-_:;./<>{}".utf8.contains($0) }
    }
}

extension JSONObject {
    /// The member `phoneNumber`; nil if there is none. E.164 with `+`: 5 to 15 digits.
    func phoneNumber() throws(OAuthError) -> String? {
        guard let value = self["phoneNumber"] else { return nil }
        let digits = value.string?.utf8.dropFirst() ?? "".utf8.dropFirst()
        guard let text = value.string, text.hasPrefix("+"), (5...15).contains(digits.count),
            digits.first != UInt8(ascii: "0"), digits.allSatisfy(\.isASCIIDigit)
        else { throw .invalidArgument("The phoneNumber is not in E.164 form.") }
        return text
    }
}

extension CarrierSimulator {
    /// Serves a call of an operator's API: checks its `x-correlator` and its access token, and applies the faults.
    /// - Parameters:
    ///   - faults: What the names of the API's faults begin with.
    ///   - scopes: One of them is required.
    func serveAPI(
        _ endpoint: RequestLog.Endpoint, _ request: Request, faults prefix: String, scopes: [String],
        _ respond: (OperatorCall) throws(OAuthError) -> Response
    ) async throws -> Response {
        let content = try? Parameters(contentOf: request)
        return try await serve(endpoint, request, faults: prefix, content: content) { site in
            var response: Response
            do throws(OAuthError) {
                guard request.headers.values(of: OperatorCall.correlatorField).allSatisfy(OperatorCall.isCorrelator)
                else { throw .invalidArgument("The x-correlator does not have the form of one.") }
                guard let profile = site.carrier.operatorProfile else { throw .notFound }
                guard request.path == "\(site.carrier.root)\(site.mccmnc)/api\(profile.path(of: endpoint))"
                else { throw .noSuchPath }
                for (name, value) in profile.demandedHeaders {
                    guard let name = HTTPField.Name(name), request.headers[name] == value else { throw .headerMissing }
                }
                if site.has(.operatorWrongAudience) { throw .invalidToken }
                let (token, grant, proofs) = try grant(of: request, at: site)
                guard grant.terms.scopes.contains(where: scopes.contains) else { throw .permissionDenied }
                if site.has(.operatorQuotaExceeded) {
                    throw OAuthError("QUOTA_EXCEEDED", "The business quota is used up.", status: .tooManyRequests)
                }
                response = try respond(
                    OperatorCall(request: request, site: site, profile: profile, grant: grant, token: token))
                response = proofs?.giving(nonceWith: response, hasProof: true) ?? response
            } catch {
                response = error.responseOfAPI
                if error.status == .unauthorized { note(error, of: endpoint, at: site) }
            }
            if let correlator = request.headers[OperatorCall.correlatorField], OperatorCall.isCorrelator(correlator) {
                response.headers[OperatorCall.correlatorField] = correlator
            }
            return response
        }
    }
}
