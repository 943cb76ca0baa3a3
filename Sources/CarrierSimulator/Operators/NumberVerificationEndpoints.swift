import HTTPServer
import HTTPTypes
import Primitives

/// CAMARA's API Number Verification, in the version of the profile: what is used of it is the same in all. An access
/// token is good for one call, because it stands for one authentication by the network.
struct NumberVerificationEndpoints: Sendable {
    let simulator: CarrierSimulator

    /// `GET {apiRoot}/number-verification/{version}/device-phone-number`.
    func share(_ request: Request) async throws -> Response {
        try await simulator.serveAPI(
            .devicePhoneNumber, request, faults: "operator-number-", scopes: [OperatorScopes.numberShare]
        ) { (call) throws(OAuthError) in
            let number = try number(of: call)
            let shown = call.site.has(.operatorNumberMalformed) ? String(number.dropFirst()) : number
            return .json(["devicePhoneNumber": .string(shown)])
        }
    }

    /// `POST {apiRoot}/number-verification/{version}/verify` with `phoneNumber` or `hashedPhoneNumber` (SHA-256).
    func verify(_ request: Request) async throws -> Response {
        try await simulator.serveAPI(
            .numberVerify, request, faults: "operator-number-", scopes: [OperatorScopes.numberVerify]
        ) { (call) throws(OAuthError) in
            let object = try call.object()
            guard object.members.count == 1
            else { throw .invalidArgument("The body must have either phoneNumber or hashedPhoneNumber.") }
            if let claimed = try object.phoneNumber() { return Self.verified(claimed == (try number(of: call))) }
            guard let hash = object["hashedPhoneNumber"]?.string, hash.utf8.count == 64,
                hash.allSatisfy({ $0.isASCII && $0.isHexDigit }), call.profile.acceptsHashedNumbers
            else { throw .invalidArgument("The hashedPhoneNumber is missing, malformed, or not supported.") }
            let number = try number(of: call)
            return Self.verified(hash.lowercased() == Digest.sha256(Array(number.utf8)).hexadecimal)
        }
    }

    private static func verified(_ isVerified: Bool) -> Response {
        .json(["devicePhoneNumberVerified": .bool(isVerified)])
    }

    /// The number of the call's subscriber. It uses up the access token.
    private func number(of call: OperatorCall) throws(OAuthError) -> String {
        let isFirst = simulator.withState { state in
            let isFirst = state.accessTokens[call.token]?.isSpent == false
            state.accessTokens.update(call.token) { $0.isSpent = true }
            return isFirst
        }
        guard isFirst, !call.site.has(.operatorTokenUsed) else { throw .invalidToken }
        guard call.grant.isAuthenticated, let subscriber = call.grant.user,
            !call.site.has(.operatorNotNetworkAuthenticated)
        else {
            throw OAuthError(
                "NUMBER_VERIFICATION.USER_NOT_AUTHENTICATED_BY_MOBILE_NETWORK",
                "The client must authenticate via the mobile network to use this service.", status: .forbidden)
        }
        return call.site.has(.operatorWrongNumber) ? "+12025550100" : subscriber.phoneNumber
    }
}
