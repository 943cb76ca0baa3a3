import HTTPServer
import HTTPTypes
import Primitives

/// CAMARA's API Telco Finder: which operator serves a number.
struct TelcoFinderEndpoint: Sendable {
    let simulator: CarrierSimulator

    /// `POST {apiRoot}/telco-finder/v1/search` with `target.phoneNumber` and `includeApiRoot`.
    func search(_ request: Request) async throws -> Response {
        try await OperatorAPI(simulator: simulator).serve(
            .telcoFinder, request, faults: "operator-finder-", scopes: [OperatorScopes.telcoFinder]
        ) { (call) throws(OperatorAPIError) in
            let object = try OperatorAPI.object(of: call.request)
            guard let target = object["target"]?.object, let number = try OperatorAPI.phoneNumber(in: target)
            else { throw .missingIdentifier }
            let isKnown = { (carrier: CarrierSimulator.Carrier) in
                carrier.users.contains { $0.phoneNumber == number } != call.site.has(.operatorFinderNeighbour)
            }
            guard !call.site.has(.operatorFinderUnknown), let found = simulator.operators.first(where: isKnown),
                let site = simulator.withState({ $0.site(found.mccmnc) })
            else { throw .notFound }
            var members: JSONMembers = ["operatorId": .string(found.mccmnc)]
            if object["includeApiRoot"]?.bool ?? false { members["apiRoot"] = .string(site.apiRoot) }
            members["authProviderConfiguration"] = .string(site.issuer + "/.well-known/openid-configuration")
            return .json(members, cacheControl: "max-age=300")
        }
    }
}
