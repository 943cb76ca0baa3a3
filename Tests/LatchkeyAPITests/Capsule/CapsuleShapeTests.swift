import OpenIDConnect
import Primitives
import Testing

@testable import SignIn

/// What a capsule shows of a response.
@Suite struct CapsuleShapeTests {
    @Test(
        "The scheme of a challenge is shown if a specification defines it, and nothing else of it",
        arguments: [
            ("Basic realm=\"canary\"", "Basic ‹"), ("Bearer realm=\"canary\"", "Bearer ‹"), ("DPoP", "DPoP"),
            ("canary realm=\"canary\"", "‹word 6 "),
        ])
    func challenge(field: String, shown: String) {
        var shape = CapsuleShape(Pseudonyms(.system), known: [], at: Timestamp(secondsSinceEpoch: 0))
        let fields = shape.fields(of: OutboundResponse(status: 401, wwwAuthenticate: field)).text
        #expect(fields.contains("\"www_authenticate\":\"\(shown)"), "\(fields)")
        #expect(!fields.contains("canary"), "\(fields)")
    }
}
