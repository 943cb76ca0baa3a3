import OpenIDConnect
import Primitives

/// Why a backchannel authentication failed, stored until the client asks.
enum BackchannelAuthenticationFailure: Sendable, Hashable {
    /// The carrier's error code.
    case carrier(String)
    case idToken(IDTokenCheck)
    /// The carrier contradicted itself.
    case contradiction
    /// The provider's tokens cannot be used.
    case unusable

    /// - Parameter code: As the carrier sent it; `unknown_error` if it is no valid error code.
    init(carrierCode code: String) {
        self = .carrier(OIDCError(.carrierRefused, carrierError: code, reason: "").carrierError ?? "unknown_error")
    }

    /// A request that failed or was refused.
    init(ofSending error: SignInError) {
        let usual = error.errorType == .configurationError ? "invalid_client" : "server_error"
        self = .carrier(error.carrierCode ?? usual)
    }

    var text: String {
        switch self {
        case .carrier(let code): "carrier:" + code
        case .idToken(let check): "id_token:" + check.rawValue
        case .contradiction: "contradiction"
        case .unusable: "unusable"
        }
    }

    /// Nil for an unknown text.
    init?(text: String) {
        if text == "contradiction" {
            self = .contradiction
        } else if text == "unusable" {
            self = .unusable
        } else if text.hasPrefix("carrier:") {
            self = .carrier(String(text.dropFirst("carrier:".count)))
        } else if text.hasPrefix("id_token:"), let check = IDTokenCheck(rawValue: String(text.dropFirst(9))) {
            self = .idToken(check)
        } else {
            return nil
        }
    }

    var error: SignInError {
        switch self {
        case .carrier(let code): .refusedBackchannel(code)
        case .idToken(let check): SignInError(.failed(check), codeWasPosted: true)
        case .unusable: .carrierError("The provider's tokens cannot be used. Start a new sign-in.")
        case .contradiction: .carrierError("The carrier contradicted itself about this sign-in. Start a new sign-in.")
        }
    }
}
