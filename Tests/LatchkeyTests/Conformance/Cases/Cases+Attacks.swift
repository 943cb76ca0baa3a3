import CarrierSimulator
import Primitives
import TestSupport
import Testing

extension ConformanceCases {
    static let attacks: [ConformanceCase] =
        callbackAttacks + [
            .rejected("sec-23 replay:id-token", "nonce", .steps(reuse(.token)), .posts(2)),
            .rejected("sec-23 replay:code", "", .steps(signInWithUsedCode), .posts(2)),
            .rejected("sec-25 spoof-iss:neighbour", "issuer", .fault(.idTokenNeighbourIssuer)),
            .rejected("sec-25 spoof-iss:empty", "issuer", .claim("iss", "")),
            .rejected("sec-25 spoof-iss:slash", "issuer", .claim("iss", plus: "/")),
            .rejected(
                "sec-25 spoof-iss:array", "issuer", .draft { $0.claims["iss"] = .array([$0.claims["iss"] ?? .null]) }),
            .configuration("sec-25 spoof-iss:metadata-of-another", .steps(signInWithIssuerOfAnother)),
            .ok("sec-25 spoof-sub", .steps(signInWithSubjectOfAnother)),
            .rejected("sec-26 mix-up:mccmnc-of-another", "", .steps(signInAtAnother), .posts(0)),
            .rejected("sec-44 code-injection", "", .steps(signInWithStolenCode)),
        ]

    /// A value from an earlier token.
    enum Reused: Sendable { case token, signature }

    static func reuse(_ what: Reused) -> ConformanceCase.Steps {
        { run in
            let earlier = SharedText()
            run.harness.simulator.update(run.mccmnc) { carrier in
                carrier.tampering.compactForms.append { token in
                    guard let old = earlier.value else { return earlier.value = token }
                    let own = token.split(separator: ".")
                    token = what == .token ? old : "\(own[0]).\(own[1]).\(old.split(separator: ".")[2])"
                }
            }
            #expect(try await run.signIn().status == 200)
            return [try await run.signIn()]
        }
    }

    static let signInAsTheSame: ConformanceCase.Steps = { run in
        run.behave()
        let before = try await run.signIn()
        run.misbehave()
        let answer = try await run.signIn()
        let user = try await run.harness.app.me(before.token ?? "").json["user_id"]?.integer
        #expect(user != nil)
        #expect(try await run.harness.app.me(answer.token ?? "").json["user_id"]?.integer == user)
        return [before, answer]
    }

    private static let signInWithUsedCode: ConformanceCase.Steps = { run in
        var fields = try run.fields()
        #expect(try await run.post(fields).status == 200)
        fields["state"] = "another request with the same code"
        return [try await run.post(fields)]
    }

    private static let signInWithStolenCode: ConformanceCase.Steps = { run in
        let victim = try run.fields()
        var attacker = try run.fields()
        attacker["code"] = victim["code"]
        return [try await run.post(attacker)]
    }

    /// A code of the case's carrier with another carrier's mccmnc: it is posted to the named carrier, where it is
    /// invalid.
    private static let signInAtAnother: ConformanceCase.Steps = { run in
        let other = ConformanceRun(run.row, on: run.harness)
        var fields = try run.fields()
        fields["mccmnc"] = other.mccmnc
        let answer = try await run.post(fields)
        #expect(run.harness.proxy.count(.token, other.mccmnc) == 1)
        return [answer]
    }

    /// A carrier that uses another carrier's subject gets a separate user.
    private static let signInWithSubjectOfAnother: ConformanceCase.Steps = { run in
        let subject = SharedText()
        let victim = ConformanceRun(run.row, on: run.harness)
        run.harness.simulator.update(victim.mccmnc) { carrier in
            carrier.tampering.idTokens.append { subject.value = $0.claims["sub"]?.string }
        }
        let owner = try await victim.signIn()
        run.harness.simulator.update(run.mccmnc) { carrier in
            carrier.tampering.idTokens.append { $0.claims["sub"] = subject.value.map(JSONValue.string) }
            carrier.tampering.objects[.userInfo, default: []].append { $0["sub"] = subject.value.map(JSONValue.string) }
        }
        let answer = try await run.signIn()
        let user = try await run.harness.app.me(answer.token ?? "").json["user_id"]?.integer
        #expect(user != nil)
        #expect(try await run.harness.app.me(owner.token ?? "").json["user_id"]?.integer != user)
        return [answer]
    }

    /// A carrier whose metadata has another carrier's issuer and its own keys.
    private static let signInWithIssuerOfAnother: ConformanceCase.Steps = { run in
        let victim = ConformanceRun(run.row.twin, on: run.harness)
        #expect(try await victim.signIn().status == 200)
        let issuer = "\(run.harness.proxy.url)/carriers/\(victim.mccmnc)"
        run.harness.simulator.update(run.mccmnc) { carrier in
            carrier.tampering.objects[.discovery, default: []].append { $0["issuer"] = .string(issuer) }
            carrier.tampering.idTokens.append { $0.claims["iss"] = .string(issuer) }
        }
        return [try await run.signIn()]
    }

    /// Eight apps with ten sign-ins each; another carrier's users can sign in meanwhile.
    static let flood: ConformanceCase.Steps = { run in
        let bystander = ConformanceRun(run.row.twin, on: run.harness)
        return try await withThrowingTaskGroup(of: [App.Answer].self) { group in
            for _ in 0..<8 {
                group.addTask {
                    var answers: [App.Answer] = []
                    for _ in 0..<10 { answers.append(try await run.signIn()) }
                    return answers
                }
            }
            #expect(try await bystander.signIn().status == 200)
            return try await group.reduce(into: []) { $0 += $1 }
        }
    }

    /// A hundred sign-ins wait for a carrier at its own address that never responds; another carrier's user signs
    /// in at once.
    static let hangManyAtOnce: ConformanceCase.Steps = { run in
        let peer = try RawHTTPPeer(recordsRequests: false) { connection in
            guard connection.readRequest() != nil else { return }
            run.harness.proxy.note(.token, run.mccmnc)
            _ = connection.waitForClose(milliseconds: 10_000)
        }
        defer { peer.stop() }
        let url = peer.url("/token")
        run.harness.simulator.update(run.mccmnc) { carrier in
            carrier.tampering.objects[.discovery, default: []].append { $0["token_endpoint"] = .string(url) }
        }
        let bystander = ConformanceRun(run.row.twin, on: run.harness)
        let ended = CallCounter()
        return try await withThrowingTaskGroup(of: App.Answer.self) { group in
            for _ in 0..<100 {
                group.addTask {
                    let answer = try await run.signIn()
                    _ = ended.increment()
                    return answer
                }
            }
            #expect(try await bystander.signIn().status == 200)
            // On a slow machine the first ones may have reached their deadline.
            #expect(ended.increment() <= 50, "the bystander waited for a carrier of others")
            return try await group.reduce(into: []) { $0.append($1) }
        }
    }
}
