import Primitives
import StorageModel

/// A session that a sign-in gave, without an allocation of its own: thousands are kept.
struct CompactSession: Sendable {
    private enum Identifier: Sendable {
        /// That of every session this version makes: 16 bytes, base64url.
        case bytes(UInt64, UInt64)
        case text(String)
    }

    let user: UserID
    private let endings: Int64
    private let identifier: Identifier

    init(_ session: GivenSession) {
        (user, endings) = (session.user, session.endings)
        if let bytes = Base64URL.decode(session.id), bytes.count == 16 {
            identifier = bytes.withUnsafeBytes {
                .bytes($0.loadUnaligned(as: UInt64.self), $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
            }
        } else {
            identifier = .text(session.id)
        }
    }

    var session: GivenSession {
        let id =
            switch identifier {
            case .bytes(let first, let second): withUnsafeBytes(of: (first, second)) { Base64URL.encode($0) }
            case .text(let text): text
            }
        return GivenSession(id: id, user: user, endings: endings)
    }
}
