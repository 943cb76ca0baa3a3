import Crypto
import OpenIDConnect
import Primitives
import TestSupport
import Testing

@testable import Backchannel

/// Which hints name a user, and that each user has one text.
@Suite("Login hints")
struct LoginHintTests {
    @Test(
        "A number has one text, whatever its spelling",
        arguments: [
            ("+12125550100", "310410", "+12125550100"), ("2125550100", "316010", "+12125550100"),
            ("12125550100", "302720", "+12125550100"), ("(212)555-0100", "310410", "+12125550100"),
            ("+49-171-1234567", "26201", "+491711234567"), ("tel:+491711234567", "26201", "+491711234567"),
            ("TEL:+49.171.1234567;ext=7;x-a=%20", "310410", "+491711234567"),
            ("tel:5550100;phone-context=+1-212", "310410", "+12125550100"),
            ("tel:5550100;isub=1;Phone-Context=+1212", "26201", "+12125550100"),
            ("+390612345678", "22201", "+390612345678"), ("+2250712345678", "61203", "+2250712345678"),
            ("+79161234567", "25001", "+79161234567"), ("+2901234", "65801", "+2901234"),
            ("+35312345678", "27201", "+35312345678"),
        ])
    func numbers(text: String, network: String, number: String) throws {
        let network = try #require(MCCMNC(network))
        let hint = try #require(LoginHint(text, at: network))
        #expect(hint.text.exposed == number)
        #expect(hint == LoginHint(number, at: network))
    }

    @Test(
        "Anything else is neither a number nor a subject",
        arguments: [
            // National numbers, which have several forms, outside the United States and Canada.
            ("01711234567", "26201"), ("1711234567", "26201"), ("491711234567", "26201"), ("2125550100", "26201"),
            ("12125550100", "26201"), ("491711234567", "310410"), ("00491711234567", "26201"),
            // The trunk prefix of a country after its code.
            ("+4901711234567", "26201"), ("+49(0)1711234567", "26201"), ("+440771234567", "23410"),
            ("+789161234567", "25001"), ("+3530861234567", "27201"),
            // Too short, too long, and no country.
            ("+123456", "310410"), ("+1234567890123456", "310410"), ("+02125550100", "310410"), ("+", "310410"),
            ("", "310410"), ("+1", "310410"), ("+12121550100", "310410"), ("+11125550100", "310410"),
            // RFC 3966: a local number needs a context, a global one has none, and parameters occur once.
            ("tel:2125550100", "310410"), ("tel:5550100;phone-context=example.com", "310410"),
            ("tel:+12125550100;phone-context=+1", "310410"), ("tel:+12125550100;ext=1;ext=2", "310410"),
            ("tel:+12125550100;", "310410"), ("tel:+12125550100;=1", "310410"), ("tel:+12125550100;a=\"b\"", "310410"),
            ("tel:+12125550100?x", "310410"), ("tel:", "310410"), ("tel:;phone-context=+12125550100", "310410"),
            ("+1212555010x", "310410"), ("++12125550100", "310410"), ("+1+2125550100", "310410"),
            // Subjects without a network, or that could be numbers.
            ("AbCd", "310410"), ("3104-AbCd", "310410"), ("3104100-AbCd", "310410"), ("310410-", "310410"),
            ("310410-12345", "310410"), ("310410-Ab Cd", "310410"), ("310410-Ab;Cd", "310410"),
            ("310410-\u{e9}A", "310410"),
        ])
    func refused(text: String, network: String) throws {
        let network = try #require(MCCMNC(network))
        #expect(LoginHint(text, at: network) == nil)
    }

    @Test("The hash of a user needs the key, and tells the subjects of two carriers apart, and not the numbers")
    func hashes() throws {
        let network = try #require(MCCMNC("310410"))
        let (key, a, b) = (SymmetricKey(size: .bits256), "https://a.example", "https://b.example")
        let subject = try #require(LoginHint("310410-AbCd", at: network))
        #expect(subject.text.exposed == "310410-AbCd")
        #expect(subject.hash(with: key, at: a) == subject.hash(with: key, at: a))
        #expect(subject.hash(with: key, at: a) != subject.hash(with: key, at: b))
        #expect(subject.hash(with: key, at: a) != subject.hash(with: SymmetricKey(size: .bits256), at: a))
        let number = try #require(LoginHint("2125550100", at: network))
        #expect(number.hash(with: key, at: a) == number.hash(with: key, at: b))
        #expect(number.hash(with: key, at: a) != LoginHint("2125550101", at: network)?.hash(with: key, at: a))
    }
}
