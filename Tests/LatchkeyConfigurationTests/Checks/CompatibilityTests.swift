import LatchkeyAPI
import LatchkeyConfiguration
import Testing
import Zephr

@testable import Backchannel

@Suite("Compatibility with the published example API")
struct CompatibilityTests {
    @Test("A backchannel authentication's result is 200, or 302 if the file or the environment configures it")
    func async302() throws {
        #expect(try !load().configuration[BackchannelSettings.self].async302)
        #expect(try load("compat: {async302: true}").configuration[BackchannelSettings.self].async302)
        let environment = needed.with("LATCHKEY_COMPAT_ASYNC302", "true")
        #expect(try load(environment: environment).configuration[BackchannelSettings.self].async302)
        #expect(problems("compat: {async302: maybe}").count == 1)
    }

    @Test("Responses are for the published Android example only if configured")
    func android() throws {
        #expect(try !load().configuration.compatibility.android)
        #expect(try load("compat: {android: true}").configuration.compatibility.android)
        let environment = needed.with("LATCHKEY_COMPAT_ANDROID", "true")
        #expect(try load(environment: environment).configuration.compatibility.android)
    }

    @Test("Zephr's paths exist only if configured")
    func zephr() throws {
        #expect(try !load().configuration[ZephrSettings.self].isEnabled)
        #expect(try load("compat: {zephr: true}").configuration[ZephrSettings.self].isEnabled)
    }
}
