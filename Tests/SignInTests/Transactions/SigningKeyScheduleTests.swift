import Primitives
import Testing

@testable import SignIn

/// When signing keys are added, sign and are removed.
@Suite("The schedule of signing keys")
struct SigningKeyScheduleTests {
    private typealias Key = SigningKeySchedule.Key
    private static let now = Timestamp(secondsSinceEpoch: 1_800_000_000)
    private static let schedule = SigningKeySchedule(lifetime: 10 * 86_400)

    /// - Parameter seconds: From now to the first signature.
    private func key(
        _ id: String, _ seconds: Int64, isUsable: Bool = true, isProtectedAsWanted: Bool = true
    ) -> Key {
        Key(
            id: id, signsFrom: Self.now.advanced(bySeconds: seconds), isUsable: isUsable,
            isProtectedAsWanted: isProtectedAsWanted)
    }

    @Test("A key signs from its second on", arguments: [(-1, "new"), (0, "new"), (1, "old")] as [(Int64, String)])
    func signer(seconds: Int64, id: String) {
        let keys = [key("old", -86_400), key("new", seconds)]
        #expect(Self.schedule.signer(among: keys, at: Self.now)?.id == id)
    }

    @Test("A key that this process cannot use does not sign")
    func unusable() {
        let keys = [key("old", -86_400), key("new", -1, isUsable: false)]
        #expect(Self.schedule.signer(among: keys, at: Self.now)?.id == "old")
        #expect(Self.schedule.signer(among: [key("new", -1, isUsable: false)], at: Self.now) == nil)
    }

    @Test(
        "The next key is added when the newest signs and is to be replaced, and none while one waits to sign",
        arguments: [(-1, true), (0, true), (1, false)] as [(Int64, Bool)])
    func next(seconds: Int64, isDue: Bool) {
        let keys = [key("old", -86_400), key("new", seconds, isProtectedAsWanted: false)]
        let start = Self.schedule.startOfNext(after: keys, at: Self.now)
        #expect(start == (isDue ? Self.now.advanced(bySeconds: SigningKeySchedule.overlap) : nil))
    }

    @Test("It is added a day before the newest has signed for its lifetime", arguments: [(-1, false), (0, true)])
    func lifetime(seconds: Int64, isDue: Bool) {
        let keys = [key("k", -9 * 86_400 - seconds)]
        #expect((Self.schedule.startOfNext(after: keys, at: Self.now) != nil) == isDue)
    }

    @Test("A key is removed a day after its successor began to sign", arguments: [(-1, 0), (0, 1)])
    func outdated(seconds: Int64, count: Int) {
        let keys = [key("old", -10 * 86_400), key("new", -86_400 - seconds)]
        #expect(Self.schedule.outdated(among: keys, at: Self.now).count == count)
    }
}
