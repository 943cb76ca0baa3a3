import HTTPServer
import Primitives

/// GSMA's Telco Finder: which operator serves a number (GSMA Open Gateway, "Routing / Telco Finder"). Each simulated
/// operator has one, which knows the numbers of all of them.
struct TelcoFinderEndpoint: Sendable {
    let simulator: CarrierSimulator

    /// `POST {apiRoot}/telco-finder/v1/search` with `target.phoneNumber` or `target.ipv4Address`, and optionally
    /// `includeApiRoot`, `includeAuthProviderConfiguration` and `portabilitySearchMode`.
    func search(_ request: Request) async throws -> Response {
        try await simulator.serveAPI(
            .telcoFinder, request, faults: "operator-finder-", scopes: [OperatorScopes.telcoFinder]
        ) { (call) throws(OAuthError) in
            guard call.grant.user == nil else { throw .permissionDenied }
            let object = try call.object()
            guard let target = object["target"]?.object else { throw .missingIdentifier }
            let isSought = try subscriber(target)
            if let mode = object["portabilitySearchMode"] {
                guard ["SHALLOW", "DEEP"].contains(mode.string)
                else { throw .invalidArgument("The portabilitySearchMode is neither SHALLOW nor DEEP.") }
            }
            let isKnown = { (carrier: CarrierSimulator.Carrier) in
                isSought(carrier) != call.site.has(.operatorFinderNeighbour)
            }
            guard !call.site.has(.operatorFinderUnknown), let found = simulator.operators.first(where: isKnown),
                let site = simulator.withState({ $0.site(found.mccmnc) })
            else { throw .notFound }
            return .json(try members(of: site, found, object, call.site), cacheControl: call.profile.finderCacheControl)
        }
    }

    /// Whether an operator has the subscriber of a target.
    private func subscriber(
        _ target: JSONObject
    ) throws(OAuthError) -> (CarrierSimulator.Carrier) -> Bool {
        if let number = try target.phoneNumber() { return { $0.users.contains { $0.phoneNumber == number } } }
        guard let place = target["ipv4Address"]?.object else { throw .missingIdentifier }
        guard let address = place["publicAddress"]?.string, IPAddress(address)?.isIPv4 ?? false
        else { throw .invalidArgument("The publicAddress is not an IPv4 address.") }
        var known: Set = [address]
        if let value = place["publicPort"] {
            guard let port = value.integer, (1...65_535).contains(port)
            else { throw .invalidArgument("The publicPort is not a port.") }
            known.insert("\(address):\(port)")
        }
        return { !($0.operatorProfile?.publicAddresses.isDisjoint(with: known) ?? true) }
    }

    private func members(
        of site: CarrierSite, _ found: CarrierSimulator.Carrier, _ object: JSONObject, _ finder: CarrierSite
    ) throws(OAuthError) -> JSONMembers {
        var members: JSONMembers = ["operatorId": .string(found.operatorProfile?.finderID ?? found.mccmnc)]
        if try isIncluded("includeApiRoot", object) {
            let root = finder.has(.operatorFinderOtherRoot) ? finder.canary("api") : site.apiRoot
            members["apiRoot"] = .string(root)
        }
        if try isIncluded("includeAuthProviderConfiguration", object) {
            let base = finder.has(.operatorFinderOtherIssuer) ? finder.canary("issuer") : site.issuer
            members["authProviderConfiguration"] = .string(base + "/.well-known/openid-configuration")
        }
        return members
    }

    private func isIncluded(_ name: String, _ object: JSONObject) throws(OAuthError) -> Bool {
        guard let value = object[name] else { return false }
        guard let flag = value.bool else { throw .invalidArgument("The \(name) is neither true nor false.") }
        return flag
    }
}
