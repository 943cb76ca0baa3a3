import OpenIDConnect
import SignIn
import Testing

/// An error's description names one remedy, not two that contradict each other.
@Suite("The description of an error")
struct RemedyTests {
    /// How a sentence that says what to do begins. All other sentences say what was wrong.
    private static let beginnings = [
        "Start ", "Send ", "Run ", "Check ", "Tell ", "Try ", "Ask ", "Compare ", "Get ", "Use ", "Sign ", "Retry ",
        "Wait ", "Choose ", "Contact ", "If it persists", "The administrator must ", "At a carrier, ",
    ]

    private static func remedies(in description: String) -> [String] {
        description.split(separator: ". ").map(String.init).filter { sentence in
            beginnings.contains { sentence.hasPrefix($0) }
        }
    }

    static let codes: [String?] = [nil] + ProviderErrorTable.rows.map(\.code) + ["sim_swapped", "invalid_token"]

    @Test("names one remedy for each error code of a carrier, whatever failed", arguments: codes)
    func one(_ code: String?) {
        for failed in OIDCError.Code.allCases {
            for posted in [true, false] {
                let check: IDTokenCheck? = failed == .invalidIDToken ? .nonce : nil
                let error = SignInError(
                    OIDCError(failed, check: check, carrierError: code, reason: "A fact."), codeWasPosted: posted)
                let remedies = Self.remedies(in: error.description)
                #expect(remedies.count == 1, "\(failed): \(error.description)")
            }
        }
    }

    @Test("names the failed check of an ID token, with one remedy", arguments: IDTokenCheck.allCases)
    func checks(_ check: IDTokenCheck) {
        let error = SignInError(.failed(check), codeWasPosted: true)
        #expect(error.errorType == .unknownError)
        #expect(error.description.contains("(\(check.rawValue))"))
        #expect(Self.remedies(in: error.description) == ["Start again with a new authorization request."])
    }
}
