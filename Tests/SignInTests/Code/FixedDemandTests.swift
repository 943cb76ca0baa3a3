import OpenIDConnect
import SignIn
import Testing

@Suite struct FixedDemandTests {
    @Test("Parameters that demand nothing of the user's authentication are no demand")
    func nothing() {
        #expect(AuthenticationDemand(fixed: [:]) == nil)
        #expect(AuthenticationDemand(fixed: ["access_type": "offline", "prompt": "create"]) == nil)
    }

    @Test(
        "An app narrows the levels and shortens the age, and cannot leave login out",
        arguments: [
            ([:], "acr_values=a1 a2;max_age=60", ["a1", "a2"], 60, []),
            (["acr": "a2 a3"], "acr_values=a1 a2", ["a2"], nil, []),
            (["acr": "a3"], "acr_values=a1 a2", ["a1", "a2"], nil, []),
            (["acr": "a3"], "max_age=0", ["a3"], 0, []),
            (["age": "30"], "max_age=60", [], 30, []), (["age": "61"], "max_age=60", [], 60, []),
            ([:], "prompt=consent", [], nil, [.consent]),
            (["prompt": "consent"], "prompt=select_account", [], nil, [.consent]),
            (["prompt": "consent"], "prompt=login", [], nil, [.login]),
        ] as [([String: String], String, [String], Int64?, [Prompt])])
    func completes(
        _ asked: [String: String], _ fixed: String, _ levels: [String], _ age: Int64?, _ prompt: [Prompt]
    ) throws {
        var demand = AuthenticationDemand()
        demand.acrValues = asked["acr"]?.split(separator: " ").map(String.init) ?? []
        demand.maximumAge = asked["age"].flatMap { Int64($0) }
        demand.prompt = asked["prompt"].flatMap(Prompt.init).map { [$0] } ?? []
        let pairs = fixed.split(separator: ";").map { $0.split(separator: "=").map(String.init) }
        let parameters = Dictionary(uniqueKeysWithValues: pairs.map { ($0[0], $0[1]) })
        demand.complete(with: try #require(AuthenticationDemand(fixed: parameters)))
        #expect(demand.acrValues == levels && demand.maximumAge == age && demand.prompt == prompt, "\(demand)")
    }
}
