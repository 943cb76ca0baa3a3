import OpenIDConnect
import Testing

struct OIDCErrorTests {
    @Test(
        "A provider's error code is kept only if it has the form of one",
        arguments: ["invalid_grant", "x.y-Z_9", String(repeating: "e", count: 64)])
    func kept(_ code: String) {
        #expect(OIDCError(.carrierRefused, carrierError: code, reason: "").carrierError == code)
    }

    @Test(
        "Any other text in its place is dropped",
        arguments: [
            "", "15551234567", "1.555-123_4567", "a b", "<script>", "a\nb", "é", "a~b", "a\"b",
            String(repeating: "e", count: 65),
        ])
    func dropped(_ code: String) {
        #expect(OIDCError(.carrierRefused, carrierError: code, reason: "").carrierError == nil)
    }

    @Test("Errors are equal by code and check")
    func equality() {
        #expect(OIDCError(.timedOut, reason: "a") == OIDCError(.timedOut, codeMayBeSpent: true, reason: "b"))
        #expect(OIDCError.failed(.nonce) != OIDCError.failed(.acr))
        #expect(OIDCError(.timedOut, reason: "a") != OIDCError(.unreachable, reason: "a"))
    }

    @Test("A description has code, check, the provider's code and the reason")
    func description() {
        #expect(
            "\(OIDCError.failed(.nonce))"
                == "invalid_id_token (nonce): The ID token must contain the nonce of this sign-in.")
        #expect(
            "\(OIDCError(.carrierRefused, carrierError: "invalid_grant", reason: "No."))"
                == "carrier_refused [invalid_grant]: No.")
    }
}
