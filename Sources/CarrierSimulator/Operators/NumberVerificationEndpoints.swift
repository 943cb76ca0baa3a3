import HTTPServer
import HTTPTypes
import Primitives

/// CAMARA's API Number Verification, version 2. An access token is good for one call, because it stands for one
/// authentication by the network.
struct NumberVerificationEndpoints: Sendable {
    let simulator: CarrierSimulator

    private var api: OperatorAPI { OperatorAPI(simulator: simulator) }

    /// `GET {apiRoot}/number-verification/v2/device-phone-number`.
    func share(_ request: Request) async throws -> Response {
        try await api.serve(
            .devicePhoneNumber, request, faults: "operator-number-", scopes: [OperatorScopes.numberShare]
        ) { (call) throws(OperatorAPIError) in
            let number = try number(of: call)
            let shown = call.site.has(.operatorNumberMalformed) ? String(number.dropFirst()) : number
            return .json(["devicePhoneNumber": .string(shown)])
        }
    }

    /// `POST {apiRoot}/number-verification/v2/verify` with `phoneNumber` or `hashedPhoneNumber`.
    func verify(_ request: Request) async throws -> Response {
        try await api.serve(.numberVerify, request, faults: "operator-number-", scopes: [OperatorScopes.numberVerify]) {
            (call) throws(OperatorAPIError) in
            let claimed = try Claimed(call)
            let number = try number(of: call)
            return .json(["devicePhoneNumberVerified": .bool(claimed.matches(number))])
        }
    }

    /// The number that a verification is about.
    private enum Claimed {
        case plain(String)
        /// SHA-256 in hexadecimal, in lowercase here.
        case hashed(String)

        init(_ call: OperatorAPI.Call) throws(OperatorAPIError) {
            let object = try OperatorAPI.object(of: call.request)
            guard object.members.count == 1
            else { throw .invalidArgument("The body must have either phoneNumber or hashedPhoneNumber.") }
            if let number = try OperatorAPI.phoneNumber(in: object) {
                self = .plain(number)
                return
            }
            guard let hash = object["hashedPhoneNumber"]?.string, hash.utf8.count == 64,
                hash.allSatisfy({ $0.isASCII && $0.isHexDigit }), call.profile.acceptsHashedNumbers
            else { throw .invalidArgument("The hashedPhoneNumber is missing, malformed, or not supported.") }
            self = .hashed(hash.lowercased())
        }

        func matches(_ number: String) -> Bool {
            switch self {
            case .plain(let claimed): claimed == number
            case .hashed(let hash): hash == Digest.sha256(Array(number.utf8)).hexadecimal
            }
        }
    }

    /// The number of the call's subscriber. It uses up the access token.
    private func number(of call: OperatorAPI.Call) throws(OperatorAPIError) -> String {
        let isFirst = simulator.withState { state in
            let isFirst = state.operators.accessTokens[call.token]?.isSpent == false
            state.operators.accessTokens.update(call.token) { $0.isSpent = true }
            return isFirst
        }
        guard isFirst, !call.site.has(.operatorTokenUsed)
        else { throw .unauthenticated("The access token was used before: authenticate the user again.") }
        guard call.grant.authentication != .none, let subscriber = call.grant.subscriber,
            !call.site.has(.operatorNotNetworkAuthenticated)
        else { throw .notByNetwork }
        return call.site.has(.operatorWrongNumber) ? "+12025550100" : subscriber.phoneNumber
    }
}
