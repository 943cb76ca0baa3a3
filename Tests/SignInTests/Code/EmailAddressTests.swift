import Testing

@testable import SignIn

/// The longest e-mail address, and one that is a byte longer.
@Suite struct EmailAddressTests {
    private static func address(local: Int, lastLabel: Int) -> String {
        let label = String(repeating: "a", count: 63)
        return String(repeating: "a", count: local) + "@\(label).\(label)." + String(repeating: "a", count: lastLabel)
    }

    @Test("An address has at most 254 bytes", arguments: [(61, true), (62, false)])
    func length(lastLabel: Int, isAddress: Bool) {
        let text = Self.address(local: 64, lastLabel: lastLabel)
        #expect(text.utf8.count == 193 + lastLabel)
        #expect((EmailAddress(text) != nil) == isAddress)
    }

    @Test("At most 64 bytes are before the @", arguments: [(64, true), (65, false)])
    func local(bytes: Int, isAddress: Bool) {
        #expect((EmailAddress(Self.address(local: bytes, lastLabel: 1)) != nil) == isAddress)
    }
}
