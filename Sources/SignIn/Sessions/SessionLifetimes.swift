import OpenIDConnect
import Primitives

/// The lifetimes of each client's sessions.
struct SessionLifetimes: Sendable {
    private let general: SignInConfiguration.Lifetimes
    /// The clients with their own lifetimes.
    private let own: [String: SignInConfiguration.Lifetimes]

    init(_ lifetimes: SignInConfiguration.Lifetimes, _ providers: Providers) {
        general = lifetimes
        var own: [String: SignInConfiguration.Lifetimes] = [:]
        // If two providers have a client of the same id, the first provider by name decides.
        for client in providers.all.flatMap(\.allClients)
        where client.sessions != .init() && own[client.id.text] == nil {
            own[client.id.text] = lifetimes.changed(by: client.sessions)
        }
        self.own = own
    }

    func of(_ clientID: String) -> SignInConfiguration.Lifetimes {
        own.isEmpty ? general : own[clientID] ?? general
    }
}

extension SignInConfiguration.Lifetimes {
    fileprivate func changed(by own: SignInConfiguration.SessionTimes) -> SignInConfiguration.Lifetimes {
        var changed = self
        changed.access = own.access ?? access
        changed.refresh = own.refresh ?? refresh
        changed.idle = own.idle ?? idle
        changed.absolute = own.absolute ?? absolute
        return changed
    }

    /// When tokens issued now expire: after their own lifetime, the idle time or the absolute lifetime, whichever comes
    /// first.
    func ends(ofSessionMadeAt creation: Timestamp, at now: Timestamp) -> (access: Timestamp, refresh: Timestamp) {
        let limit = min(creation.advanced(bySeconds: absolute), now.advanced(bySeconds: idle))
        return (min(now.advanced(bySeconds: access), limit), min(now.advanced(bySeconds: refresh), limit))
    }
}
