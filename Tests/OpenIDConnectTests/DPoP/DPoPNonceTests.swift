import Primitives
import TestSupport
import Testing

@testable import OpenIDConnect

/// What a server says about nonces (RFC 9449 sections 8 and 9).
@Suite("DPoP nonces")
struct DPoPNonceTests {
    @Test(
        "A nonce is 1 to 512 characters NQCHAR",
        arguments: [
            ("n", true), ("eyJ7S_zG.eyJH0-Z.HX4w-7v", true), ("!#$%&'()*+,-./:;<=>?@[]^_`{|}~", true),
            (String(repeating: "a", count: 512), true), (String(repeating: "a", count: 513), false), ("", false),
            ("a b", false), ("a\"b", false), ("a\\b", false), ("a, b", false), ("a\tb", false), ("a\u{7F}", false),
            ("ä", false), ("a\r\nX: y", false), ("a\0", false),
        ])
    func nonce(_ field: String, _ isValid: Bool) {
        #expect((DPoPNonce(field) != nil) == isValid)
        #expect(DPoPNonce(field)?.text == (isValid ? field : nil))
    }

    @Test(
        "A challenge demands a nonce if its scheme is DPoP and its error use_dpop_nonce",
        arguments: [
            (#"DPoP error="use_dpop_nonce""#, true), (#"dpop ERROR="use_dpop_nonce""#, true),
            (#"DPoP error=use_dpop_nonce"#, true), (#"DPoP error = "use_dpop_nonce""#, true),
            (#"DPoP algs="ES256", error="use_dpop_nonce", error_description="a, \"b\" = c""#, true),
            (#"DPoP error_description="a \"b\", error=c",error="use_dpop_nonce""#, true),
            (#"Bearer realm="x", DPoP error="use_dpop_nonce""#, true),
            (#"Negotiate YWJj/+==, DPoP error="use_dpop_nonce""#, true), (#", ,DPoP error="use_dpop_nonce""#, true),
            (#"DPoP error="invalid_token""#, false), (#"DPoP error="USE_DPOP_NONCE""#, false),
            (#"Bearer error="use_dpop_nonce""#, false), (#"DPoP, Bearer error="use_dpop_nonce""#, false),
            (#"DPoP realm="error=use_dpop_nonce""#, false), (#"DPoP realm="DPoP error=\"use_dpop_nonce\"""#, false),
            (#"DPoP x_error="use_dpop_nonce""#, false), (#"DPoP error="use_dpop_nonce"#, false),
            (#"DPoP error="a\"#, false), (#"error="use_dpop_nonce""#, false), ("DPoP", false), ("", false),
            (#"("DPoP error="use_dpop_nonce""#, false), ("=,=,\"", false),
        ])
    func challenge(_ field: String, _ demands: Bool) {
        #expect(DPoPChallenge.demandsNonce(field) == demands)
    }

    @Test("An error that demands a nonce has at most 128 KiB", arguments: [(131_072, true), (131_073, false)])
    func longError(_ bytes: Int, _ demands: Bool) {
        let error = #"{"error":"use_dpop_nonce"}"#
        let text = error + String(repeating: " ", count: bytes - error.utf8.count)
        #expect(DPoPChallenge.isIn(.json(text, status: 400), OutboundLimits(), hasAccessToken: false) == demands)
    }

    @Test("The nonces of many servers are bounded, and the newest stay")
    func bounded() throws {
        let nonces = DPoPNonces()
        func server(_ number: Int, hasResources: Bool = false) throws -> DPoPNonces.Server {
            .init(
                of: try #require(EndpointURL("https://s\(number).example/x", policy: .httpsOnly)),
                hasResources: hasResources)
        }
        let nonce = try #require(DPoPNonce("n"))
        let newer = try #require(DPoPNonce("n-2"))
        for number in 0...DPoPNonces.capacity { nonces.keep(nonce, of: try server(number)) }
        #expect(nonces[try server(0)] == nil)
        #expect(nonces[try server(1)] == nonce)
        #expect(nonces[try server(1, hasResources: true)] == nil, "resources have nonces of their own")
        nonces.keep(newer, of: try server(1))
        #expect(nonces[try server(1)] == newer)
    }
}
