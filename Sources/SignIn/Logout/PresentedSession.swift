import OpenIDConnect
package import Primitives
package import StorageModel

/// A session whose user signs out, and the token by which its ID token can be opened.
package struct PresentedSession: Sendable {
    private enum Opener {
        case sessionToken(Secret)
        case refreshToken(PresentedRefreshToken)
        /// A used refresh token ends the session, and does not reveal what was kept for its owner.
        case nothing
    }

    let session: Session
    private let opener: Opener

    /// A session that was found by its session token.
    package init(_ session: Session, by token: Secret) {
        self.session = session
        opener = .sessionToken(token)
    }

    /// A session that was found by a refresh token.
    init(_ session: Session, by refreshToken: PresentedRefreshToken, isLive: Bool) {
        self.session = session
        opener = isLive ? .refreshToken(refreshToken) : .nothing
    }

    /// The session's ID token; nil if the presented token does not open it.
    func open(_ idToken: SealedIDToken) -> IDTokenHint? {
        switch opener {
        case .sessionToken(let token): idToken.hint(forSessionToken: token)
        case .refreshToken(let token): idToken.hint(for: token)
        case .nothing: nil
        }
    }
}

extension Sessions {
    /// The session of a page, by its session token or, if that has expired, by its refresh token.
    /// - Throws: `temporarily_unavailable`.
    package func presented(token: Secret?, refreshToken: Secret?) async throws(SignInError) -> PresentedSession? {
        if let token, let found = try await authenticate(token) { return PresentedSession(found.session, by: token) }
        guard let refreshToken = refreshToken.flatMap({ PresentedRefreshToken($0) }) else { return nil }
        switch try await state(of: refreshToken) {
        case .live(let found): return PresentedSession(found.session, by: refreshToken, isLive: true)
        case .justSpent(let found, _), .spent(let found):
            return PresentedSession(found.session, by: refreshToken, isLive: false)
        case .unknown: return nil
        }
    }
}
