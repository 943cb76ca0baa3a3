import Primitives
import Testing

@testable import OpenIDConnect

@Suite("Parameters that neither a configuration nor an app gives")
struct OwnParameterTests {
    @Test("They are all that a request can have, by the names of every dialect")
    func complete() throws {
        var demand = AuthenticationDemand(scopes: ["openid"])
        (demand.acrValues, demand.prompt, demand.maximumAge) = (["a1"], [.login], 60)
        (demand.context, demand.loginHint) = ("Pay", "user")
        demand.since = Timestamp(secondsSinceEpoch: 0)
        var request = AuthorizationRequest(
            clientID: try #require(ClientID("client-1")), redirectURI: "https://login.example/cb", demand: demand,
            state: Secret("state-1"), nonce: Secret("nonce-1"), codeChallenge: "challenge-1",
            correlationID: CorrelationID("correlation-1"))
        (request.loginHintToken, request.responseMode, request.dpopKey) = ("token-1", .jwt, DPoPKey())
        // A new member must have a value here, too.
        for value in [Mirror(reflecting: request), Mirror(reflecting: demand)].flatMap(\.children) {
            #expect("\(value.value)" != "nil", "\(value.label ?? "")")
        }
        let own = AuthorizationRequest.ownParameters
        #expect(own.isDisjoint(with: AuthorizationRequest.demandParameters))
        for dialect in OAuthDialect.allCases {
            let names = Set(dialect.spelled(request.items).map(\.name) + dialect.names.values)
            let missing = names.subtracting(own).subtracting(AuthorizationRequest.demandParameters)
            #expect(missing.isEmpty, "\(dialect): \(missing)")
        }
        let claims = ["iss", "sub", "aud", "exp", "nbf", "iat", "jti"]
        #expect(own.isSuperset(of: claims + ["request", "request_uri", "client_secret", "client_assertion"]))
    }
}
