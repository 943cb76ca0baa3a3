import Primitives
import StorageModel

/// A session and its user as bytes: one cached session needs no `String`, and no separate allocation.
///
/// The numbers have fixed places. Texts follow: a byte of length, 255 for four more bytes of length, and UTF-8.
struct SessionRecord {
    /// The places of the numbers.
    private enum Field {
        static let length = 0
        static let generation = 4
        static let token = 8
        static let userID = 40
        static let readAt = 48
        static let sessionCreatedAt = 56
        static let expiresAt = 64
        static let userCreatedAt = 72
        /// Which attributes the user has, a bit for each of `UserAttribute.allCases`; and ``assertions``.
        static let attributes = 80
        /// The bit for ``User/assertions``, whose texts follow the attributes'.
        static let assertions: UInt16 = 0x8000
        static let texts = 82
    }

    /// The record, and perhaps other bytes behind it.
    private let bytes: UnsafeRawPointer

    /// - Parameter bytes: Written by ``Draft/write(to:for:generation:readAt:)``; valid while this value is used.
    init(at bytes: UnsafeRawPointer) { self.bytes = bytes }

    var length: Int { Int(number(at: Field.length) as UInt32) }
    var generation: UInt32 { number(at: Field.generation) }
    var userID: UserID { UserID(number(at: Field.userID)) }
    var token: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: bytes + Field.token, count: 32) }
    /// ``TokenHash/number`` of ``token``: its last word.
    var tokenNumber: UInt64 { number(at: Field.token + 24) }
    private var readAt: Timestamp { time(at: Field.readAt) }
    private var expiresAt: Timestamp { time(at: Field.expiresAt) }

    /// Whether the record is of a token. Compares hashes in constant time, as `TokenHash` does.
    func isOf(_ token: TokenHash) -> Bool { TokenHash(self.token) == token }

    /// Whether it was read five seconds ago or earlier.
    func isOld(at now: Timestamp) -> Bool { readAt.advanced(bySeconds: SessionCache.freshness) <= now }

    func answers(at now: Timestamp) -> Bool {
        // A clock that was set back makes every record unusable.
        readAt <= now && !isOld(at: now) && now < expiresAt
    }

    var decoded: SessionAndUser {
        var place = Field.texts
        let (sessionID, clientID, publicID) = (text(at: &place), text(at: &place), text(at: &place))
        var profile = Profile()
        let present: UInt16 = number(at: Field.attributes)
        for (index, attribute) in UserAttribute.allCases.enumerated() where present & 1 << index != 0 {
            profile[attribute] = text(at: &place)
        }
        let session = Session(
            id: sessionID, userID: userID, clientID: clientID, createdAt: time(at: Field.sessionCreatedAt),
            expiresAt: expiresAt)
        var assertions: ProviderAssertions?
        if present & Field.assertions != 0 {
            let (email, phoneNumber) = (verification(at: &place), verification(at: &place))
            let claims = text(at: &place)
            assertions = ProviderAssertions(
                email: email, phoneNumber: phoneNumber, claims: claims.isEmpty ? nil : claims)
        }
        let user = User(
            id: userID, publicID: publicID, profile: profile, assertions: assertions,
            createdAt: time(at: Field.userCreatedAt)
        )
        return SessionAndUser(session: session, user: user)
    }

    private func number<Number: FixedWidthInteger & BitwiseCopyable>(at place: Int) -> Number {
        bytes.loadUnaligned(fromByteOffset: place, as: Number.self)
    }

    private func verification(at place: inout Int) -> Verification? {
        let (time, issuer) = (text(at: &place), text(at: &place))
        return Int64(time).map { Verification(at: Timestamp(secondsSinceEpoch: $0), by: issuer) }
    }

    private func time(at place: Int) -> Timestamp { Timestamp(secondsSinceEpoch: number(at: place)) }

    private func text(at place: inout Int) -> String {
        var count = Int(bytes.load(fromByteOffset: place, as: UInt8.self))
        place += 1
        if count == 255 {
            count = Int(number(at: place) as UInt32)
            place += 4
        }
        defer { place += count }
        return String(decoding: UnsafeRawBufferPointer(start: bytes + place, count: count), as: UTF8.self)
    }

    struct Draft {
        private let found: SessionAndUser
        /// The bytes of the record.
        let length: Int

        init(_ found: SessionAndUser) {
            self.found = found
            length = Self.texts(of: found).reduce(Field.texts) {
                $0 + ($1.utf8.count < 255 ? 1 : 5) + $1.utf8.count
            }
        }

        /// Writes ``length`` bytes.
        func write(to bytes: UnsafeMutableRawPointer, for token: TokenHash, generation: UInt32, readAt: Timestamp) {
            func write(_ number: some FixedWidthInteger & BitwiseCopyable, at place: Int) {
                bytes.storeBytes(of: number, toByteOffset: place, as: type(of: number))
            }
            let (session, user) = (found.session, found.user)
            write(UInt32(length), at: Field.length)
            write(generation, at: Field.generation)
            token.withUnsafeBytes {
                UnsafeMutableRawBufferPointer(start: bytes + Field.token, count: 32).copyMemory(from: $0)
            }
            write(user.id.number, at: Field.userID)
            write(readAt.secondsSinceEpoch, at: Field.readAt)
            write(session.createdAt.secondsSinceEpoch, at: Field.sessionCreatedAt)
            write(session.expiresAt.secondsSinceEpoch, at: Field.expiresAt)
            write(user.createdAt.secondsSinceEpoch, at: Field.userCreatedAt)
            var present: UInt16 = 0
            for (index, attribute) in UserAttribute.allCases.enumerated() where user.profile[attribute] != nil {
                present |= 1 << index
            }
            if user.assertions != nil { present |= Field.assertions }
            write(present, at: Field.attributes)
            var place = Field.texts
            for text in Self.texts(of: found) {
                let count = text.utf8.count
                write(UInt8(min(count, 255)), at: place)
                place += 1
                if count >= 255 {
                    write(UInt32(count), at: place)
                    place += 4
                }
                UnsafeMutableRawBufferPointer(start: bytes + place, count: count).copyBytes(from: text.utf8)
                place += count
            }
        }

        private static func texts(of found: SessionAndUser) -> [String] {
            let texts =
                [found.session.id, found.session.clientID, found.user.publicID]
                + UserAttribute.allCases.compactMap { found.user.profile[$0] }
            guard let assertions = found.user.assertions else { return texts }
            return texts + Self.texts(of: assertions.email) + Self.texts(of: assertions.phoneNumber) + [
                assertions.claims ?? ""
            ]
        }

        private static func texts(of verification: Verification?) -> [String] {
            guard let verification else { return ["", ""] }
            return [String(verification.time.secondsSinceEpoch), verification.issuer]
        }
    }
}
