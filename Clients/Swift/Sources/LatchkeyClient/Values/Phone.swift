/// What a phone can do to prove its number. An app sets what its phone has.
///
/// A function that returns nil or throws refuses: the next way is tried.
public struct Phone: Sendable {
    /// The network code of the SIM. iOS tells it to no app since version 16.4.
    public var mccmnc: String?
    /// The cellular interface; on Apple platforms a `CellularInterface`.
    public var cellular: (any CellularNetwork)?
    /// Asks the system for a digital credential.
    public var digitalCredential: (@Sendable (DigitalCredentialRequest) async throws -> DigitalCredential?)?
    /// Gets a TS.43 operator token, which works once, from the operator.
    public var operatorToken: (@Sendable (MobileOperator) async throws -> String?)?

    /// A phone that can do nothing beside these.
    public init(mccmnc: String? = nil, cellular: (any CellularNetwork)? = nil) {
        self.mccmnc = mccmnc
        self.cellular = cellular
    }
}

/// A request for a digital credential with a phone number (OpenID4VP over the Digital Credentials API).
public struct DigitalCredentialRequest: Sendable, Hashable {
    /// The request as JSON: an object with `protocol` and `data`, one of the `requests` that a system takes.
    public let json: String
}

/// The system's response to a ``DigitalCredentialRequest``. It prints as redacted.
public struct DigitalCredential: Sendable, Hashable {
    let json: Hidden

    /// - Parameter json: An object with `protocol` and `data`, or with the `vp_token` alone.
    public init(json: String) { self.json = Hidden(json) }
}
