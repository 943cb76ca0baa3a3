import HTTPTypes
package import Primitives
package import SignIn
public import StorageModel

/// The terms on which a request was admitted.
public struct Admission: Sendable {
    enum Ground: Sendable, Redacted {
        /// An API key: the bytes that were received, and their SHA-256. Only a few routes need a `String` of them.
        case key(ArraySlice<UInt8>, TokenHash)
        case origin(String)
        /// A browser's cookies alone, from a page of this server's own origin.
        case cookie
    }

    let ground: Ground
    /// The clients whose users and sessions the caller may access; nil for all.
    package let clients: Set<String>?
    var isAdministrator = false

    /// Whether the caller's session is in its browser's cookies.
    package var isPage: Bool { if case .cookie = ground { true } else { false } }

    package func allows(_ client: String) -> Bool { clients?.contains(client) ?? true }

    /// - Throws: 403 if the caller may not access the client.
    package func check(_ client: String) throws(APIError) {
        guard allows(client) else { throw .clientNotAllowed }
    }

    package var caller: Caller {
        switch ground {
        case .key(let key, _): Caller(apiKey: String(decoding: key, as: UTF8.self))
        case .origin(let origin): Caller(origin: origin)
        case .cookie: Caller(origin: "")
        }
    }

    /// Tells the callers of sign-ins apart. For a key, the hash by which it was admitted.
    var signInCaller: Caller {
        if case .key(_, let hash) = ground { Caller(apiKeyHash: hash) } else { caller }
    }
}

/// A caller with a session, as ``LatchkeyAPI/signedIn(_:)`` found it.
public struct SignedInCaller: Sendable {
    package let admission: Admission
    private let presented: PresentedToken
    /// The session, and its user.
    public let holder: SessionAndUser

    package var token: Secret { presented.secret }

    /// - Throws: 401 without a session; 403 if it is of a client that the caller may not access.
    init(admission: Admission, token: PresentedToken, holder: SessionAndUser?) throws(APIError) {
        guard let holder else { throw .sessionInvalid }
        // Otherwise a key that is for one client could be used on the sessions of all.
        try admission.check(holder.session.clientID)
        self.admission = admission
        presented = token
        self.holder = holder
    }
}

extension APIError {
    /// As ``SignInError/clientNotAllowed``, for a call that the published apps do not send as a sign-in: 403, because
    /// the caller is known.
    static let clientNotAllowed: APIError = {
        let error = SignInError.clientNotAllowed
        return APIError(.forbidden, error.codeText, error.errorType, error.description)
    }()

    static let keyNotForOrigin = APIError(
        .unauthorized, "invalid_api_key", .configurationError,
        "This API key is valid from certain origins only, and the Origin of the request is not one of them.",
        headers: [.wwwAuthenticate: #"ApiKey name="X-API-KEY""#])
}

/// A session token as a request has it. Most routes need only its hash, and no `Secret` of it.
package struct PresentedToken: Sendable, Redacted {
    /// UTF-8, in the place where it was received.
    let bytes: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { self.bytes = bytes }

    init(_ secret: Secret) { bytes = Array(secret.exposed.utf8)[...] }

    package var secret: Secret { Secret(String(decoding: bytes, as: UTF8.self)) }
}
