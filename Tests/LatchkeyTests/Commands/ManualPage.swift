import Primitives

/// The manual page of `latchkey`, made from what the program says of its commands (`--experimental-dump-help`), in the
/// macros of man(7).
struct ManualPage {
    private let root: JSONObject
    private var lines: [String] = []

    init(_ root: JSONObject) { self.root = root }

    /// - Parameter root: The member `command` of the program's description of itself.
    static func text(of root: JSONObject) -> String {
        var page = ManualPage(root)
        page.write()
        return page.lines.joined(separator: "\n") + "\n"
    }

    private mutating func write() {
        let name = root["commandName"]?.string ?? ""
        lines += [".TH \(name.uppercased()) 1 \"\" \"Latchkey\" \"User Commands\"", ".SH NAME"]
        lines.append("\(name) \\- \(Self.escaped(root["abstract"]?.string ?? ""))")
        lines += [".SH SYNOPSIS", ".B \(name)", ".I command", "[options]", ".SH DESCRIPTION"]
        paragraphs(root["discussion"]?.string)
        lines.append(".SH COMMANDS")
        for command in Self.commands(below: root) { write(command, of: name) }
        lines += [
            ".SH ENVIRONMENT", "Every key of the configuration has a variable that begins with", ".BR LATCHKEY_ ;",
            ".B \(name) check\\-config \\-\\-keys", "lists them.", ".SH FILES", ".TP", ".I Config/latchkey.yaml",
            "The configuration, if no other file is named with",
            ".BR \\-\\-config .",
        ]
    }

    private static func commands(below command: JSONObject) -> [JSONObject] {
        (command["subcommands"]?.array ?? []).compactMap(\.object).filter {
            $0["commandName"]?.string != "help" && $0["shouldDisplay"]?.bool != false
        }
    }

    private mutating func write(_ command: JSONObject, of parent: String) {
        let name = "\(parent) \(command["commandName"]?.string ?? "")"
        let arguments = (command["arguments"]?.array ?? []).compactMap(\.object).filter {
            $0["shouldDisplay"]?.bool != false && !Self.names(of: $0).contains("--help")
                && !Self.names(of: $0).contains("--version")
        }
        let below = Self.commands(below: command)
        // A command with commands below it may also do something by itself: then it has options.
        if below.isEmpty || !arguments.isEmpty {
            let usage = arguments.map(Self.usage).joined(separator: " ")
            lines.append(".SS \"\(Self.escaped([name, usage].filter { !$0.isEmpty }.joined(separator: " ")))\"")
        } else {
            lines.append(".SS \"\(Self.escaped(name)) \\fIcommand\\fP\"")
        }
        paragraphs(command["abstract"]?.string)
        if let discussion = command["discussion"]?.string {
            lines.append(".PP")
            paragraphs(discussion)
        }
        for argument in arguments { write(argument) }
        for command in below { write(command, of: name) }
    }

    private mutating func write(_ argument: JSONObject) {
        let value = argument["valueName"]?.string ?? ""
        let names = Self.names(of: argument).map { "\\fB\(Self.escaped($0))\\fP" }.joined(separator: ", ")
        let shown = Self.isFlag(argument) ? names : "\(names) \\fI\(Self.escaped(value))\\fP"
        lines += [".TP", names.isEmpty ? "\\fI\(Self.escaped(value))\\fP" : shown]
        let texts = [argument["abstract"]?.string, argument["discussion"]?.string].compactMap(\.self)
        paragraphs(texts.joined(separator: " "))
        if let standard = argument["defaultValue"]?.string, !Self.isFlag(argument) {
            lines.append("(default: \(Self.escaped(standard)))")
        }
    }

    private static func usage(_ argument: JSONObject) -> String {
        let value = "<\(argument["valueName"]?.string ?? "")>"
        let name = names(of: argument).last ?? ""
        let text = name.isEmpty ? value : isFlag(argument) ? name : "\(name) \(value)"
        let repeated = argument["isRepeating"]?.bool == true ? "\(text) ..." : text
        return argument["isOptional"]?.bool == true ? "[\(repeated)]" : repeated
    }

    private static func isFlag(_ argument: JSONObject) -> Bool { argument["kind"]?.string == "flag" }

    /// Short names first.
    private static func names(of argument: JSONObject) -> [String] {
        let names = (argument["names"]?.array ?? []).compactMap(\.object)
        return names.compactMap { name in
            name["name"]?.string.map { (name["kind"]?.string == "long" ? "--" : "-") + $0 }
        }.sorted { $0.utf8.count < $1.utf8.count }
    }

    private mutating func paragraphs(_ text: String?) {
        for (index, paragraph) in (text ?? "").split(separator: "\n\n").enumerated() {
            if index > 0 { lines.append(".PP") }
            lines.append(Self.escaped(paragraph.replacing("\n", with: " ")))
        }
    }

    /// Text that no macro and no escape is in.
    private static func escaped(_ text: some StringProtocol) -> String {
        var line = ""
        for character in text {
            switch character {
            case "\\": line += "\\e"
            case "-": line += "\\-"
            case "\"": line += "\\(dq"
            case _ where character.isASCII: line.append(character)
            default: line += character.unicodeScalars.map { "\\[u\($0.paddedHexadecimal)]" }.joined()
            }
        }
        return line.hasPrefix(".") || line.hasPrefix("'") ? "\\&" + line : line
    }
}

extension Unicode.Scalar {
    /// As groff writes it: at least four digits.
    fileprivate var paddedHexadecimal: String {
        let digits = String(value, radix: 16, uppercase: true)
        return String(repeating: "0", count: max(0, 4 - digits.utf8.count)) + digits
    }
}
