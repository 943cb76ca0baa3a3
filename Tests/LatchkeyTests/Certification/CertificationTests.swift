import Testing

/// The modules of the OpenID Foundation's relying-party plans.
@Suite(.serialized, .onOneCertificationServer) struct CertificationTests {
    @Test("Basic", arguments: CertificationPlan.basic.modules)
    func basic(_ module: CertificationModule) async throws { try await perform(module, .basic) }

    @Test("Form post", arguments: CertificationPlan.formPost.modules)
    func formPost(_ module: CertificationModule) async throws { try await perform(module, .formPost) }

    @Test("Configuration", arguments: CertificationPlan.configuration.modules)
    func configuration(_ module: CertificationModule) async throws { try await perform(module, .configuration) }

    @Test("Dynamic", arguments: CertificationPlan.dynamic.modules)
    func dynamic(_ module: CertificationModule) async throws { try await perform(module, .dynamic) }

    @Test("Third-party initiated login", arguments: CertificationPlan.loginInitiation.modules)
    func loginInitiation(_ module: CertificationModule) async throws { try await perform(module, .loginInitiation) }

    @Test("Refresh token", arguments: CertificationPlan.refreshToken.modules)
    func refreshToken(_ module: CertificationModule) async throws { try await perform(module, .refreshToken) }

    @Test("RP-initiated logout", arguments: CertificationPlan.initiatedLogout.modules)
    func initiatedLogout(_ module: CertificationModule) async throws { try await perform(module, .initiatedLogout) }

    @Test("Back-channel logout", arguments: CertificationPlan.backChannelLogout.modules)
    func backChannelLogout(_ module: CertificationModule) async throws {
        try await perform(module, .backChannelLogout)
    }

    @Test("FAPI 2.0 security profile", arguments: CertificationPlan.securityProfile.modules)
    func securityProfile(_ module: CertificationModule) async throws { try await perform(module, .securityProfile) }

    @Test("FAPI 2.0 security profile with mutual TLS", arguments: CertificationPlan.securityProfileMutualTLS.modules)
    func securityProfileMutualTLS(_ module: CertificationModule) async throws {
        try await perform(module, .securityProfileMutualTLS)
    }

    @Test(
        "FAPI 2.0 security profile with bound tokens", arguments: CertificationPlan.securityProfileBoundKey.modules)
    func securityProfileBoundKey(_ module: CertificationModule) async throws {
        try await perform(module, .securityProfileBoundKey)
    }

    @Test(
        "FAPI 2.0 security profile with a certificate and DPoP",
        arguments: CertificationPlan.securityProfileCertificate.modules)
    func securityProfileCertificate(_ module: CertificationModule) async throws {
        try await perform(module, .securityProfileCertificate)
    }

    @Test("FAPI 2.0 message signing", arguments: CertificationPlan.messageSigning.modules)
    func messageSigning(_ module: CertificationModule) async throws { try await perform(module, .messageSigning) }

    @Test("FAPI 2.0 message signing with mutual TLS", arguments: CertificationPlan.messageSigningMutualTLS.modules)
    func messageSigningMutualTLS(_ module: CertificationModule) async throws {
        try await perform(module, .messageSigningMutualTLS)
    }

    @Test("FAPI 2.0 message signing with bound tokens", arguments: CertificationPlan.messageSigningBoundKey.modules)
    func messageSigningBoundKey(_ module: CertificationModule) async throws {
        try await perform(module, .messageSigningBoundKey)
    }

    @Test(
        "FAPI 2.0 message signing with a certificate and DPoP",
        arguments: CertificationPlan.messageSigningCertificate.modules)
    func messageSigningCertificate(_ module: CertificationModule) async throws {
        try await perform(module, .messageSigningCertificate)
    }

    @Test("Comprehensive", arguments: CertificationPlan.comprehensive.modules)
    func comprehensive(_ module: CertificationModule) async throws { try await perform(module, .comprehensive) }

    @Test("Comprehensive with a certificate", arguments: CertificationPlan.comprehensiveCertificate.modules)
    func comprehensiveCertificate(_ module: CertificationModule) async throws {
        try await perform(module, .comprehensiveCertificate)
    }

    @Test("Comprehensive with a self-signed certificate", arguments: CertificationPlan.comprehensiveSelfSigned.modules)
    func comprehensiveSelfSigned(_ module: CertificationModule) async throws {
        try await perform(module, .comprehensiveSelfSigned)
    }

    @Test("FAPI-CIBA, mode poll", arguments: CertificationPlan.backchannelPoll.modules)
    func backchannelPoll(_ module: CertificationModule) async throws { try await ask(module, .backchannelPoll) }

    @Test("FAPI-CIBA, mode poll with mutual TLS", arguments: CertificationPlan.backchannelPollMutualTLS.modules)
    func backchannelPollMutualTLS(_ module: CertificationModule) async throws {
        try await ask(module, .backchannelPollMutualTLS)
    }

    @Test("FAPI-CIBA, mode poll with bound tokens", arguments: CertificationPlan.backchannelPollBoundKey.modules)
    func backchannelPollBoundKey(_ module: CertificationModule) async throws {
        try await ask(module, .backchannelPollBoundKey)
    }

    @Test("FAPI-CIBA, mode ping", arguments: CertificationPlan.backchannelPing.modules)
    func backchannelPing(_ module: CertificationModule) async throws { try await ask(module, .backchannelPing) }

    @Test("FAPI-CIBA, mode ping with mutual TLS", arguments: CertificationPlan.backchannelPingMutualTLS.modules)
    func backchannelPingMutualTLS(_ module: CertificationModule) async throws {
        try await ask(module, .backchannelPingMutualTLS)
    }

    @Test("FAPI-CIBA, mode ping with bound tokens", arguments: CertificationPlan.backchannelPingBoundKey.modules)
    func backchannelPingBoundKey(_ module: CertificationModule) async throws {
        try await ask(module, .backchannelPingBoundKey)
    }

    private func ask(_ module: CertificationModule, _ plan: CertificationPlan) async throws {
        try await BackchannelCertificationRun.perform(module, of: plan, on: try #require(CertificationHarness.current))
    }

    private func perform(_ module: CertificationModule, _ plan: CertificationPlan) async throws {
        try await CertificationRun.perform(module, of: plan, on: try #require(CertificationHarness.current))
    }
}

/// The list of plans itself.
@Suite struct CertificationListTests {
    @Test("The committed page lists every module with its verdict (make certification-table writes it)")
    func page() throws {
        guard !CertificationTable.isToBeWritten else { return }
        #expect(try CertificationTable.committed() == CertificationTable.expected)
    }

    @Test("No plan names a module twice")
    func names() {
        for plan in CertificationPlan.all {
            let names = plan.modules.map(\.name) + plan.others.flatMap(\.names)
            #expect(Set(names).count == names.count, "\(plan.id)")
        }
    }
}
