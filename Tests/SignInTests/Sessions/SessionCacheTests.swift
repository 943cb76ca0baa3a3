import Primitives
import SignIn
import StorageModel
import TestSupport
import Testing

/// The cache alone; `SessionTests` has what a client sees of it.
@Suite("The session cache")
struct SessionCacheTests {
    private let start = Timestamp(secondsSinceEpoch: 1_790_000_000)

    @Test(
        "returns what was put in, whatever its texts are",
        arguments: [
            ("", 1), ("x", 1), ("Zoë 👩‍👩‍👧", 1), ("é", 127), ("a", 254), ("b", 255), ("b", 256), ("c", 30_000),
            ("c", 70_000),
        ])
    func texts(_ piece: String, _ count: Int) {
        let text = String(repeating: piece, count: count)
        let cache = SessionCache()
        for attribute in UserAttribute.allCases {
            let profiles: [Profile] = [[:], [attribute: text], Self.full(text)]
            for (number, profile) in profiles.enumerated() {
                let found = Self.session(number, id: text, profile: profile)
                cache.put(found, for: Self.token(number), cache.ticket(at: start))
                #expect(Self.hit(cache.look(Self.token(number), at: start)) == found)
            }
        }
    }

    @Test("returns what providers vouch for", arguments: [true, false], [true, false])
    func vouched(hasEmail: Bool, hasPhoneNumber: Bool) throws {
        for claims in [nil, "{}", String(repeating: "c", count: 300)] { try vouched(hasEmail, hasPhoneNumber, claims) }
    }

    private func vouched(_ hasEmail: Bool, _ hasPhoneNumber: Bool, _ claims: String?) throws {
        let cache = SessionCache()
        let time = Timestamp(secondsSinceEpoch: -1)
        let plain = Self.session(1)
        var user = plain.user
        user.assertions = ProviderAssertions(
            email: hasEmail ? Verification(at: start, by: "https://a.example") : nil,
            phoneNumber: hasPhoneNumber ? Verification(at: time, by: String(repeating: "é", count: 300)) : nil,
            claims: claims)
        let found = SessionAndUser(session: plain.session, user: user)
        #expect((user.assertions == nil) == (!hasEmail && !hasPhoneNumber && claims == nil))
        cache.put(found, for: Self.token(1), cache.ticket(at: start))
        #expect(Self.hit(cache.look(Self.token(1), at: start)) == found)
    }

    @Test("returns each attribute, with and without what a provider vouches for", arguments: UserAttribute.allCases)
    func attribute(_ attribute: UserAttribute) {
        let plain = Self.session(1, profile: [attribute: "value"])
        for assertions in [nil, ProviderAssertions(email: nil, phoneNumber: nil, claims: "claims")] {
            let cache = SessionCache()
            var user = plain.user
            user.assertions = assertions
            let found = SessionAndUser(session: plain.session, user: user)
            cache.put(found, for: Self.token(1), cache.ticket(at: start))
            #expect(Self.hit(cache.look(Self.token(1), at: start)) == found)
        }
    }

    @Test("does not take a session that is out of the ordinary in size")
    func tooLarge() {
        let cache = SessionCache()
        cache.put(
            Self.session(1, profile: Self.full(String(repeating: "c", count: 200_000))), for: Self.token(1),
            cache.ticket(at: start))
        #expect(Self.hit(cache.look(Self.token(1), at: start)) == nil)
        #expect(cache.bytes == 0)
    }

    @Test("answers for five seconds, and not before its time or after the session's end")
    func times() {
        let cache = SessionCache()
        let found = Self.session(1, expiresAt: start.advanced(bySeconds: 3))
        let other = Self.session(2)
        cache.put(found, for: Self.token(1), cache.ticket(at: start))
        cache.put(other, for: Self.token(2), cache.ticket(at: start))
        func answers(_ number: Int, after seconds: Int64) -> Bool {
            Self.hit(cache.look(Self.token(number), at: start.advanced(bySeconds: seconds))) != nil
        }
        #expect((-1...5).map { answers(1, after: $0) } == [false, true, true, true, false, false, false])
        #expect((-1...5).map { answers(2, after: $0) } == [false, true, true, true, true, true, false])
        #expect(cache.looks.hits == 8 && cache.looks.misses == 6)
    }

    @Test("does not take what was read before a removal")
    func tickets() {
        let cache = SessionCache()
        let removals: [(SessionCache) -> Void] = [
            { $0.remove(UserID(1)) }, { $0.remove(UserID(9)) }, { $0.removeAll() },
        ]
        for remove in removals {
            let ticket = cache.ticket(at: start)
            remove(cache)
            cache.put(Self.session(1), for: Self.token(1), ticket)
            #expect(Self.hit(cache.look(Self.token(1), at: start)) == nil)
        }
        cache.put(Self.session(1), for: Self.token(1), cache.ticket(at: start))
        #expect(Self.hit(cache.look(Self.token(1), at: start)) != nil)
    }

    @Test("forgets all sessions of a removed user, those of no other, and everything")
    func removals() {
        let cache = SessionCache()
        for number in 0..<30 {
            let found = Self.session(number, user: UserID(Int64(number % 3)))
            cache.put(found, for: Self.token(number), cache.ticket(at: start))
        }
        func known() -> [Int] { (0..<30).filter { Self.hit(cache.look(Self.token($0), at: start)) != nil } }
        #expect(known().count == 30)
        cache.remove(UserID(1))
        #expect(known() == (0..<30).filter { $0 % 3 != 1 })
        cache.put(Self.session(1, user: UserID(1)), for: Self.token(1), cache.ticket(at: start))
        #expect(known() == (0..<30).filter { $0 % 3 != 1 || $0 == 1 })
        cache.removeAll()
        #expect(known().isEmpty && cache.bytes == 0)
    }

    @Test("keeps 90,000 sessions with phone number and e-mail address in 64 MiB")
    func capacity() {
        let cache = SessionCache()
        #expect(cache.bytes == 0)
        for number in 0..<90_000 {
            cache.put(Self.session(number), for: Self.token(number), cache.ticket(at: start))
        }
        #expect(cache.bytes <= 64 << 20)
        let missing = (0..<90_000).filter { Self.hit(cache.look(Self.token($0), at: start)) == nil }
        #expect(missing.isEmpty)
    }

    @Test("keeps the sessions in use during a flood of new ones, which take a sixteenth of its memory, and come again")
    func newSessions() {
        let capacity = 16 << 20
        let cache = SessionCache(capacity: capacity)
        let inUse = 0..<1000
        for number in inUse { cache.put(Self.session(number), for: Self.token(number), cache.ticket(at: start)) }
        for number in 1000..<200_000 {
            cache.put(Self.session(number), for: Self.token(number), cache.ticket(at: start), isNew: true)
        }
        // The last one of each part may reach beyond.
        #expect(cache.bytes < capacity / 16 + 16 * 1024)
        #expect(inUse.allSatisfy { Self.hit(cache.look(Self.token($0), at: start)) == Self.session($0) })
        #expect(Self.hit(cache.look(Self.token(1000), at: start)) == Self.session(1000))
        #expect(Self.hit(cache.look(Self.token(199_999), at: start)) == nil)
        cache.put(Self.session(199_999), for: Self.token(199_999), cache.ticket(at: start))
        #expect(Self.hit(cache.look(Self.token(199_999), at: start)) == Self.session(199_999))
        // The flood before is over.
        let later = start.advanced(bySeconds: 5)
        for number in 0..<1000 {
            cache.put(Self.session(number), for: Self.token(number), cache.ticket(at: later), isNew: true)
        }
        #expect((0..<1000).allSatisfy { Self.hit(cache.look(Self.token($0), at: later)) == Self.session($0) })
    }

    @Test("keeps its memory during a flood of look-ups, and gives it back when the sessions are old")
    func bounded() {
        let capacity = 2 << 20
        let cache = SessionCache(capacity: capacity)
        var most = 0
        let count = AllRows.count(1_000_000, short: 200_000)
        let newest = count - 1000..<count
        for number in 0..<count {
            let token = Self.token(number)
            // Most tokens are unknown, as those of guesses are.
            let isKnown = number % 8 == 0 || newest.contains(number)
            guard case .miss(let ticket) = cache.look(token, at: start), isKnown else { continue }
            cache.put(Self.session(number), for: token, ticket)
            if number % 1024 == 0 { most = max(most, cache.bytes) }
        }
        #expect(most <= capacity)
        #expect(newest.allSatisfy { Self.hit(cache.look(Self.token($0), at: start)) == Self.session($0) })
        let later = start.advanced(bySeconds: 5)
        for number in 0..<1000 {
            cache.put(Self.session(number), for: Self.token(number), cache.ticket(at: later))
        }
        #expect(cache.bytes < capacity / 2)
    }

    @Test("agrees with a dictionary, whatever comes in which order")
    func model() {
        var random = SeededGenerator(seed: 11)
        for capacity in [16 * 4096, 16 * 8192, 1 << 20] {
            let cache = SessionCache(capacity: capacity)
            var model: [Int: (found: SessionAndUser, at: Timestamp)] = [:]
            var now = start
            var hits = 0
            for _ in 0..<40_000 {
                let number = Int.random(in: 0..<300, using: &random)
                switch Int.random(in: 0..<1000, using: &random) {
                case 0..<400:
                    let name = String(repeating: "n", count: Int.random(in: 0..<300, using: &random))
                    let found = Self.session(number, profile: [.name: name])
                    cache.put(found, for: Self.token(number), cache.ticket(at: now))
                    model[number] = (found, now)
                case 400..<402:
                    cache.remove(UserID(Int64(number)))
                    model[number] = nil
                case 402: now = now.advanced(bySeconds: Int64.random(in: -1...2, using: &random))
                default:
                    guard let hit = Self.hit(cache.look(Self.token(number), at: now)) else { continue }
                    hits += 1
                    #expect(hit == model[number]?.found)
                    #expect(model[number].map { $0.at <= now && now < $0.at.advanced(bySeconds: 5) } == true)
                }
            }
            #expect(hits > 1000)
            #expect(cache.bytes <= capacity + 16 * 1024)
        }
    }

    private static func hit(_ look: SessionCache.Look) -> SessionAndUser? {
        if case .hit(let found) = look { return found }
        return nil
    }

    /// As uniform as SHA-256, for less: the finalizer of SplitMix64.
    private static func token(_ number: Int) -> TokenHash {
        var bytes: [UInt8] = []
        for part in 0..<4 {
            var word = UInt64(number * 4 + part + 1) &* 0x9E37_79B9_7F4A_7C15
            word = (word ^ word >> 30) &* 0xBF58_476D_1CE4_E5B9
            word = (word ^ word >> 27) &* 0x94D0_49BB_1331_11EB
            withUnsafeBytes(of: word ^ word >> 31) { bytes.append(contentsOf: $0) }
        }
        return TokenHash(bytes) ?? TokenHash(sha256Of: "\(number)")
    }

    private static func full(_ text: String) -> Profile {
        var profile = Profile()
        for attribute in UserAttribute.allCases { profile[attribute] = text }
        return profile
    }

    private static func session(
        _ number: Int, user: UserID? = nil, id: String = "abcdefghijklmnopqrstuv",
        expiresAt: Timestamp = Timestamp(secondsSinceEpoch: 1_800_000_000),
        profile: Profile = [.phoneNumber: "+15555550123", .email: "user1234@example.com"]
    ) -> SessionAndUser {
        let user = user ?? UserID(Int64(number))
        let createdAt = Timestamp(secondsSinceEpoch: 1_789_999_999)
        return SessionAndUser(
            session: Session(
                id: id, userID: user, clientID: "mobile-app", createdAt: createdAt, expiresAt: expiresAt),
            user: User(id: user, publicID: "ABCDEFGHIJKLMNOPQRSTUV", profile: profile, createdAt: createdAt))
    }
}
