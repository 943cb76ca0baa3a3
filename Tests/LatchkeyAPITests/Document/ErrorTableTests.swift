import Foundation
import OpenIDConnect
import Primitives
import SignIn
import TestSupport
import Testing

@testable import PhoneVerification

/// The table of carriers' error codes, and the page that documents it.
@Suite("The kind of an error")
struct ErrorTableTests {
    @Test("is documented with cause and remedy, like every carrier's code")
    func documented() throws {
        let page = try Repository.text("docs/errors.md")
        let lines = page.split(separator: "\n").filter { $0.hasPrefix("| `") }.map(String.init)
        let types = ErrorType.allCases.map { "| `\($0.rawValue)` | \($0.cause) | \($0.remedy) |" }
        let codes = ProviderErrorTable.rows.map { row in
            let answer = row.isProvidersFault ? "502 `carrier_error`" : "401 `\(row.code)`"
            return "| `\(row.code)` | \(answer) | `\(row.type.rawValue)` | \(row.cause) |"
        }
        let other = "| `…` | 401 `…` | `unknownError` | \(ProviderErrorTable.unknownCause) |"
        #expect(lines == types + codes + [other])
    }

    /// The codes of the examples of a document.
    private func codes(_ value: JSONValue) -> Set<String> {
        let members = value.object?.members ?? []
        let isError = members.contains { $0.name == "error_description" }
        let own = isError ? members.filter { $0.name == "error" }.compactMap(\.value.string) : []
        return (members.map(\.value) + (value.array ?? [])).reduce(into: Set(own)) { $0.formUnion(codes($1)) }
    }

    @Test("of Latchkey's own is documented if the OpenAPI document has an example of it, and no other")
    func ownCodes() throws {
        let page = try Repository.text("docs/errors.md")
        let section = page.components(separatedBy: "\n## ").first { $0.hasPrefix("Codes of Latchkey") } ?? ""
        let documented = Set(section.matches(of: /(?:\| |\b)\d{3}(?: \|)?\s`([a-z_]+)`/).map { String($0.1) })
        let carriers = Set(ProviderErrorTable.rows.map(\.code)).subtracting(SignInError.Code.allCases.map(\.rawValue))
            .subtracting(["unauthorized_client"])
        #expect(codes(PublishedAPI.document).subtracting(carriers) == documented)
        let own = SignInError.Code.allCases.filter { $0 != .refusedByProvider }
        #expect(documented.isSuperset(of: own.map(\.rawValue)))
    }

    @Test("of a mobile operator is documented by what it is about")
    func operators() throws {
        let page = try Repository.text("docs/errors.md")
        let section = page.components(separatedBy: "\n### ").first { $0.hasPrefix("Error codes of mobile operators") }
        let lines = try #require(section).split(separator: "\n")
        let rows: [(name: String, subject: OperatorErrorTable.Subject)] = [
            ("the device", .device), ("the user or the token", .user), ("the registration", .registration),
        ]
        for row in rows {
            let line = try #require(lines.first { $0.hasPrefix("| \(row.name) |") })
            let column = line.split(separator: "|")[1]
            let documented = Set(column.matches(of: /`([a-z_]+)`/).map { String($0.1) })
            #expect(documented == Set(OperatorErrorTable.subjects.filter { $0.value == row.subject }.keys))
        }
        #expect(!OperatorErrorTable.subjects.values.contains(.mobileOperator), "it is every other code")
    }

    @Test("has exactly one row for every code of a carrier")
    func rows() {
        #expect(Set(ProviderErrorTable.rows.map(\.code)).count == ProviderErrorTable.rows.count)
        #expect(Set(ProviderErrorTable.rows.map(\.cause)).count == ProviderErrorTable.rows.count)
        #expect(Set(ProviderErrorTable.rows.map(\.type)) == Set(ErrorType.allCases).subtracting([.unknownError]))
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

extension ErrorType {
    /// The likely cause.
    fileprivate var cause: String {
        switch self {
        case .invalidRequest: "The request is malformed, or asks for something that does not exist."
        case .requestDenied: "The user or the provider denied the request, or the code is no longer valid."
        case .requestTimeout: "The user or the provider did not respond in time."
        case .serverError: "The provider or this server has an internal error."
        case .networkFailure: "The network connection to the provider failed."
        case .configurationError:
            "The client is configured differently in the app, on this server or in the provider's portal."
        case .discoveryStateError: "The user is not, or no longer, with this provider."
        case .unknownError: "Any other cause."
        }
    }
}
