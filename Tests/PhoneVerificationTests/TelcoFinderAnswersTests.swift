import OpenIDConnect
import Primitives
import Testing

@testable import PhoneVerification

/// The answers of Telco Finder that are kept.
@Suite("The answers of Telco Finder")
struct TelcoFinderAnswersTests {
    private static let now = Timestamp(secondsSinceEpoch: 1_800_000_000)

    private let answers = TelcoFinderAnswers()
    private let number: MSISDN

    init() throws { number = try #require(MSISDN("+14155550101")) }

    private func keep(_ id: String, lifetime: Int64) {
        answers.keep(
            FoundOperator(id: id, lifetime: lifetime), under: answers.key(of: number, at: "number"), at: Self.now)
    }

    private func id(after seconds: Int64, at provider: String = "number", of number: MSISDN? = nil) -> String? {
        let key = answers.key(of: number ?? self.number, at: provider)
        return answers[key, Self.now.advanced(bySeconds: seconds)]?.id
    }

    @Test("An answer is for one number, one provider and its lifetime")
    func scope() throws {
        keep("northwind", lifetime: 60)
        #expect(id(after: 0) == "northwind" && id(after: 59) == "northwind")
        #expect(id(after: 60) == nil)
        #expect(id(after: 0, at: "other") == nil)
        #expect(id(after: 0, of: MSISDN("+14155550102")) == nil)
    }

    @Test("An answer that may not be kept is not kept")
    func unkept() {
        keep("northwind", lifetime: 0)
        #expect(id(after: 0) == nil)
    }

    @Test("After a clock that was set back, no answer is used")
    func clock() {
        keep("northwind", lifetime: 60)
        #expect(id(after: -1) == nil)
    }

    @Test("The number is not in the key, and another process has other keys")
    func secrecy() {
        let key = answers.key(of: number, at: "number")
        #expect(key != TelcoFinderAnswers().key(of: number, at: "number"))
        #expect(!String(reflecting: key).contains("4155550101"))
    }
}
