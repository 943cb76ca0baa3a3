import ArgumentParser
import CommandLineSupport
import Glibc
import LatchkeyConfiguration
import LatchkeyService
import Primitives

struct InitCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "init",
        abstract: "Writes a configuration for one provider, after two or three questions.",
        discussion: """
            Asks for the provider and for the address of this server, unless the options name them, and prints what to \
            do next. The file is readable by its owner only. An existing file is never replaced.

            Exit status: 0 if the file was written, 1 if it cannot be, also because it exists, 64 for wrong options or \
            no answer, 78 if `latchkey check-config` would find a problem in it.
            """)

    @Option(
        help: "A name of `latchkey providers`; otherwise the command asks.",
        completion: .list(PresetsFeature.all.map(\.name)))
    var provider: String?

    @Option(help: ArgumentHelp("The address of this server as browsers know it; otherwise asked.", valueName: "url"))
    var publicURL: String?

    @Option(
        name: .customLong("set"),
        help: ArgumentHelp(
            """
            A key of the provider and its value, such as client_id=abc; not a secret, whose file is named: \
            client_secret_file=path.
            """, valueName: "key=value"))
    var values: [String] = []

    @Option(help: "The file to write.", completion: .file(extensions: ["yaml", "yml"]))
    var file = ConfigurationLoader.defaultFile

    func run() throws {
        let given = try values.map(Self.pair)
        guard access(file, F_OK) != 0 else { throw failed("there is a file \(file); name another one with --file") }
        let preset = try ProviderPreset.named(
            provider ?? Self.ask("Which provider (`latchkey providers` lists them)?", orElse: "--provider")
        )
        let url = try (publicURL ?? Self.ask("The public address of this server?", "http://127.0.0.1:8080"))
            .withoutLastSlash
        var keys = given
        let key = "private_key_file"
        if preset.needs.contains(where: { $0.name == key }), !given.contains(where: { $0.name == key }) {
            keys.append((key, try Self.ask("The file of the private key?", orElse: "--set \(key)=…")))
        }
        let isLocal = keys.contains { EndpointURL($0.value, policy: .allowLoopbackHTTP)?.scheme == .http }
        let missing = preset.needed.map(\.name).filter { name in
            !keys.contains { ProviderPreset.isOneKey($0.name, name) }
        }
        let lines =
            [
                "# Made by latchkey init. `latchkey check-config --keys` lists all keys.",
                "public_url: \(JSONValue.string(url).text)",
            ] + (isLocal ? ["allow_loopback_http: true    # for development: the provider has no https"] : [])
            + preset.section(with: keys)
        let text = lines.joined(separator: "\n") + "\n"
        try check(text)
        try write(text)
        for line in [
            "\(file) is written. Next:", "1. \(preset.title): \(preset.console)",
        ] + preset.instructions(at: url).dropFirst().map({ "   " + $0 }) + [
            missing.isEmpty
                ? "2. Look at \(file)." : "2. Give your own \(missing.joined(separator: ", ")) in \(file).",
            "3. latchkey check-config\(option), then latchkey serve\(option)",
            "4. Open \(url)/sign-in",
        ] { print(line) }
    }

    private var option: String { file == ConfigurationLoader.defaultFile ? "" : " --config \(file)" }

    private static func pair(_ text: String) throws -> (name: String, value: String) {
        let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
        guard parts.count == 2 else { throw failed("--set takes key=value, such as client_id=abc", 64) }
        guard !ProviderPreset.secretKeys(of: FeatureList.ofProgram.settings).contains(parts[0]) else {
            throw failed("\(parts[0]) would show a secret in the list of processes; set \(parts[0])_file", 64)
        }
        return (parts[0], parts[1])
    }

    /// - Parameter usual: The answer if the line is empty.
    /// - Throws: What ends the process with 64, if there is no answer.
    private static func ask(_ question: String, _ usual: String? = nil, orElse option: String = "") throws -> String {
        Console.warnPart("\(question) \(usual.map { "[\($0)] " } ?? "")")
        let answer = (readLine() ?? "").withoutOuterWhitespace
        if let answer = answer.isEmpty ? usual : answer { return answer }
        throw failed("there is no answer; give it as an option: \(option)", 64)
    }

    /// Reads the text as the server would read the file, with nothing else.
    private func check(_ text: String) throws {
        let files = FileReader { [file] (path, limit) throws(FileReader.ReadError) in
            path == file
                ? FileReader.Contents(bytes: Array(text.utf8)) : try FileReader.system.contents(of: path, limit: limit)
        }
        do throws(ConfigurationErrors) {
            _ = try ConfigurationLoader(FeatureList.ofProgram.settings, files: files).load(file: file, environment: [:])
        } catch {
            let failure = failed("nothing was written, because the configuration would have problems:", 78)
            Console.warn(error.description)
            throw failure
        }
    }

    /// Makes the file, and the folder of the default file.
    private func write(_ text: String) throws {
        if let slash = file.lastIndex(of: "/"), slash != file.startIndex { mkdir(String(file[..<slash]), 0o755) }
        let descriptor = open(file, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw failed("\(file) cannot be made: \(String(cString: strerror(errno)))")
        }
        defer { close(descriptor) }
        let bytes = Array(text.utf8)
        let count = Glibc.write(descriptor, bytes, bytes.count)
        guard count == bytes.count else {
            let reason = count < 0 ? String(cString: strerror(errno)) : "only a part of it fits"
            unlink(file)
            throw failed("\(file) cannot be written: \(reason)")
        }
    }
}
