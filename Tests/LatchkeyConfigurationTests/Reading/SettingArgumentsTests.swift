import LatchkeyConfiguration
import Primitives
import Testing

@Suite("Settings as arguments") struct SettingArgumentsTests {
    @Test(
        "An option overrides the variable and the file",
        arguments: [["--http-port", "9000"], ["--http-port=9000"], ["--log-level", "warn", "--http-port", "9000"]])
    func overrides(_ arguments: [String]) throws {
        let loader = ConfigurationLoader(settings, files: files(["test.yaml": "http: {port: 7000}"]))
        let loaded = try loader.load(
            file: "test.yaml", environment: needed.with("LATCHKEY_HTTP_PORT", "8000"),
            arguments: SettingArguments(arguments, of: settings))
        #expect(loaded.configuration.http.port == 9000)
        #expect(loaded.origins["http.port"] == .commandLine("--http-port"))
    }

    @Test("A secret is given by its file")
    func secretFile() throws {
        let loader = ConfigurationLoader(settings, files: files(["test.yaml": "", "keys": "a-key-of-the-app-0123\n"]))
        let loaded = try loader.load(
            file: "test.yaml", environment: needed.with("LATCHKEY_API_KEYS", nil),
            arguments: SettingArguments(["--api-keys-file", "keys"], of: settings))
        #expect(loaded.configuration.apiKeys == [.plain(Secret("a-key-of-the-app-0123"))])
    }

    @Test("A bad value of an option is reported with its name")
    func badValue() throws {
        let loader = ConfigurationLoader(settings, files: files(["test.yaml": ""]))
        let error = try #require(throws: ConfigurationErrors.self) {
            try loader.load(
                file: "test.yaml", environment: needed.with("LATCHKEY_API_KEYS", nil),
                arguments: SettingArguments(["--http-port=70000", "--api-keys-file=missing"], of: settings))
        }
        #expect(error.problems.count == 2, "\(error)")
        #expect(error.description.contains("http.port: 70000 is out of range"))
        #expect(error.description.contains("[--http-port]"))
        #expect(error.description.contains("api_keys: the file missing does not exist"))
    }

    @Test(
        "Arguments that are no settings are refused",
        arguments: [
            (["--http-prt", "1"], "Unknown option '--http-prt'; did you mean --http-port?"),
            (["--no-such-option"], "'--no-such-option'; latchkey check-config --keys lists"),
            (["--HIDDEN secret"], "an argument is no option"),
            (["HIDDEN"], "an argument is no option"),
            ([""], "an argument is no option"),
            (["--http-port"], "--http-port has no value; give a whole number"),
            (["--http-port="], "--http-port has no value"),
            (["--api-keys-file"], "--api-keys-file has no value; give the path of a file"),
            (["--http-port", "1", "--http-port", "2"], "--http-port is given more than once"),
            (["--api-keys", "HIDDEN"], "would show a secret in the list of processes; give --api-keys-file"),
            (["--zenkey-clients=HIDDEN:HIDDEN"], "give --zenkey-clients-file, or the variable LATCHKEY_ZENKEY_CLIENTS"),
        ])
    func refused(_ arguments: [String], _ reason: String) throws {
        let refusal = try #require(throws: SettingArguments.ArgumentError.self) {
            try SettingArguments(arguments, of: settings)
        }
        #expect(refusal.description.contains(reason), "\(refusal)")
        #expect(!refusal.description.contains("HIDDEN"))
    }
}
