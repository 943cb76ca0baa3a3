import OpenIDConnect
import Primitives
import Testing

struct IdentifierTests {
    @Test(
        "A network is five or six digits, including leading zeros", arguments: ["310999", "31099", "00101", "000000"])
    func network(_ text: String) {
        #expect(MCCMNC(text)?.text == text)
    }

    @Test(
        "A text other than five or six ASCII digits is not a network",
        arguments: ["", "3109", "3109999", "31a999", "31 999", "+10999", "３１０９９９", "-31099"])
    func noNetwork(_ text: String) {
        #expect(MCCMNC(text) == nil)
    }

    @Test("A client id is 1 to 255 printable ASCII characters")
    func clientID() {
        for text in ["a", "ccid-1", "a b:c", String(repeating: "x", count: 255)] {
            #expect(ClientID(text)?.text == text)
        }
        for text in ["", "é", "a\n", "\u{7F}", String(repeating: "x", count: 256)] { #expect(ClientID(text) == nil) }
    }

    @Test("A correlation id needs no escaping in a header, a query or a log line")
    func correlationID() {
        for text in ["x", "A-1_.~!", String(repeating: "x", count: 128)] { #expect(CorrelationID(text)?.text == text) }
        for text in ["", "a b", "a\"b", "a'b", "a\\b", "a`b", "a\r\nb", "é", String(repeating: "x", count: 129)] {
            #expect(CorrelationID(text) == nil)
        }
    }

    @Test("A generated correlation id is random and valid")
    func randomCorrelationID() {
        let first = CorrelationID.random(from: .system)
        #expect(first != CorrelationID.random(from: .system))
        #expect(CorrelationID(first.text) == first)
        #expect(
            CorrelationID.random(from: RandomSource { [UInt8](repeating: 0, count: $0) }).text
                == "AAAAAAAAAAAAAAAAAAAAAA")
    }

    @Test("A code verifier is 43 to 128 unreserved characters")
    func codeVerifier() {
        for text in [
            String(repeating: "a", count: 43), String(repeating: "~", count: 128),
            "AZaz09-._~" + String(repeating: "x", count: 40),
        ] {
            #expect(CodeVerifier(text)?.secret.exposed == text)
        }
        for text in [
            "", String(repeating: "a", count: 42), String(repeating: "a", count: 129),
            String(repeating: "a", count: 42) + "$",
            String(repeating: "a", count: 42) + "+", String(repeating: "a", count: 42) + "é",
            String(repeating: "a", count: 43) + "\n",
        ] {
            #expect(CodeVerifier(text) == nil)
            #expect(!CodeVerifier.isValid(text))
        }
    }

    @Test("The challenge is that of RFC 7636 appendix B")
    func challenge() {
        let verifier = CodeVerifier("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk")
        #expect(verifier?.challenge == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM")
    }

    @Test("A generated verifier is random and valid")
    func randomVerifier() {
        let verifier = CodeVerifier.random(from: .system)
        #expect(verifier != CodeVerifier.random(from: .system))
        #expect(CodeVerifier.isValid(verifier.secret.exposed))
    }
}
