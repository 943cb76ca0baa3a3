import CarrierSimulator
import Primitives
import Testing

/// The relying-party cases of the certification suites and of the security literature, through the HTTP API.
@Suite(.serialized, .onOneServer) struct ConformanceTests {
    @Test("A. The older certification suite", arguments: ConformanceCases.olderSuite)
    func olderSuite(row: ConformanceCase) async throws { try await perform(row) }

    @Test("B. The newer certification suite", arguments: ConformanceCases.newerSuite)
    func newerSuite(row: ConformanceCase) async throws { try await perform(row) }

    @Test("C. The FAPI 2.0 security profile", arguments: ConformanceCases.fapi)
    func fapi(row: ConformanceCase) async throws { try await perform(row) }

    @Test("D. Cases that no suite covers", arguments: ConformanceCases.gaps)
    func gaps(row: ConformanceCase) async throws { try await perform(row) }

    @Test("F. Carrier faults beyond the sections above", arguments: ConformanceCases.faults)
    func faults(row: ConformanceCase) async throws { try await perform(row) }

    @Test("E. The security literature", arguments: ConformanceCases.literature)
    func literature(row: ConformanceCase) async throws { try await perform(row) }

    private func perform(_ row: ConformanceCase) async throws {
        try await ConformanceRun.perform(row, on: try #require(ConformanceHarness.current))
    }
}

/// The list of cases itself.
@Suite struct ConformanceListTests {
    @Test("The committed table lists every case with its expected verdict (make conformance-table writes it)")
    func table() throws {
        guard !ConformanceTable.isToBeWritten else { return }
        #expect(try ConformanceTable.committed() == ConformanceTable.expected)
    }

    @Test("Case names are unique")
    func names() {
        let names = ConformanceCases.all.map(\.id) + ConformanceCases.sections.flatMap { $0.others.map(\.id) }
        #expect(Set(names).count == names.count)
    }

    @Test("Every fault of the simulator that affects a sign-in has a case")
    func faults() {
        let used = ConformanceCases.all.reduce(into: Set<CarrierSimulator.Fault>()) { $0.formUnion($1.faults) }
        // Only OpenID providers send such notifications: BackchannelPingTests.
        let ofProviders: Set<CarrierSimulator.Fault> = [
            .notificationMissingToken, .notificationLost, .notificationWithTokens,
        ]
        let missing = CarrierSimulator.Fault.allCases.filter { fault in
            // Those of signed requests and responses, of assertions and of backchannel authentication need settings of
            // a provider: SignedAuthorizationTests, CertificationTests, BackchannelPollTests. Operators with CAMARA's
            // APIs have scenarios of their own.
            !used.union(ofProviders).contains(fault)
                && !["refresh-", "resource-", "request-object-", "jarm-", "client-assertion-", "ciba-", "operator-"]
                    .contains(where: fault.name.hasPrefix)
        }
        #expect(missing.isEmpty)
    }
}
