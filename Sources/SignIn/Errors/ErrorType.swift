/// The kinds of error that ZenKey's app kits distinguish, by which an app decides what to show (the iOS guide, section
/// 8).
package enum ErrorType: String, Sendable, Hashable, CaseIterable {
    case invalidRequest
    case requestDenied
    case requestTimeout
    case serverError
    case networkFailure
    case configurationError
    case discoveryStateError
    case unknownError

    /// The likely cause.
    package var cause: String {
        switch self {
        case .invalidRequest: "The request is malformed, or asks for something that does not exist."
        case .requestDenied: "The user or the provider denied the request, or the code is no longer valid."
        case .requestTimeout: "The user or the provider did not respond in time."
        case .serverError: "The provider or this server has an internal error."
        case .networkFailure: "The network connection to the provider failed."
        case .configurationError:
            "The client is configured differently in the app, on this server or in the provider's portal."
        case .discoveryStateError: "The user is not, or no longer, with this carrier."
        case .unknownError: "Any other cause."
        }
    }

    /// What to do about it.
    package var remedy: String {
        switch self {
        case .invalidRequest: "Check the parameters of the authorization request."
        case .requestDenied: "Tell the user that the request was denied."
        case .requestTimeout: "Tell the user that there was no response in time, and offer another try."
        case .serverError: "Try again later."
        case .networkFailure: "Ask the user to check the connection and try again."
        case .configurationError: "Compare the client's configuration here and in the app with the provider's portal."
        case .discoveryStateError: "Run carrier discovery and the authorization request again."
        case .unknownError: "If it persists, contact the operator."
        }
    }

    /// The kind of a carrier's error code, as the app kits map it.
    init(carrierError code: String) { self = CarrierErrorTable.row(of: code).type }
}
