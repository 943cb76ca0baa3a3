import OpenIDConnect
import Primitives
import SignIn
import Storage
import StorageModel

/// A sign-in that this server started at a provider (OpenID Connect CIBA), stored until it ends and
/// a while longer.
///
/// The handle, the notification token and the provider's request id are stored as hashes only.
struct BackchannelAuthenticationRecord: Sendable, Hashable {
    enum Phase: String, Sendable, CaseIterable {
        /// The provider has not reported the user's answer.
        case pending
        /// The provider authenticated the user.
        case approved
        /// The client has the result.
        case done
        /// The provider refused, or its result was invalid.
        case failed
        case cancelled
        /// Pending or approved, and too old. It is not stored.
        case expired
    }

    /// What was asked for, which a retry repeats.
    struct Terms: Sendable, Hashable {
        /// Whom a carrier is asked about, and how (ZenKey's server-initiated authorization).
        struct CarrierRequest: Sendable, Hashable {
            var loginHint: LoginHint
            var network: MCCMNC
            var redirectURI: String
            var options: String?
        }

        /// The provider's name in paths.
        var provider: String
        var clientID: ClientID
        var demand: AuthenticationDemand
        /// Nil for a provider other than a carrier: a request to it is not repeated.
        var carrier: CarrierRequest?
        var correlationID: CorrelationID

        var network: MCCMNC? { carrier?.network }
    }

    struct VouchedUser: Sendable, Hashable {
        var identity: Identity
        /// The provider's claims.
        var profile = Profile()
        /// Which of the claims the provider verified.
        var verified = VerifiedFlags()
        /// The provider's further claims, encrypted by the use case.
        var claims: String?
        /// As ``UserInfo/isPartial``.
        var isPartial = false
        /// Former identities, as ``SignInRecord/portedFrom``.
        var portedFrom: [PortedIdentity] = []
    }

    let handle: TokenHash
    /// The caller that started it, the only one that may poll it.
    let caller: TokenHash
    let terms: Terms
    var phase = Phase.pending
    /// How many requests were sent to the provider.
    var attempt: Int64 = 1
    /// The hash of the token that the provider's notification of the latest request must have.
    var notification: TokenHash
    /// The hash of the provider's id of the latest request (`auth_req_id`); nil until it is known.
    var carrierRequest: TokenHash?
    var failure: BackchannelAuthenticationFailure?
    /// Nil until the user has approved.
    var user: VouchedUser?
    /// How its tokens are fetched; nil if they come with the provider's notification.
    var polling: TokenPolling?
    /// When the pending or approved phase expires.
    var expiresAt: Timestamp
    var removedAt: Timestamp
    /// Counts the changes, so that of two concurrent ones only one is stored.
    var revision: Int64 = 0
}

/// The result of completing a backchannel authentication by signing its user in.
enum BackchannelAuthenticationEnding: Sendable, Hashable {
    case signedIn(SignedInUser)
    /// The identity is unknown, and unknown identities are refused: no session was made.
    case unknownUser
    /// It was completed before, and the session of that time has ended: no session was made.
    case sessionEnded
    /// It was changed since it was read: nothing was stored.
    case changed
}

/// The state machine of backchannel authentication, which keeps no state.
extension BackchannelAuthenticationRecord {
    enum Event: String, Sendable, CaseIterable {
        /// The provider vouches for the user.
        case approval
        /// The provider says no.
        case refusal
        /// The client asks for the outcome.
        case poll
        /// The client wants the provider to ask the user again.
        case retry
        case cancellation
    }

    func phase(at now: Timestamp) -> Phase {
        (phase == .pending || phase == .approved) && now >= expiresAt ? .expired : phase
    }

    /// The phase that an event leads to; nil if nothing changes: for duplicates, late notifications, and polls before
    /// there is an outcome.
    /// - Throws: Why an event of the client's is refused.
    func phase(after event: Event, at now: Timestamp) throws(SignInError) -> Phase? {
        switch (phase(at: now), event) {
        case (.pending, .approval): return .approved
        case (.pending, .refusal): return .failed
        // Duplicate and late notifications are ignored.
        case (_, .approval), (_, .refusal): return nil

        case (.pending, .poll), (.done, .poll): return nil
        case (.approved, .poll): return .done
        case (.failed, .poll): throw (failure ?? .unknown).error
        case (.expired, .poll): throw .backchannelExpired

        case (.pending, .retry), (.failed, .retry), (.expired, .retry): return .pending

        case (.cancelled, .cancellation): return nil
        case (.pending, .cancellation), (.approved, .cancellation), (.failed, .cancellation), (.expired, .cancellation):
            return .cancelled

        case (.cancelled, .poll), (.cancelled, .retry): throw .backchannelCancelled
        case (.approved, .retry), (.done, .retry), (.done, .cancellation): throw .backchannelCompleted
        }
    }
}

/// Why a backchannel authentication failed, stored until the client asks.
struct BackchannelAuthenticationFailure: Sendable, Hashable {
    let text: String

    static let contradiction = Self(text: "contradiction")
    /// The provider's tokens cannot be used.
    static let unusable = Self(text: "unusable")
    /// No reason is stored.
    static let unknown = Self(text: "")

    static func idToken(_ check: IDTokenCheck) -> Self { Self(text: "id_token:" + check.rawValue) }

    /// - Parameter code: As the provider sent it; `unknown_error` if it is not a valid error code.
    static func carrier(sending code: String) -> Self {
        carrier(OIDCError(.carrierRefused, carrierError: code, reason: "").carrierError ?? "unknown_error")
    }

    /// - Parameter code: A valid error code.
    static func carrier(_ code: String) -> Self { Self(text: "carrier:" + code) }

    /// A request that failed or was refused.
    static func request(_ error: SignInError) -> Self {
        carrier(error.providerCode ?? (error.errorType == .configurationError ? "invalid_client" : "server_error"))
    }

    var error: SignInError {
        let parts = text.split(ascii: ":", maxSplits: 1).map(String.init)
        switch (parts.first, parts.last) {
        case ("contradiction", _):
            return .carrierError("The provider contradicted itself about this sign-in. Start a new sign-in.")
        case ("unusable", _): return .carrierError("The provider's tokens cannot be used. Start a new sign-in.")
        case ("carrier", let code?): return .refusedBackchannel(code)
        case ("id_token", let name?):
            guard let check = IDTokenCheck(rawValue: name) else { break }
            return SignInError(.failed(check), codeWasPosted: true)
        default: break
        }
        return .refusedBackchannel("unknown_error")
    }
}

/// The column `content`: what is only stored and read back.
extension BackchannelAuthenticationRecord {
    var content: String {
        var json = JSONObjectWriter(capacity: 1024)
        json.add("client_id", terms.clientID.text)
        json.add("scope", terms.demand.scopes)
        json.add("acr_values", terms.demand.acrValues)
        json.add("context", ifPresent: terms.demand.context)
        json.add("prompt", terms.demand.prompt.map(\.rawValue))
        json.add("correlation_id", terms.correlationID.text)
        if let carrier = terms.carrier { json.add("carrier", object: carrier.write) }
        json.add("attempt", attempt)
        json.add("carrier_request", ifPresent: carrierRequest.map { Base64URL.encode($0.bytes) })
        json.add("failure", ifPresent: failure?.text)
        if let user { json.add("user", object: user.write) }
        if let polling { json.add("polling", object: polling.write) }
        return String(decoding: json.finish(), as: UTF8.self)
    }

    /// A record of a row; nil for a content that ``content`` did not make.
    init?(_ row: borrowing CachedStatement) throws {
        guard let phase = Phase(rawValue: try row.text(4)),
            let json = (try? JSONValue(parsing: Array(try row.text(9).utf8)))?.object,
            let clientID = json["client_id"]?.string.flatMap(ClientID.init), let scopes = json["scope"]?.strings,
            let acrValues = json["acr_values"]?.strings, let prompt = json["prompt"]?.strings,
            let correlationID = json["correlation_id"]?.string.flatMap(CorrelationID.init),
            let attempt = json["attempt"]?.integer
        else { return nil }
        var demand = AuthenticationDemand()
        demand.scopes = scopes
        demand.acrValues = acrValues
        demand.context = json["context"]?.string
        demand.prompt = prompt.compactMap(Prompt.init)
        let network = try row.text(3)
        let carrier = json["carrier"]?.object.flatMap { Terms.CarrierRequest($0, at: network) }
        let user = json["user"]?.object.flatMap(VouchedUser.init)
        let polling = json["polling"]?.object.flatMap(TokenPolling.init)
        guard (carrier == nil) == (json["carrier"] == nil), (user == nil) == (json["user"] == nil),
            (polling == nil) == (json["polling"] == nil)
        else { return nil }
        self.init(
            handle: try row.hash(0), caller: try row.hash(1),
            terms: Terms(
                provider: try row.text(2), clientID: clientID, demand: demand, carrier: carrier,
                correlationID: correlationID),
            phase: phase, attempt: attempt, notification: try row.hash(5),
            carrierRequest: json["carrier_request"]?.hash,
            failure: json["failure"]?.string.map(BackchannelAuthenticationFailure.init), user: user, polling: polling,
            expiresAt: row.time(6), removedAt: row.time(7), revision: row.number(8))
    }
}

extension BackchannelAuthenticationRecord.Terms.CarrierRequest {
    fileprivate func write(to json: inout JSONObjectWriter) {
        json.add("login_hint", loginHint.text.exposed)
        json.add("redirect_uri", redirectURI)
        json.add("options", ifPresent: options)
    }

    fileprivate init?(_ json: JSONObject, at network: String) {
        guard let network = MCCMNC(network), let redirectURI = json["redirect_uri"]?.string,
            let loginHint = json["login_hint"]?.string.flatMap({ LoginHint($0, at: network) })
        else { return nil }
        self.init(
            loginHint: loginHint, network: network, redirectURI: redirectURI, options: json["options"]?.string)
    }
}

extension BackchannelAuthenticationRecord.VouchedUser {
    fileprivate func write(to json: inout JSONObjectWriter) {
        identity.write(to: &json)
        json.add(
            "profile",
            object: { json in
                for attribute in profile.present { json.add(named: attribute.rawValue, profile[attribute] ?? "") }
            })
        for attribute in verified.present {
            json.add(named: attribute.rawValue + "_verified", json: verified[attribute] == true ? "true" : "false")
        }
        json.add("claims", ifPresent: claims)
        if isPartial { json.add("partial", true) }
        json.add("ported_from", objects: portedFrom) { ported, json in
            ported.identity.write(to: &json)
            json.add("issued_at", ported.issuedAt.secondsSinceEpoch)
            json.add("token", Base64URL.encode(ported.token.bytes))
        }
    }

    fileprivate init?(_ json: JSONObject) {
        guard let identity = Identity(json), let profile = json["profile"]?.object,
            let ported = json["ported_from"]?.array
        else { return nil }
        self.init(
            identity: identity, claims: json["claims"]?.string, isPartial: json["partial"]?.bool ?? false,
            portedFrom: ported.compactMap { $0.object.flatMap(PortedIdentity.init) })
        for attribute in UserAttribute.allCases { self.profile[attribute] = profile[attribute.rawValue]?.string }
        for attribute in UserAttribute.verifiable {
            verified[attribute] = json[attribute.rawValue + "_verified"]?.bool
        }
        guard portedFrom.count == ported.count else { return nil }
    }
}

extension Identity {
    fileprivate func write(to json: inout JSONObjectWriter) {
        json.add("issuer", issuer)
        json.add("subject", subject)
    }

    fileprivate init?(_ json: JSONObject) {
        guard let issuer = json["issuer"]?.string, let subject = json["subject"]?.string else { return nil }
        self.init(issuer: issuer, subject: subject)
    }
}

extension PortedIdentity {
    fileprivate init?(_ json: JSONObject) {
        guard let identity = Identity(json), let issuedAt = json["issued_at"]?.integer, let token = json["token"]?.hash
        else { return nil }
        self.init(identity: identity, issuedAt: Timestamp(secondsSinceEpoch: issuedAt), token: token)
    }
}

extension TokenPolling {
    fileprivate func write(to json: inout JSONObjectWriter) {
        json.add("mode", mode.rawValue)
        json.add("request", ifPresent: sealedRequest.map { Base64URL.encode($0) })
        json.add("interval", interval)
        json.add("next_at", nextAt.secondsSinceEpoch)
        if let busyUntil { json.add("busy_until", busyUntil.secondsSinceEpoch) }
        json.add("is_notified", isNotified)
    }

    fileprivate init?(_ json: JSONObject) {
        guard let mode = json["mode"]?.string.flatMap(BackchannelTokenDeliveryMode.init),
            let interval = json["interval"]?.integer, let nextAt = json["next_at"]?.integer,
            let isNotified = json["is_notified"]?.bool
        else { return nil }
        self.init(mode: mode, interval: interval, nextAt: Timestamp(secondsSinceEpoch: nextAt))
        sealedRequest = json["request"]?.string.flatMap { Base64URL.decode($0) }
        busyUntil = json["busy_until"]?.integer.map(Timestamp.init(secondsSinceEpoch:))
        self.isNotified = isNotified
    }
}

extension JSONValue {
    fileprivate var strings: [String]? { array?.compactMap(\.string) }

    fileprivate var hash: TokenHash? { string.flatMap { Base64URL.decode($0) }.flatMap { TokenHash($0) } }
}
