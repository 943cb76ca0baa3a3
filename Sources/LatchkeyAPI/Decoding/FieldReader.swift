package import HTTPServer
import HTTPTypes
package import OpenIDConnect
package import Primitives
package import SignIn

/// Reads typed values from a body and collects the problems, so that one response names them all.
///
/// Problems name fields, never their values.
package struct FieldReader {
    private let fields: BodyFields
    package private(set) var problems: [String] = []
    /// The aliases under which fields were sent, by the fields' first names.
    package private(set) var sentNames: [String: String] = [:]

    package init(_ fields: BodyFields) { self.fields = fields }

    /// Whether the body is a form, where `+` is a space.
    package var isForm: Bool { if case .form = fields { true } else { false } }

    package mutating func refuse(_ name: String, _ problem: String) { problems.append("\(name) \(problem)") }

    /// As ``refuse(_:_:)``, for a reader of a value.
    /// - Returns: Nil, in place of the value.
    package mutating func refused<Value>(_ name: String, _ problem: String) -> Value? {
        refuse(name, problem)
        return nil
    }

    package mutating func noteProblems(of other: FieldReader) { problems += other.problems }

    /// 400 with all problems.
    package func refusal(_ correlationID: CorrelationID? = nil) -> APIError {
        .malformed(problems.joined(separator: "; ") + ".", correlationID)
    }

    /// - Throws: ``refusal(_:)`` if there are problems.
    package func check(_ correlationID: CorrelationID? = nil) throws(APIError) {
        guard problems.isEmpty else { throw refusal(correlationID) }
    }

    /// The name under which a field that was read was sent, the one that the client knows; its first name if it was not
    /// sent.
    package func sentName(_ name: String) -> String { sentNames[name] ?? name }

    /// The value of a field under any of its names; nil also if a query repeats a name, or two names have different
    /// values, which is a problem.
    private mutating func value(_ name: String, _ aliases: [String], required: Bool) -> JSONValue? {
        if let repeated = fields.repeated(name, aliases) { return refused(repeated, "is repeated") }
        var found = fields[name]
        for alias in aliases {
            guard let other = fields[alias] else { continue }
            if found == nil { sentNames[name] = alias }
            if let first = found, !first.isSame(as: other) {
                return refused(sentName(name), "and \(alias) have different values: send one of them")
            }
            found = other
        }
        if found == nil, required { refuse(name, "is missing") }
        return found
    }

    package mutating func text(_ name: String, _ aliases: [String] = [], limit: Int, required: Bool = false) -> String?
    {
        guard let value = value(name, aliases, required: required) else { return nil }
        guard let text = value.string else { return refused(sentName(name), "must be a string") }
        guard text.utf8.count <= limit else {
            return refused(sentName(name), "is longer than \(limit) bytes")
        }
        // PostgreSQL cannot store one.
        guard !text.withBytes({ $0.contains(0) }) else { return refused(sentName(name), "has a NUL character") }
        return text
    }

    /// The result of `make`; `demand` is the problem if it is nil.
    package mutating func value<Value>(
        _ name: String, _ aliases: [String] = [], limit: Int, required: Bool = false, demand: String,
        _ make: (String) -> Value?
    ) -> Value? {
        guard let text = text(name, aliases, limit: limit, required: required) else { return nil }
        return make(text) ?? refused(sentName(name), demand)
    }

    /// A text of visible ASCII characters and, where `allowingSpaces`, spaces.
    package mutating func visibleText(
        _ name: String, _ aliases: [String] = [], limit: Int, required: Bool = false, allowingSpaces: Bool = false
    ) -> String? {
        let demand =
            allowingSpaces
            ? "must have visible ASCII characters only and spaces" : "must have visible ASCII characters only"
        let lowest = UInt8(ascii: allowingSpaces ? " " : "!")
        return value(name, aliases, limit: limit, required: required, demand: demand) { text in
            text.withBytes { $0.contains { $0 < lowest || $0 > UInt8(ascii: "~") } } ? nil : text
        }
    }

    /// Words separated by spaces, or in JSON also an array of them.
    package mutating func words(_ name: String, _ aliases: [String] = [], limit: Int, required: Bool = false)
        -> [String]
    {
        guard let value = value(name, aliases, required: required) else { return [] }
        let texts = value.array.map { $0.map(\.string) } ?? [value.string]
        let known = texts.compactMap(\.self)
        guard known.count == texts.count else {
            refuse(sentName(name), "must be a string")
            return []
        }
        let text = known.joined(separator: " ")
        guard text.utf8.count <= limit, text.utf8.allSatisfy(\.isPrintableASCII) else {
            refuse(sentName(name), "must be at most \(limit) ASCII characters")
            return []
        }
        let words = text.split(ascii: " ").map(String.init)
        if words.isEmpty, required { refuse(sentName(name), "is empty") }
        return words
    }

    /// A text of digits, which JSON may also give as a number if none of its digits can be lost by that.
    /// - Parameter mayBeInParts: Whether a text may be as people write a network: `310-410`.
    mutating func digits(
        _ name: String, _ lengths: ClosedRange<Int>, mayBeNumber: Bool = true, mayBeInParts: Bool = false
    ) -> String? {
        guard let value = value(name, [], required: false) else { return nil }
        let text: String
        switch value {
        case .integer where !mayBeNumber:
            return refused(name, "must be a string: as a number it may have lost leading zeros")
        case .integer(let number): text = String(number)
        case .string(let string) where mayBeInParts && !string.isDecimal:
            let parts = string.split { $0 == "-" || $0 == " " }
            text = parts.count == 1 || parts.count == 2 && parts[0].count == 3 ? parts.joined() : string
        case .string(let string): text = string
        default: text = ""
        }
        guard lengths.contains(text.utf8.count), text.isDecimal else {
            let many = lengths.count == 1 ? "\(lengths.lowerBound)" : "\(lengths.lowerBound) or \(lengths.upperBound)"
            return refused(name, "must be \(many) digits")
        }
        return text
    }

    /// A whole number of seconds, which JSON may give as a number or as a text.
    package mutating func seconds(_ name: String, _ aliases: [String] = [], upTo limit: Int64) -> Int64? {
        guard let value = value(name, aliases, required: false) else { return nil }
        let isDigits = value.string?.isDecimal ?? true
        guard isDigits, let number = value.integer ?? value.string.flatMap({ Int64($0) }), (0...limit).contains(number)
        else { return refused(sentName(name), "must be a whole number of seconds from 0 to \(limit)") }
        return number
    }

    package func raw(_ name: String) -> JSONValue? { fields.raw(name) }

    package func has(_ name: String) -> Bool { fields[name] != nil }
}

extension JSONValue {
    /// Whether two fields have the same value; texts are compared by bytes.
    fileprivate func isSame(as other: JSONValue) -> Bool {
        if let text = string, let other = other.string { return text.hasSameBytes(as: other) }
        return self == other
    }
}

extension FieldReader {
    package mutating func correlationID() -> CorrelationID? {
        value(
            "correlation_id", ["correlationId"], limit: 128,
            demand: "must be visible ASCII characters without quotation marks and backslashes", CorrelationID.init)
    }

    package mutating func clientID(required: Bool = false) -> ClientID? {
        value(
            "client_id", ["clientId"], limit: 255, required: required, demand: "must be ASCII characters", ClientID.init
        )
    }

    package mutating func redirectURI(required: Bool = true) -> String? {
        visibleText("redirect_uri", ["redirectURI", "redirectUri"], limit: 2048, required: required)
    }

    /// The client of a sign-in; without the field, the only client of the provider.
    package mutating func clientID(at server: AuthorizationServer) -> ClientID? {
        let before = problems.count
        if let named = clientID() { return named }
        guard problems.count == before else { return nil }
        guard server.clients.count == 1, let only = server.clients.keys.first else {
            return refused("client_id", "is missing, and the provider has several clients")
        }
        return only
    }

    /// The redirect URI of a sign-in; without the field, what stands for none at the client, or the only one that is
    /// registered for it.
    /// - Parameter clientID: Nil if it was refused.
    mutating func redirectURI(of clientID: ClientID?, at server: AuthorizationServer) -> String? {
        let before = problems.count
        if let named = redirectURI(required: false) { return named }
        guard problems.count == before else { return nil }
        if let sdk = clientID.flatMap({ server.clients[$0]?.rules.sdkRedirectURI }) { return sdk.text }
        let registered = clientID.flatMap { server.clients[$0]?.redirectURIs } ?? []
        guard let only = registered.first, registered.count == 1 else {
            let reason =
                registered.isEmpty
                ? ": send that of the authorization request; if an SDK got the code, the client needs redirect_uri"
                : ", and the client has several"
            return refused("redirect_uri", "is missing" + reason)
        }
        return only
    }

    /// RFC 7636 section 4.1.
    package mutating func codeVerifier() -> CodeVerifier? {
        value(
            "code_verifier", ["codeVerifier"], limit: 128,
            demand: "must be 43 to 128 letters, digits and signs of - . _ ~", CodeVerifier.init)
    }

    /// The network: from `mccmnc`, or from `mcc` and `mnc`. Nil also for the values by which a phone says that it knows
    /// no network.
    package mutating func network(required: Bool = true) -> MCCMNC? {
        guard !["mccmnc", "mcc", "mnc"].contains(where: saysNoNetwork) else {
            return required
                ? refused("mccmnc", "names no network: run carrier discovery, and send the mccmnc that it returns")
                : nil
        }
        let before = problems.count
        let whole = digits("mccmnc", 5...6, mayBeInParts: true)
        let country = digits("mcc", 3...3)
        // 10 and 010 are different networks of one country.
        let network = digits("mnc", 2...3, mayBeNumber: false)
        guard problems.count == before else { return nil }
        switch (whole, country, network) {
        case (let whole?, nil, nil): return MCCMNC(whole)
        case (let whole?, let country?, let network?) where whole == country + network: return MCCMNC(whole)
        case (nil, let country?, let network?): return MCCMNC(country + network)
        case (nil, nil, nil): return required ? refused("mccmnc", "is missing") : nil
        case (nil, nil, _): return refused("mcc", "is missing")
        case (nil, _, nil): return refused("mnc", "is missing")
        default: return refused("mccmnc", "differs from mcc and mnc: send one form")
        }
    }

    private static let noNetwork = ["65535", "6553565535", "null", "undefined", "unknown"]

    /// In place of a code iOS says `65535` in a part (CTCarrier); other systems say `--` or one of the words. Zeros are
    /// no country's code.
    private func saysNoNetwork(_ name: String) -> Bool {
        let text: String
        switch fields[name] {
        case .integer(let number)?: text = String(number)
        case .string(let string)? where string.utf8.count <= 32: text = string
        default: return false
        }
        // No such text begins with a digit but 0 and 6: most codes need no more.
        if let first = text.utf8.first, first.isASCIIDigit, first != UInt8(ascii: "0"), first != UInt8(ascii: "6") {
            return false
        }
        return text.utf8.split { $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: " ") }.allSatisfy { part in
            Self.noNetwork.contains { part.elementsEqual($0.utf8) }
                || name != "mnc" && part.allSatisfy { $0 == UInt8(ascii: "0") }
        }
    }

    package mutating func operatorName() -> String? { visibleText("operator", limit: 32) }

    /// A phone number by which a group of servers finds one of them.
    package mutating func phoneNumber() -> MSISDN? {
        value(
            "phone_number", ["phoneNumber"], limit: 16,
            demand: "must be + and 5 to 15 digits, with the country code and without separators", MSISDN.init)
    }

    /// OpenID Connect Core section 3.1.2.1: `none` excludes other values.
    /// - Parameter known: The values that the kind of sign-in has.
    package mutating func prompt(_ known: [Prompt]) -> [Prompt] {
        let words = words("prompt", limit: 64)
        guard let prompt = Prompt.values(words), prompt.allSatisfy(known.contains) else {
            refuse("prompt", "must be words of \(known.map(\.rawValue).joined(separator: ", ")); none excludes others")
            return []
        }
        return prompt
    }

    /// At most 280 characters, of up to four bytes each.
    package mutating func context(required: Bool = false) -> String? {
        guard let text = text("context", limit: 280 * 4, required: required) else { return nil }
        return text.unicodeScalars.count <= 280 ? text : refused("context", "is longer than 280 characters")
    }
}

/// The fields of a request's body: of a JSON object, or of a form.
package enum BodyFields {
    case json(JSONObject)
    case form(Query)

    /// Body fields are few and small.
    private static let limits = JSONLimits(bytes: 65_536, depth: 8, values: 256)

    /// Bytes of a body from a caller without an API key. A provider's token fits; decoding costs anyone's time.
    fileprivate static let keylessBytes = 24 << 10

    /// Reads the body by its `Content-Type`.
    /// - Parameter admission: Of the caller; nil on a route that needs no API key.
    /// - Throws: 415 for another type or charset; 413 for more than 24 KiB from a caller without an API key;
    ///   400 for a malformed body, or a repeated field.
    package init(_ request: Request, from admission: Admission? = nil) throws(APIError) {
        let isForm = try Self.isForm(request)
        let hasKey = if case .key? = admission?.ground { true } else { false }
        guard hasKey || request.body.count <= Self.keylessBytes else { throw .bodyTooLarge }
        if isForm {
            guard let form = Query(request.body) else {
                throw .malformed("The body is not a form. Send name=value pairs, joined by & and percent-encoded.")
            }
            guard form.repeatedName == nil else {
                throw .malformed("A field of the form is repeated. Send each once.")
            }
            self = .form(form)
        } else {
            guard let value = try? JSONValue(parsing: request.body, limits: Self.limits) else {
                throw .malformed("The body is not JSON, or names a member twice. Send one JSON object.")
            }
            guard let object = value.object else { throw .malformed("The body is not a JSON object. Send one.") }
            self = .json(object)
        }
    }

    /// As ``init(_:from:)``, of a form that a provider has a browser send: what is malformed is repaired, and names may
    /// be repeated.
    package static func repairedForm(_ request: Request) throws(APIError) -> Query {
        guard try isForm(request) else { throw .notAForm }
        guard request.body.count <= keylessBytes else { throw .bodyTooLarge }
        guard let form = Query(repairing: request.body) else { throw .notAForm }
        return form
    }

    /// The name that a query has more than once. The body of a call never has one.
    fileprivate func repeated(_ name: String, _ aliases: [String]) -> String? {
        guard case .form(let query) = self else { return nil }
        return query.repeats(name) ? name : aliases.first(where: query.repeats)
    }

    var names: [String] {
        switch self {
        case .json(let object): object.members.map(\.name)
        case .form(let form): form.items.map(\.name)
        }
    }

    /// The value of a field, also null or empty.
    func raw(_ name: String) -> JSONValue? {
        switch self {
        case .json(let object): object[name]
        case .form(let form): form[name].map { .string($0) }
        }
    }

    /// The value of a field; nil if it is missing, null, or empty (RFC 6749 section 3.1: then it counts as omitted).
    subscript(name: String) -> JSONValue? {
        guard let value = raw(name), !value.isNull, value != .string("") else { return nil }
        return value
    }

    /// Whether the body is a form by its `Content-Type`, or else JSON.
    private static func isForm(_ request: Request) throws(APIError) -> Bool {
        guard let field = request.headers[.contentType] else { throw .unsupportedMediaType }
        let type = MediaTypeText.essence(of: field)
        guard type == "application/json" || type == "application/x-www-form-urlencoded", field.withBytes(isUTF8) else {
            throw .unsupportedMediaType
        }
        return type != "application/json"
    }

    /// Whether no parameter of the field names another charset.
    private static func isUTF8(_ field: UnsafeBufferPointer<UInt8>) -> Bool {
        var rest = field[...]
        while let semicolon = rest.firstIndex(of: UInt8(ascii: ";")) {
            rest = rest[(semicolon + 1)...]
            let text = rest.prefix { $0 != UInt8(ascii: ";") }
            // A field can have thousands of parameters that are too short.
            guard text.count >= "charset=".utf8.count else { continue }
            let parameter = text.lazy
                .filter { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\t") }
                .map(\.lowercasedASCII)
            guard
                !parameter.starts(with: "charset=".utf8) || parameter.elementsEqual("charset=utf-8".utf8)
                    || parameter.elementsEqual("charset=\"utf-8\"".utf8)
            else { return false }
        }
        return true
    }
}

extension APIError {
    static let bodyTooLarge = APIError(
        .contentTooLarge, "payload_too_large", .invalidRequest,
        "The body is too large. Without an API key it may have \(BodyFields.keylessBytes >> 10) KiB.")

    package static let unsupportedMediaType = APIError(
        .unsupportedMediaType, "unsupported_media_type", .invalidRequest,
        "Send application/json or application/x-www-form-urlencoded, in UTF-8.")
}
