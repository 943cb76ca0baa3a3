import Primitives

/// A provider's response to an authorization request that was pushed (RFC 9126 section 2.2).
struct PushedAuthorizationResponse: Sendable, Hashable {
    /// Stands for the request in the browser's URL.
    let requestURI: String
    /// Seconds until the request expires: at least 1.
    let expiresIn: Int64

    /// The longest ``requestURI``, in bytes.
    static let maximumBytes = 512

    /// - Throws: ``OIDCError/Code/carrierRefused`` or ``OIDCError/Code/clientRefused`` with the provider's error code
    ///   (RFC 9126 section 2.3); ``OIDCError/Code/unusableResponse``.
    init(_ response: OutboundResponse, limits: OutboundLimits) throws(OIDCError) {
        guard let object = ProviderResponse.object(response, upTo: \.tokenBytes, of: limits) else {
            throw Self.unusable(", of status \(response.status), is not a JSON object")
        }
        guard response.status == 201 else { throw Self.refusal(object, status: response.status) }
        guard let requestURI = object["request_uri"]?.string, Self.isRequestURI(requestURI) else {
            throw Self.unusable(" has no request_uri that is a URI of at most \(Self.maximumBytes) characters")
        }
        let fault = Self.unusable(" has no expires_in that is a positive number of seconds")
        guard let seconds = try ProviderResponse.seconds(object["expires_in"], otherwise: fault), seconds > 0 else {
            throw fault
        }
        self.requestURI = requestURI
        expiresIn = seconds
    }

    /// Whether a text is a URI with a scheme (RFC 3986 section 3), as far as a query item needs it. RFC 9126 leaves its
    /// form to the provider.
    private static func isRequestURI(_ text: String) -> Bool {
        guard text.isVisibleASCII(upTo: maximumBytes), let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) else {
            return false
        }
        let (scheme, rest) = (text.utf8[..<colon], text.utf8[colon...].dropFirst())
        return scheme.first?.isASCIILetter == true && !rest.isEmpty
            && scheme.allSatisfy { $0.isASCIILetterOrDigit || "+-.".utf8.contains($0) }
    }

    private static func refusal(_ object: JSONObject, status: Int) -> OIDCError {
        ProviderResponse.refusal(object, status: status, by: "pushed authorization request endpoint")
            ?? unusable(
                ", of status \(status), has neither a request_uri nor an error", carrierError: object["error"]?.string)
    }

    private static func unusable(_ fault: String, carrierError: String? = nil) -> OIDCError {
        OIDCError(
            .unusableResponse, carrierError: carrierError,
            reason: "The response of the pushed authorization request endpoint\(fault).")
    }
}
