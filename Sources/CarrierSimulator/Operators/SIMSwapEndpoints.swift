import HTTPServer
import HTTPTypes
import Primitives

/// CAMARA's API SIM Swap, in the version of the profile: what is used of it is the same in all.
struct SIMSwapEndpoints: Sendable {
    let simulator: CarrierSimulator

    /// `POST {apiRoot}/sim-swap/{version}/check` with `maxAge` in hours, and `phoneNumber` where the token has no user.
    func check(_ request: Request) async throws -> Response {
        try await simulator.serveAPI(
            .simSwapCheck, request, faults: "operator-sim-swap-",
            scopes: [OperatorScopes.simSwapCheck, OperatorScopes.simSwap]
        ) { (call) throws(OAuthError) in
            let object = try call.object()
            let hours = try maximumAge(object, call)
            let change = try lastChange(object, call)
            let limit = simulator.clock.now().advanced(bySeconds: -hours * 3600)
            return .json(["swapped": .bool(change >= limit)])
        }
    }

    /// `POST {apiRoot}/sim-swap/{version}/retrieve-date`.
    func retrieveDate(_ request: Request) async throws -> Response {
        try await simulator.serveAPI(
            .simSwapDate, request, faults: "operator-sim-swap-",
            scopes: [OperatorScopes.simSwapDate, OperatorScopes.simSwap]
        ) { (call) throws(OAuthError) in
            let change = try lastChange(try call.object(), call)
            if let days = call.profile.monitoredDays,
                change < simulator.clock.now().advanced(bySeconds: -days * 86_400)
            {
                return .json(["latestSimChange": .null, "monitoredPeriod": .integer(days)])
            }
            return .json(["latestSimChange": .string(UTCTime.text(change))])
        }
    }

    /// 1 to 2400, and not more than the operator monitors; 240 if the call has none.
    private func maximumAge(_ object: JSONObject, _ call: OperatorCall) throws(OAuthError) -> Int64 {
        let limit = min(2400, (call.profile.monitoredDays ?? 100) * 24)
        guard let value = object["maxAge"] else { return min(240, limit) }
        guard let hours = value.integer, hours >= 1
        else { throw .invalidArgument("The maxAge is not a number of hours of 1 or more.") }
        guard hours <= limit
        else { throw OAuthError("OUT_OF_RANGE", "The maxAge is more than the operator monitors.") }
        return hours
    }

    /// When the SIM of the call's number last changed.
    private func lastChange(_ object: JSONObject, _ call: OperatorCall) throws(OAuthError) -> Timestamp {
        let named = try object.phoneNumber()
        let user: CarrierSimulator.User
        switch (call.grant.user, named) {
        case (_?, _?):
            throw OAuthError(
                "UNNECESSARY_IDENTIFIER", "The phone number is already identified by the access token.",
                status: .unprocessableContent)
        case (nil, nil): throw .missingIdentifier
        case (let subscriber?, nil): user = subscriber
        case (nil, let number?):
            guard let subscriber = call.site.subscriber(ofNumber: number) else { throw .notFound }
            user = subscriber
        }
        if call.site.has(.operatorSIMSwapUnknown) {
            throw OAuthError(
                "SERVICE_NOT_APPLICABLE", "The service is not available for the phone number.",
                status: .unprocessableContent)
        }
        if call.site.has(.operatorSIMSwapped) { return simulator.clock.now().advanced(bySeconds: -3600) }
        return call.profile.simChanges[user.id] ?? CarrierSimulator.OperatorProfile.activation
    }
}
