import StorageModel
import Testing

@testable import SignIn

/// What an error says of the store.
@Suite("A failure of the store")
struct StoreFailureTests {
    @Test("says what to do, and only to the log what failed", arguments: StorageError.Code.allCases)
    func description(_ code: StorageError.Code) {
        let error = SignInError(StorageError(code, reason: "scripted"))
        #expect(error.cause == "scripted" && !error.description.contains("scripted"))
        #expect(error.description.hasSuffix(". Send the same request again in a moment."))
        #expect(error.withoutRetry().description.hasSuffix(". Start a new sign-in in a moment."))
    }

    @Test("is the only error whose text depends on whether the request can be sent again")
    func others() {
        for error in [SignInError.sessionUnknown, .nonceMissing, .internalFault] {
            #expect(error.withoutRetry() == error)
        }
    }
}
