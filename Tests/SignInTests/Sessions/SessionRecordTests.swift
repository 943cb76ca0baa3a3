import Primitives
import StorageModel
import Testing

@testable import SignIn

/// A session and its user as bytes.
@Suite("The record of a cached session")
struct SessionRecordTests {
    private static let now = Timestamp(secondsSinceEpoch: 1_800_000_000)
    private static let token = TokenHash(sha256Of: "token")

    private func session(
        publicID: String = "u", _ profile: Profile = Profile(), _ assertions: ProviderAssertions? = nil,
        expiresIn seconds: Int64 = 3600
    ) -> SessionAndUser {
        let id = UserID(7)
        return SessionAndUser(
            session: Session(
                id: "s", userID: id, clientID: "c", createdAt: Self.now,
                expiresAt: Self.now.advanced(bySeconds: seconds)),
            user: User(id: id, publicID: publicID, profile: profile, assertions: assertions, createdAt: Self.now))
    }

    /// Writes a record between marks, and reads it. The marks show whether it has the length that it claims.
    private func record<Result>(_ found: SessionAndUser, _ body: (SessionRecord) -> Result) -> Result {
        let draft = SessionRecord.Draft(found)
        let mark: UInt8 = 0xAA
        let bytes = UnsafeMutableRawPointer.allocate(byteCount: draft.length + 16, alignment: 8)
        defer { bytes.deallocate() }
        bytes.initializeMemory(as: UInt8.self, repeating: mark, count: draft.length + 16)
        draft.write(to: bytes, for: Self.token, generation: 3, readAt: Self.now)
        let behind = UnsafeRawBufferPointer(start: bytes + draft.length, count: 16)
        #expect(behind.allSatisfy { $0 == mark })
        let record = SessionRecord(at: UnsafeRawPointer(bytes))
        #expect(record.length == draft.length && record.isOf(Self.token) && record.generation == 3)
        return body(record)
    }

    @Test("Texts of every length are read as they were written", arguments: [0, 1, 253, 254, 255, 256, 257, 70_000])
    func lengths(_ count: Int) {
        let text = String(repeating: "x", count: count)
        var profile = Profile()
        for attribute in UserAttribute.allCases { profile[attribute] = text + attribute.rawValue }
        let assertions = ProviderAssertions(
            email: Verification(at: Self.now, by: text), phoneNumber: nil, claims: text + "c")
        let found = session(publicID: text, profile, assertions)
        #expect(record(found, \.decoded) == found)
    }

    @Test("Each attribute has a bit of its own, and so have the assertions", arguments: UserAttribute.allCases)
    func attribute(_ attribute: UserAttribute) {
        var profile = Profile()
        profile[attribute] = "value"
        for assertions in [nil, ProviderAssertions(email: nil, phoneNumber: nil, claims: "claims")] {
            let found = session(profile, assertions)
            #expect(record(found, \.decoded) == found)
        }
    }

    @Test("There is room for the attributes beside the bit of the assertions")
    func room() { #expect(UserAttribute.allCases.count <= 15) }

    @Test(
        "It answers from when it was read for five seconds, and until the session expires",
        arguments: [
            (-1, 3600, false), (0, 3600, true), (4, 3600, true), (5, 3600, false), (2, 3, true), (3, 3, false),
        ] as [(Int64, Int64, Bool)])
    func answers(after seconds: Int64, expiresIn lifetime: Int64, isExpected: Bool) {
        let found = session(expiresIn: lifetime)
        #expect(record(found) { $0.answers(at: Self.now.advanced(bySeconds: seconds)) } == isExpected)
    }
}
