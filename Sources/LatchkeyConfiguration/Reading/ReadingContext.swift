internal import Primitives

package struct ReadingContext: Sendable {
    let files: FileReader
    /// The keys of the program.
    let settings: Settings
    /// Which URLs providers may have; decided by `allow_loopback_http`, which is read first.
    var policy = EndpointURL.Policy.httpsOnly
    /// `public_url`, which is read before the providers.
    var publicURL: EndpointURL?
    /// The key whose value is being read, for the problems.
    var key = ""
    package var problems = ProblemList()
    var warnings = ProblemList()
    /// The settings that presets give, by their keys: with the preset, and the place of the provider's section.
    var ofPresets: [String: (preset: String, section: ConfigurationOrigin)] = [:]
    /// `zenkey.clients` so far: the environment may add secrets to the file's clients.
    var clients: [ClientDraft] = []

    package mutating func refuse(
        if isBroken: Bool = true, _ origin: ConfigurationOrigin, _ reason: String, _ remedy: String
    ) {
        if isBroken { problems.add(key, origin, reason, remedy) }
    }

    mutating func warn(_ origin: ConfigurationOrigin, _ reason: String, _ remedy: String) {
        warnings.add(key, origin, reason, remedy)
    }

    mutating func warnOfReplaced(_ name: String, by successor: String, _ origin: ConfigurationOrigin) {
        let (given, kind, present) =
            switch origin {
            case .file, .none: (name, "a key", successor)
            case .environment(let name): (name, "a variable", ConfigurationReference.environmentName(of: successor))
            case .commandLine(let name):
                (
                    name, "an option",
                    ConfigurationReference.optionName(of: successor) + ConfigurationReference.optionFileSuffix
                )
            }
        warnings.add(given, origin, "is the former name of \(kind)", "move its keys to \(present)")
    }

    /// Reads a key beneath the current one: `suffix` is `.name` or `[0]`.
    package mutating func beneath<Result>(_ suffix: String, _ body: (inout ReadingContext) -> Result) -> Result {
        let outer = key
        key = outer.isEmpty && suffix.hasPrefix(".") ? String(suffix.dropFirst()) : outer + suffix
        defer { key = outer }
        return body(&self)
    }

    /// The contents of a secret's file, without one line break at its end; nil after reporting that it cannot be read.
    mutating func secretFile(_ node: ConfigurationNode) -> ConfigurationNode? {
        guard case .text(let path) = node.value, !path.isEmpty, path.utf8.count <= 4096, !path.utf8.contains(0) else {
            refuse(node.origin, "is not the path of a file", "give the path of a file that holds the secret")
            return nil
        }
        let remedy = "give the path of a readable file of at most \(Self.maximumSecretBytes / 1024) KiB"
        let contents: FileReader.Contents
        do throws(FileReader.ReadError) {
            contents = try files.contents(of: path, limit: Self.maximumSecretBytes)
        } catch {
            refuse(node.origin, "the file \(Printable.line(path)) \(error.reason)", remedy)
            return nil
        }
        var bytes = contents.bytes[...]
        if bytes.last == UInt8(ascii: "\n") { bytes = bytes.dropLast() }
        if bytes.last == UInt8(ascii: "\r") { bytes = bytes.dropLast() }
        let text: String
        do throws(InvalidValueError) {
            text = try FileReader.text(of: bytes)
            try require(!text.isEmpty, else: "is empty", "write the secret into it")
        } catch {
            refuse(node.origin, "the file \(Printable.line(path)) \(error.reason)", error.remedy ?? remedy)
            return nil
        }
        if contents.isReadableByAll {
            warn(
                node.origin, "every user of this machine can read the file \(Printable.line(path))",
                "remove the permission (chmod o-r)")
        }
        return ConfigurationNode(value: .text(text), origin: node.origin, secretFile: path)
    }

    private static let maximumSecretBytes = 64 * 1024
}
