package import Primitives

/// Reads providers' responses.
///
/// JSON is read under any Content-Type or none, because providers label it variously. Some label all of their JSON
/// `text/html`: a carrier's success that is labelled a page or a form is refused, but neither its error nor another
/// provider's success is. A byte order mark and halves of characters are refused in a carrier's JSON only.
package enum ProviderResponse {
    private static let otherMediaTypes: Set<String> = [
        "text/html", "application/xhtml+xml", "application/x-www-form-urlencoded", "multipart/form-data",
        "application/jwt",
    ]

    /// The JSON object in a response of any status; nil if the content is something else.
    package static func object(
        _ response: OutboundResponse, upTo maximum: KeyPath<OutboundLimits, Int>, of limits: OutboundLimits
    ) -> JSONObject? {
        value(response, upTo: maximum, of: limits)?.object
    }

    /// The members of a form, or of a plain text that is one, at most 64; nil if the content is something else.
    static func form(_ response: OutboundResponse, maximumBytes: Int) -> JSONObject? {
        guard response.body.count <= maximumBytes, let mediaType = mediaType(response),
            ["application/x-www-form-urlencoded", "text/plain"].contains(mediaType)
        else { return nil }
        var members: [(name: String, value: JSONValue?)] = []
        for item in response.body.split(separator: UInt8(ascii: "&")) {
            let parts = item.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, members.count < 64, let name = PercentEncoding.decodeForm(parts[0]),
                let value = PercentEncoding.decodeForm(parts[1]), !members.contains(where: { $0.name == name })
            else { return nil }
            members.append((name, .string(value)))
        }
        return members.isEmpty ? nil : JSONValue.object(of: members).object
    }

    /// The JSON object in a response of status 200.
    /// - Parameter reason: Of the error otherwise, which has the provider's error code if the response has one.
    static func okObject(
        _ response: OutboundResponse, upTo maximum: KeyPath<OutboundLimits, Int>, of limits: OutboundLimits,
        otherwise reason: StaticString
    ) throws(OIDCError) -> JSONObject {
        let object = object(response, upTo: maximum, of: limits)
        if response.status == 200, let object { return object }
        throw OIDCError(
            .unusableResponse, carrierError: object?["error"]?.string, codeMayBeSpent: true, reason: "\(reason)")
    }

    /// Whether the content is a JSON object or array without the faults that are forgiven elsewhere: an app gets it as
    /// it is.
    static func isDocument(_ response: OutboundResponse, of limits: OutboundLimits) -> Bool {
        let value = value(response, upTo: \.resourceBytes, of: altered(limits) { $0.isLenient = false })
        return value?.object != nil || value?.array != nil
    }

    /// The JSON in a response of any status; nil if the content is something else.
    static func value(
        _ response: OutboundResponse, upTo maximum: KeyPath<OutboundLimits, Int>, of limits: OutboundLimits
    ) -> JSONValue? {
        guard response.body.count <= limits[keyPath: maximum] else { return nil }
        if !limits.isLenient, (200...299).contains(response.status), let mediaType = mediaType(response),
            otherMediaTypes.contains(mediaType)
        {
            return nil
        }
        return json(response.body, of: limits)
    }

    /// The JSON in a body, whatever its label is.
    static func json(_ body: [UInt8], of limits: OutboundLimits) -> JSONValue? {
        limits.isLenient ? lenientJSON(body) : try? JSONValue(parsing: body)
    }

    /// JSON that may begin with a byte order mark, which a reader may ignore (RFC 8259 section 8.1), and have a few
    /// halves of characters, as names have that were cut within an emoji. They become U+FFFD.
    static func lenientJSON(_ body: [UInt8]) -> JSONValue? {
        var body = body.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(body.dropFirst(3)) : body
        for _ in 0..<16 {
            do throws(JSONSyntaxError) {
                return try JSONValue(parsing: body)
            } catch {
                guard error.code == .loneSurrogate else { return nil }
                body.replaceSubrange(error.offset..<error.offset + 5, with: "ufffd".utf8)
            }
        }
        return nil
    }

    /// In lower case, without parameters; nil if there is none, or it is not ASCII as all media types are.
    static func mediaType(_ response: OutboundResponse) -> String? {
        response.contentType.flatMap(MediaTypeText.essence)
    }

    /// Whether an error code says that the provider does not accept our client (RFC 6749 section 5.2).
    static func concernsClient(_ errorCode: String) -> Bool {
        errorCode == "invalid_client" || errorCode == "unauthorized_client"
    }

    /// The refusal in a response of an OAuth endpoint (RFC 6749 section 5.2); nil if the response has none.
    /// - Parameters:
    ///   - statuses: The statuses of a refusal.
    ///   - endpoint: Its name, for developers; likewise `subject`, what it refuses, and `credential`, by which it knows
    ///     the client.
    static func refusal(
        _ object: JSONObject, status: Int, in statuses: ClosedRange<Int> = 400...499, by endpoint: StaticString,
        of subject: StaticString = "request", credential: StaticString = "secret", codeMayBeSpent: Bool = false
    ) -> OIDCError? {
        guard let code = object["error"]?.string, statuses.contains(status) else { return nil }
        let concernsClient = concernsClient(code)
        return OIDCError(
            concernsClient ? .clientRefused : .carrierRefused, carrierError: code, codeMayBeSpent: codeMayBeSpent,
            reason: concernsClient
                ? "The \(endpoint) does not accept this client: check its id, \(credential) and registration."
                : "The \(endpoint) refused the \(subject).")
    }

    /// A number of seconds, which some providers write as a text or with a fraction, which is cut off; nil if there is
    /// no value, or null.
    /// - Parameter fault: The error for any other value; without one, the result is nil then, too.
    static func seconds(_ value: JSONValue?, otherwise fault: OIDCError?) throws(OIDCError) -> Int64? {
        guard let value, !value.isNull else { return nil }
        if let whole = value.integer, whole >= 0 { return whole }
        var seconds = value.double
        if let text = value.string, text.utf8.first?.isASCIIDigit == true,
            text.utf8.allSatisfy({ $0.isASCIIDigit || $0 == UInt8(ascii: ".") })
        {
            seconds = Double(text)
        }
        if let seconds, seconds >= 0, let whole = Int64(exactly: seconds.rounded(.down)) { return whole }
        if let fault { throw fault }
        return nil
    }
}
