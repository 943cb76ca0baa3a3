import Foundation
import OpenIDConnect
import SignIn
import TestSupport
import Testing

/// The table of carriers' error codes, and the page that documents it.
@Suite("The kind of an error")
struct ErrorTableTests {
    @Test("is documented with cause and remedy, like every carrier's code")
    func documented() throws {
        let page = try Repository.text("docs/errors.md")
        let lines = page.split(separator: "\n").filter { $0.hasPrefix("| `") }.map(String.init)
        let types = ErrorType.allCases.map { "| `\($0.rawValue)` | \($0.cause) | \($0.remedy) |" }
        let codes = CarrierErrorTable.rows.map { row in
            let answer = row.isCarriersFault ? "502 `carrier_error`" : "401 `\(row.code)`"
            return "| `\(row.code)` | \(answer) | `\(row.type.rawValue)` | \(row.cause) |"
        }
        let other = "| `…` | 401 `…` | `unknownError` | \(CarrierErrorTable.unknownCause) |"
        #expect(lines == types + codes + [other])
    }

    @Test("has exactly one row for every code of a carrier")
    func rows() {
        #expect(Set(CarrierErrorTable.rows.map(\.code)).count == CarrierErrorTable.rows.count)
        #expect(Set(CarrierErrorTable.rows.map(\.cause)).count == CarrierErrorTable.rows.count)
        #expect(Set(CarrierErrorTable.rows.map(\.type)) == Set(ErrorType.allCases).subtracting([.unknownError]))
        #expect(Set(ErrorType.allCases.map(\.remedy)).count == ErrorType.allCases.count)
    }

    @Test("names the check of an ID token that failed", arguments: IDTokenCheck.allCases)
    func check(_ check: IDTokenCheck) {
        let error = SignInError(.failed(check))
        #expect(error.code == .invalidIDToken)
        #expect(error.check == check)
        #expect(error.description.contains("(\(check.rawValue))"))
    }
}
