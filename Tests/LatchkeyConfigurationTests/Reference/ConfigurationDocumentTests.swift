import Foundation
import LatchkeyConfiguration
import TestSupport
import Testing

@Suite("The reference in docs/configuration.md")
struct ConfigurationDocumentTests {
    /// Set to `write`, the test writes the document instead of comparing it.
    static let variable = "LATCHKEY_CONFIGURATION_REFERENCE"

    private static let path = Repository.path("docs/configuration.md")

    @Test("docs/configuration.md matches the program")
    func current() throws {
        let expected = ConfigurationDocument.text
        if ProcessInfo.processInfo.environment[Self.variable] == "write" {
            try Data(expected.utf8).write(to: URL(fileURLWithPath: Self.path))
            return
        }
        let committed = try String(contentsOfFile: Self.path, encoding: .utf8)
        let known = Set(committed.split(separator: "\n"))
        let news = expected.split(separator: "\n").filter { !known.contains($0) }
        #expect(news.isEmpty && committed == expected, "make configuration-reference writes docs/configuration.md")
    }

    @Test("Every key has one row, and all rows have the same number of cells")
    func rows() {
        let rows = ConfigurationDocument.text.split(separator: "\n").filter { $0.hasPrefix("| `") }
        #expect(rows.count == ConfigurationReference.keys(of: settings).count)
        for (row, key) in zip(rows, ConfigurationReference.keys(of: settings)) {
            #expect(row.hasPrefix("| `\(key.name)` |"))
            #expect(row.replacing("\\|", with: "").count { $0 == "|" } == 7, "\(row)")
        }
    }

    @Test("The committed document marks the secrets, and the keys that SIGHUP applies")
    func marks() throws {
        let committed = try String(contentsOfFile: Self.path, encoding: .utf8)
        let rows = committed.split(separator: "\n").filter { $0.hasPrefix("| `") }
        for key in ConfigurationReference.keys(of: settings) {
            let row = try #require(rows.first { $0.hasPrefix("| `\(key.name)` |") }, "\(key.name)")
            #expect(row.contains("; secret |") == key.isSecret, "\(row)")
            #expect(row.contains(" | yes | ") == (key.reload == .value), "\(row)")
            #expect(row.contains(" | the file's contents | ") == (key.reload == .contentsOfFile), "\(row)")
        }
    }
}

/// The text of `docs/configuration.md`.
enum ConfigurationDocument {
    static var text: String {
        var lines = [introduction]
        var section = ""
        for key in ConfigurationReference.keys(of: settings) {
            let own = String(key.name.prefix { $0 != "." && $0 != "[" })
            if own != section {
                if !section.isEmpty { lines.append("") }
                lines += [
                    "## \(own)", "", "| key | variable | value | default | SIGHUP | meaning |",
                    "|---|---|---|---|---|---|",
                ]
                section = own
            }
            lines.append(row(key))
        }
        lines += ["", "## Former names", "", formerNames, "", "| former name | name |", "|---|---|"]
        for key in ConfigurationReference.keys(of: settings) {
            for former in key.formerNames { lines.append("| \(former) | `\(key.name)` |") }
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private static let formerNames = """
        Keys and variables of earlier versions are accepted with a warning. Giving a key by both names is a problem,
        except for those of [`encryption_keys`](database.md#encryption-keys), each of which applies to its former use.
        """

    private static func row(_ key: ConfigurationKey) -> String {
        let variable = key.environmentName.map { "`\($0)`" + (key.isSecret ? ", `\($0)_FILE`" : "") } ?? "–"
        let reload =
            switch key.reload {
            case .nothing: "–"
            case .value: "yes"
            case .contentsOfFile: "the file's contents"
            }
        let cells = [
            "`\(key.name)`", variable, key.type + (key.isSecret ? "; secret" : ""),
            key.defaultValue.map { "`\($0)`" } ?? "–", reload, key.meaning,
        ]
        return "| " + cells.map { $0.replacing("|", with: "\\|") }.joined(separator: " | ") + " |"
    }

    private static let introduction = """
        # Configuration

        All keys, as listed by `latchkey check-config --keys`. Copy `Config/latchkey.example.yaml`, which has every
        key with its default. Environment variables override the file. For a secret, the key with the suffix `_file`
        and the variable with the suffix `_FILE` give the path of a file that holds it. A `–` in the column of
        variables: in the file only. A variable, or the file that one names, gives a list with commas, or in YAML or
        JSON: `LATCHKEY_ZENKEY_CLIENTS='[{"id": "…", "secret": "…", "redirect_uris": ["…"]}]'`.

        `latchkey serve`, `check-config` and `doctor`, and `latchkey-dev conformance`, also take every key that has a
        variable as an option, which overrides the variable: `--http-port 9000` for `http.port`. For a secret there is
        only the option of its file, such as `--api-keys-file`, because other users of the machine can read the
        arguments of a process.

        At SIGHUP a running server reads its configuration again. The keys marked below take effect; other changed
        keys are named in the log and take effect at the next start. A configuration with a problem changes nothing.

        `latchkey check-config` prints all problems, and warnings for settings that remove a defence.

        [`configuration.schema.json`](configuration.schema.json) is the JSON Schema of the file, for editors: it
        completes keys, shows their meanings, and marks wrong names and values. The first line of the example names it
        for the YAML language server; `latchkey check-config --schema` prints it.

        `make configuration-reference` writes this file from the program; `make test` fails if the two differ.

        """
}
