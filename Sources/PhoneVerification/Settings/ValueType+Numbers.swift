import LatchkeyConfiguration
import OpenIDConnect
import Primitives
import SignIn

extension ValueType {
    /// The name of a mobile operator.
    static var operatorName: ValueType<String> {
        .parsed(
            "a name", show: { $0 }, "is not the name of a mobile operator",
            "use 1 to 32 lower-case letters, digits and hyphens"
        ) { (1...32).contains($0.utf8.count) && $0.consists(of: .lowerCaseAndDigits + "-") ? $0 : nil }
    }

    /// The number of a project at Google.
    static var projectNumber: ValueType<String> {
        .parsed("a project number", show: { $0 }, "is not a project number", "give its digits, in quotes") {
            (1...20).contains($0.utf8.count) && $0.isDecimal ? $0 : nil
        }
    }

    /// The id of a project at Google; one of an organization's domain has a colon.
    static var projectID: ValueType<String> {
        .parsed(
            "a project id", show: { $0 }, "is not a project id", "give 4 to 64 lower-case letters, digits and . : -"
        ) { text in
            let isID = (4...64).contains(text.utf8.count) && text.consists(of: .lowerCaseAndDigits + ".:-")
            return isID && !text.isDecimal ? text : nil
        }
    }

    static var purpose: ValueType<Purpose> {
        .parsed(
            "a purpose of the W3C Data Privacy Vocabulary", show: { $0.scope }, "is not a purpose",
            "write dpv: and its name, such as dpv:FraudPreventionAndDetection"
        ) { Purpose($0) }
    }

    static var apiVersion: ValueType<String> {
        .parsed("a version", show: { $0 }, "is not a version", "give v0, v1 or v2, or one such as v031") { text in
            let isKnown = ["v0", "v1", "v2"].contains(text.prefix(2)) && String(text.dropFirst()).isDecimal
            return isKnown && [2, 4].contains(text.utf8.count) ? text : nil
        }
    }

    /// The origin that a wallet names as the audience of a credential: of a page, or of an app on Android.
    static var credentialOrigin: ValueType<String> {
        .parsed(
            "an origin", show: { $0 }, "is not the origin of a page or of an app",
            "write one such as https://app.example.com, or android:apk-key-hash: and 43 characters of base64url"
        ) { text in
            let prefix = "android:apk-key-hash:"
            if text.hasPrefix(prefix) {
                return Base64URL.decode(String(text.dropFirst(prefix.count)))?.count == 32 ? text : nil
            }
            return Origin(text)?.text
        }
    }

    /// The beginning of a path; empty for none.
    static var pathPrefix: ValueType<String> {
        .parsed("a path", show: { $0 }, "is not the beginning of a path", "write one such as /aggregator/v031") {
            text in
            let segments = text.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
            let isPath =
                text.hasPrefix("/") && text.utf8.count <= 256
                && segments.allSatisfy { segment in
                    String(segment).consists(of: .alphanumerics + "-._~") && !["", ".", ".."].contains(segment)
                }
            return text.isEmpty || isPath ? text : nil
        }
    }

    /// What is before a token; empty for nothing. After those of numbers and addresses, a token would be one.
    static var tokenPrefix: ValueType<String> {
        .parsed(
            "a prefix", show: { $0 }, "is not a prefix of tokens",
            "give up to 64 visible ASCII characters that do not begin with tel:, phone:, ipport: or +"
        ) { text in
            let isOther = ["tel:", "phone:", "ipport:", "+"].contains { text.lowercased().hasPrefix($0) }
            return !isOther && text.utf8.allSatisfy(\.isVisibleASCII) && text.utf8.count <= 64 ? text : nil
        }
    }

    /// The members of an aggregator's requests and responses.
    static var aggregatorFields: ValueType<[AggregatorRules.Field: UserEndpoint.Member]> {
        .group("a group of field: member") {
            "\($0.rawValue)=\($1.text)"
        } key: { (name) throws(InvalidValueError) in
            guard let field = AggregatorRules.Field(rawValue: name) else {
                let names = AggregatorRules.Field.allCases.map(\.rawValue).joined(separator: ", ")
                throw InvalidValueError("there is no such field", "give one of \(names)")
            }
            return field
        } element: { entry, context in
            ValueType<UserEndpoint.Member>.member.read(entry.node, &context)
        }
    }

    /// What the user consents to: a sentence, or base64url of what the reader of the setting wants.
    static var consent: ValueType<String> {
        .parsed("a text of up to 2048 bytes", show: { $0.onOneLine(upTo: 200) }, "is not a text that can be shown") {
            (1...2048).contains($0.utf8.count) && $0.unicodeScalars.allSatisfy { $0.value >= 0x20 } ? $0 : nil
        }
    }

    /// A public key that phones encrypt for, as JSON: of P-256, for ECDH-ES (RFC 7518 section 4.6), with the name that
    /// OpenID4VP 1.0 section 5.1 demands.
    static var publicEncryptionKey: ValueType<String> {
        .parsed(
            "a JSON Web Key", show: { $0 }, "is not a public JSON Web Key of P-256 with a kid",
            #"write one such as '{"kty": "EC", "crv": "P-256", "x": "…", "y": "…", "kid": "k-1"}'"#
        ) { text in
            guard let given = (try? JSONValue(parsing: Array(text.utf8)))?.object, given["d"] == nil,
                given["kid"]?.string?.isEmpty == false
            else { return nil }
            let members = ["kty", "crv", "x", "y", "kid"].map { (name: $0, value: given[$0]) }
            guard let object = JSONValue.object(of: members).object,
                (try? PublicKey(object))?.algorithms == [.es256]
            else { return nil }
            return JSONValue.object(of: members + [(name: "use", value: "enc"), (name: "alg", value: "ECDH-ES")]).text
        }
    }
}
