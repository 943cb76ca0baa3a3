/// The kinds of error that ZenKey's app kits tell apart, by which an app decides what to show (the iOS guide, section 8).
public enum ErrorType: String, Sendable, Hashable, CaseIterable {
    case invalidRequest
    case requestDenied
    case requestTimeout
    case serverError
    case networkFailure
    case configurationError
    case discoveryStateError
    case unknownError

    /// What may have caused it.
    package var cause: String {
        switch self {
        case .invalidRequest: "The request is malformed, or asks for something there is not."
        case .requestDenied: "The user or the provider said no, or the code is not good any more."
        case .requestTimeout: "Somebody did not answer in time."
        case .serverError: "The provider or this server met an error of its own."
        case .networkFailure: "Something on the way to the provider does not work."
        case .configurationError: "The app, this server and the provider's portal do not agree on the client."
        case .discoveryStateError: "The carrier is not, or no longer, this user's."
        case .unknownError: "None of the others."
        }
    }

    /// What to do about it.
    package var remedy: String {
        switch self {
        case .invalidRequest: "Check the parameters of the authorization request."
        case .requestDenied: "Tell the user that the request was denied."
        case .requestTimeout: "Tell the user that there was no answer in time, and let them try again."
        case .serverError: "Try again later."
        case .networkFailure: "Have the user check the connection and try again."
        case .configurationError: "Compare the client's configuration here and in the app with the provider's portal."
        case .discoveryStateError: "Run carrier discovery and the authorization request again."
        case .unknownError: "If it goes on, tell the operator."
        }
    }

    /// The kind of a carrier's error code, as the app kits map it.
    init(carrierError code: String) { self = CarrierErrorTable.row(of: code).type }
}
