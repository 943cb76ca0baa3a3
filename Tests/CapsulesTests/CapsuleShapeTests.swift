import OpenIDConnect
import Primitives
import Testing

@testable import Capsules

/// What a capsule shows of a response, and what it hides.
@Suite struct CapsuleShapeTests {
    private static let now: Int64 = 1_700_000_000

    private func shape(known: Set<String> = [], showsURLs: Bool = false) -> CapsuleShape {
        var shape = CapsuleShape(Pseudonyms(.system), known: known, at: Timestamp(secondsSinceEpoch: Self.now))
        shape.showsURLs = showsURLs
        return shape
    }

    private func shown(
        _ json: String, named name: String, known: Set<String> = [], showsURLs: Bool = false
    ) throws -> String {
        var shape = shape(known: known, showsURLs: showsURLs)
        return try shape.shape(JSONValue(parsing: Array(#"{"\#(name)":\#(json)}"#.utf8)), named: "").text
    }

    /// A replay judges by what the capsule has: add a new member to `Capsule.settings` and to `CapsuleReplay.recorded`.
    @Test("A capsule has each of the rules for ID tokens, but not the length of a token")
    func rules() throws {
        let names = [
            "types": "id_token_types", "clockSkewSeconds": "clock_skew", "maximumAgeSeconds": "max_age_of_issue",
            "trustedAudiences": "trusted_audiences", "tenants": "tenants",
            "nonceMayBeMissing": "nonce_may_be_missing",
        ]
        var rules = IDTokenRules()
        rules.trustedAudiences = try [#require(ClientID("another"))]
        rules.tenants = TenantIssuers("https://example.com/{tenantid}")
        rules.nonceMayBeMissing = true
        let members = Mirror(reflecting: rules).children.compactMap(\.label)
        // A client's own audiences are among the trusted ones. The kind of the provider decides what is lenient.
        #expect(Set(members) == Set(names.keys).union(["maximumBytes", "clientAudiences", "isLenient"]))
        let settings = try #require(Capsule.settings(of: nil, rules).object)
        for name in names.values { #expect(settings[name] != nil, "\(name)") }
    }

    /// The members of which something is shown that the provider chose: their numbers. The texts of all members are
    /// hidden unless they are known.
    private static let numbers: Set = ["exp", "iat", "nbf", "auth_time", "expires_in", "interval"]

    /// Numbers that are to be hidden have seven digits or more: pseudonyms are random, and have some digits by chance.
    @Test("Of no member a text or number is shown but the times of tokens, and lifetimes")
    func members() throws {
        let names = CapsuleVocabulary.names.union(["", "canary", "account", "amount", "constructor"])
        for name in names {
            for json in [
                #""canary""#, #""canary@example.com""#, #""+canary""#, #"["canary"]"#, #"{"name":"canary"}"#,
                #"[["canary"]]"#, "1.5", "-7654321", "7654321.5", "15550101234567890", "1e300",
            ] {
                let text = try shown(json, named: name)
                #expect(!text.replacing("\"\(name)\"", with: "").contains("canary"), "\(name): \(text)")
                #expect(text.contains("‹"), "\(name): \(text)")
                #expect(!text.contains("7654321") && !text.contains("15550101"), "\(name): \(text)")
            }
            for json in ["\(Self.now)", "[\(Self.now)]", "8639986"] where !Self.numbers.contains(name) {
                let text = try shown(json, named: name)
                #expect(!text.contains(json), "\(name): \(text)")
            }
        }
    }

    @Test("A text that is configured is shown under no name of a personal or secret member")
    func personal() throws {
        let names = """
            sub nonce jti sid auth_req_id access_token refresh_token id_token code state request_uri at_hash c_hash \
            s_hash name given_name family_name middle_name nickname preferred_username profile picture website email \
            gender birthdate zoneinfo locale phone_number address formatted street_address locality region \
            postal_code country updated_at devicePhoneNumber n e x y d aka context value message error_description
            """
        for name in names.split(separator: " ").map(String.init) + ["", "unknown"] {
            for json in [#""https""#, #""47114711""#, "47114711", #"["47114711"]"#] {
                let text = try shown(json, named: name, known: ["https", "47114711"])
                #expect(!text.contains("https") && !text.contains("47114711"), "\(name): \(text)")
            }
        }
    }

    @Test(
        "Times within ten years, and lifetimes of at most eight digits, are shown",
        arguments: [
            ("exp", now + 315_360_000, true), ("exp", now + 315_360_001, false), ("iat", now - 315_360_000, true),
            ("auth_time", now - 315_360_001, false), ("expires_in", 0, true), ("expires_in", -1, false),
            ("interval", 99_999_999, true), ("expires_in", 100_000_000, false),
        ])
    func bounds(name: String, number: Int64, isShown: Bool) throws {
        #expect(try shown("\(number)", named: name).contains("\(number)") == isShown)
    }

    @Test("A known text of at most 255 bytes is shown")
    func length() throws {
        for (count, isShown) in [(255, true), (256, false)] {
            let text = String(repeating: "k", count: count)
            #expect(try shown("\"\(text)\"", named: "iss", known: [text]).contains(text) == isShown)
        }
    }

    @Test("Of an object or array 64 members are kept, of nested ones eight levels, and of a response 199 values")
    func size() throws {
        func count(_ json: String) throws -> Int {
            var shape = shape()
            let text = try shape.shape(JSONValue(parsing: Array(json.utf8)), named: "").text
            return text.split(separator: "true", omittingEmptySubsequences: false).count - 1
        }
        func array(_ elements: [String]) -> String { "[" + elements.joined(separator: ",") + "]" }
        let trues = { (count: Int) in Array(repeating: "true", count: count) }
        #expect(try count(array(trues(64))) == 64)
        #expect(try count(array(trues(65))) == 64)
        #expect(try count("{" + (0..<80).map { "\"m\($0)\":true" }.joined(separator: ",") + "}") == 64)
        let nested = { (levels: Int) in
            String(repeating: "[", count: levels) + "true" + String(repeating: "]", count: levels)
        }
        #expect(try count(nested(7)) == 1)
        #expect(try count(nested(8)) == 0)
        // The outer array and its five elements are values, too.
        #expect(try count(array((0..<5).map { _ in array(trues(60)) })) == 199 - 5)
    }

    @Test(
        "Of a URL of a discovery document scheme and host are shown, unless they are unusual or have a long number",
        arguments: [
            ("https://idp.example/canary", "https://idp.example/‹"),
            ("https://idp.example?canary", "https://idp.example?‹"),
            ("https://idp.example#canary", "https://idp.example#‹"),
            ("https://canary@idp.example/", "https://‹word 6 "),
            ("https://idp.example:8443/", "https://idp.example:8443/"),
            ("https://a123456.example/", "https://a123456.example/"), ("https://a1234567.example/", "https://‹"),
            ("https://a_canary.example/", "https://‹"), ("canary://idp.example/", "‹"), ("canary", "‹"),
        ])
    func urls(url: String, beginning: String) throws {
        for (name, isURL) in [("jwks_uri", true), ("picture", false), ("redirect_uri", false)] {
            let text = try shown("\"\(url)\"", named: name, showsURLs: true)
            #expect(text.hasPrefix(#"{"\#(name)":"\#(isURL ? beginning : "‹")"#), "\(text)")
            #expect(!text.contains("canary") && !text.contains("1234567"), "\(text)")
        }
        #expect(try shown("\"\(url)\"", named: "jwks_uri").hasPrefix(#"{"jwks_uri":"‹"#))
    }

    @Test(
        "Of each field of a response its grammar's own words are shown, and nothing else",
        arguments: [
            ("content_type", "application/json", "application/json"),
            ("content_type", "application/json; charset=canary", "application/json"),
            ("content_type", "text/html;canary=\"canary\"", "text/html"),
            ("content_type", "multipart/form-data; boundary=canary", "multipart/form-data"),
            ("content_type", "application/canary+json; charset=utf-8", "‹"), ("content_type", "canary", "‹"),
            ("cache_control", "no-store, private", "no-store, private"),
            ("cache_control", "max-age=60, stale-if-error=5", "max-age=60, stale-if-error=5"),
            ("cache_control", "max-age=12345678", "max-age=12345678"),
            ("cache_control", "max-age=123456789", "max-age=‹"), ("cache_control", "max-age=canary", "max-age=‹"),
            ("cache_control", "private=\"canary\", no-cache=\"canary\"", "private, no-cache"),
            ("cache_control", "no-store=60", "no-store"), ("cache_control", "canary=60, public", "‹"),
            ("cache_control", "canary", "‹"),
            (
                "cache_control", String(repeating: "public,", count: 17),
                "public" + String(repeating: ", public", count: 15) + "\""
            ),
            ("retry_after", "12345678", "12345678"), ("retry_after", "123456789", "‹"), ("retry_after", "", "‹"),
            ("retry_after", "1canary", "‹"), ("retry_after", "-1", "‹"),
            ("date", "Tue, 14 Nov 2023 22:13:20 GMT", "Tue, 14 Nov 2023 22:13:20 GMT"),
            ("date", "Tue, 14 Nov 2023 22:13:61 GMT", "‹"), ("date", "Tue, 32 Nov 2023 22:13:20 GMT", "‹"),
            ("date", "Tue, 14 Nov 1969 22:13:20 GMT", "‹"), ("date", "Tue, 14 Nov 2101 22:13:20 GMT", "‹"),
            ("date", "Tue, 14 Nov 2023 22:13:20 canary", "‹"), ("date", "canary, 14 Nov 2023 22:13:20 GMT", "‹"),
            ("date", "Tue, 14 canary 2023 22:13:20 GMT", "‹"), ("date", "Tue, 14 Nov 2023 22:13:canary GMT", "‹"),
            ("dpop_nonce", "canary", "‹"), ("dpop_nonce", "max-age", "‹"),
            ("www_authenticate", "Basic realm=\"canary\"", "Basic ‹"),
            ("www_authenticate", "Bearer realm=\"canary\"", "Bearer ‹"), ("www_authenticate", "DPoP", "DPoP"),
            ("www_authenticate", "canary realm=\"canary\"", "‹word 6 "),
            (
                "www_authenticate", "DPoP realm=\"canary\", error=\"use_dpop_nonce\", error_description=\"canary\"",
                #"DPoP error=\"use_dpop_nonce\""#
            ),
        ])
    func fields(name: String, value: String, shown: String) {
        var response = OutboundResponse(status: 401)
        switch name {
        case "content_type": response = OutboundResponse(status: 401, contentType: value)
        case "cache_control": response = OutboundResponse(status: 401, cacheControl: value)
        case "retry_after": response = OutboundResponse(status: 401, retryAfter: value)
        case "date": response = OutboundResponse(status: 401, date: value)
        case "dpop_nonce": response = OutboundResponse(status: 401, dpopNonce: value)
        default: response = OutboundResponse(status: 401, wwwAuthenticate: value)
        }
        var shape = shape()
        let fields = shape.fields(of: response).text
        #expect(fields.hasPrefix("{\"\(name)\":\"\(shown)"), "\(fields)")
        #expect(!fields.contains("canary"), "\(fields)")
        // What is shown as it is ends there.
        if !shown.contains("‹"), !shown.hasSuffix("\"") { #expect(fields == "{\"\(name)\":\"\(shown)\"}") }
    }
}
