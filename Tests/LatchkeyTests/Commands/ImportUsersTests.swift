import Administration
import LatchkeyService
import Primitives
import StorageModel
import Synchronization
import TestSupport
import Testing

/// `latchkey users import`, for an operator who comes from another system.
@Suite(.serialized) struct ImportUsersTests {
    private static let now = Timestamp(secondsSinceEpoch: 1_800_000_000)

    private static func line(_ members: String = "", subject: String = "jane") -> String {
        #"{"issuer":"https://idp.example","subject":"\#(subject)"\#(members)}"#
    }

    /// A line within the text of its name.
    private static let opened = Array(line(#","name":"J"#).utf8.dropLast())

    /// A line that is refused, and the beginning of why.
    private static let refused: [(name: String, bytes: [UInt8], problem: String)] = [
        ("no JSON", Array("jane".utf8), "not JSON: unexpected_byte at byte 1"),
        ("cut off", Array(#"{"issuer":"https:"#.utf8), "not JSON: unexpected_end"),
        ("an array", Array("[]".utf8), "not a JSON object"),
        ("two objects", Array((line() + line()).utf8), "not JSON: trailing_bytes"),
        ("broken UTF-8", opened + [0xC3, 0x28, 0x22, 0x7D], "not JSON: invalid_utf8"),
        ("a NUL byte", opened + [0, 0x22, 0x7D], "not JSON: control_character"),
        ("an escaped NUL", Array(line(#","name":"J\u0000""#).utf8), "name has control characters"),
        ("a lone surrogate", Array(line(#","name":"\uD800""#).utf8), "not JSON: lone_surrogate"),
        ("a member twice", Array(line(#","name":"J","name":"K""#).utf8), "not JSON: duplicate_member"),
        ("deep nesting", Array(line(#","name":[[[[[[1]]]]]]"#).utf8), "not JSON: too_deep"),
        ("many values", Array(line(#","name":[1\#(String(repeating: ",1", count: 99))]"#).utf8), "not JSON: too_many"),
        ("no subject", Array(#"{"issuer":"https://idp.example"}"#.utf8), "issuer and subject are required"),
        ("a null issuer", Array(#"{"issuer":null,"subject":"a"}"#.utf8), "issuer and subject are required"),
        ("a number as subject", Array(#"{"issuer":"https://idp.example","subject":7}"#.utf8), "subject is not a text"),
        ("an http issuer", Array(#"{"issuer":"http://idp.example","subject":"a"}"#.utf8), "the issuer is not an https"),
        ("an empty subject", Array(line(subject: "").utf8), "the subject must be 1 to 255 visible"),
        ("a subject with a space", Array(line(subject: "a b").utf8), "the subject must be 1 to 255 visible"),
        ("a long subject", Array(line(subject: String(repeating: "a", count: 256)).utf8), "the subject must be"),
        ("an unknown member", Array(line(#","e\u001bmail":"a@b.example""#).utf8), "there is no member “e\u{FFFD}mail”"),
        ("no e-mail address", Array(line(#","email":"jane""#).utf8), "email is not an e-mail address"),
        ("no number", Array(line(#","phone_number":"12""#).utf8), "phone_number is not a phone number"),
        ("a text as flag", Array(line(#","email_verified":"true""#).utf8), "email_verified is neither"),
        ("a future time", Array(line(#","created_at":1800000001"#).utf8), "created_at is not a past time"),
        ("a time before 1970", Array(line(#","created_at":-1"#).utf8), "created_at is not a past time"),
        ("a huge number", Array(line(#","created_at":99999999999999999999"#).utf8), "created_at is not a past time"),
        ("a huge exponent", Array(line(#","created_at":1e999"#).utf8), ""),
        ("no day", Array(line(#","created_at":"2026-02-30""#).utf8), "created_at is not a past time"),
    ]

    @Test("A wrong line is refused with its reason, which repeats no value", arguments: refused.indices)
    func refuses(index: Int) {
        let (name, bytes, problem) = Self.refused[index]
        let error = #expect(throws: AdministratorError.self, "\(name)") {
            try ImportedUser(bytes, line: 1, at: Self.now)
        }
        #expect(error?.description.hasPrefix(problem) == true, "\(name): \(error?.description ?? "")")
    }

    @Test("A line has all attributes, null and blank ones are absent, a time is of either form")
    func reads() throws {
        let text = Self.line(
            """
            ,"email":"j@example.com","email_verified":true,"phone_number":"+1 202 555 0123","name":" Jane ",\
            "given_name":"","family_name":null,"postal_code":"97477","username":"j","created_at":"2026-11-21T01:02:03Z"
            """)
        let user = try ImportedUser(Array((text + "\r").utf8), line: 7, at: Self.now)
        #expect(user.identity == Identity(issuer: "https://idp.example", subject: "jane"))
        #expect(
            user.profile == [
                .email: "j@example.com", .phoneNumber: "+1 202 555 0123", .name: "Jane", .postalCode: "97477",
                .username: "j",
            ])
        #expect(user.hasVerifiedEmail)
        #expect(user.createdAt.map(UTCTime.text) == "2026-11-21T01:02:03Z")
        #expect(user.line == 7)
    }

    @Test("Lines are the same however the input is cut, and only long ones are dropped")
    func lines() throws {
        let input = Array("one\ntwo\r\n\nfour five\n12345678\n123456789\nlast".utf8)
        let expected: [LineReader.Line] = [
            .bytes(Array("one".utf8)), .bytes(Array("two\r".utf8)), .bytes([]), .tooLong,
            .bytes(Array("12345678".utf8)), .tooLong, .bytes(Array("last".utf8)),
        ]
        for size in 1...input.count {
            let rest = Shared(input[...])
            var reader = LineReader(limit: 8) { () throws(AdministratorError) in
                rest.value.withLock { rest in
                    let piece = rest.prefix(size)
                    rest = rest.dropFirst(size)
                    return Array(piece)
                }
            }
            var found: [LineReader.Line] = []
            while let line = try reader.next() { found.append(line) }
            #expect(found == expected, "pieces of \(size)")
        }
    }

    private final class Shared: Sendable {
        let value: Mutex<ArraySlice<UInt8>>
        init(_ value: ArraySlice<UInt8>) { self.value = Mutex(value) }
    }

    @Test("The program imports a file, says which lines are wrong, and takes the file again")
    func program() async throws {
        try await AdminHarness.with { harness in
            #expect(try await harness.run(["migrate"]).status == 0)
            let file = try harness.write(
                "\u{FEFF}\(Self.line())\r\n\n{}\n\(Self.line(subject: "-b"))\n\(Self.line())", as: "users.jsonl")
            let tried = try await harness.run(["users", "import", file])
            #expect(tried.status == 1)
            #expect(tried.output.contains("line 3: issuer and subject are required"), "\(tried.output)")
            #expect(tried.output.contains("Nothing was changed."), "\(tried.output)")
            for (added, present) in [(2, 1), (0, 3)] {
                let done = try await harness.run(["users", "import", file, "--apply", "--format", "json"])
                #expect(done.status == 1)
                let summary =
                    #"{"lines":5,"added":\#(added),"verified":0,"present":\#(present),"refused":1,"applied":true}"#
                #expect(done.output.contains(summary), "\(done.output)")
                #expect(done.output.contains("1 line was refused"), "\(done.output)")
            }
            let found = try await harness.run(["users", "find", "--issuer", "https://idp.example", "--subject", "-b"])
            #expect(found.status == 0, "\(found.output)")
            let piped = try await harness.run(
                ["users", "import", "-", "--apply"], input: Self.line(subject: "c"))
            #expect(piped.status == 0, "\(piped.output)")
            #expect(piped.output.contains("users added: 1, 0 of them"), "\(piped.output)")
            let all = try await harness.run(["users", "export-all"])
            #expect(all.status == 0)
            let lines = all.output.split(separator: "\n")
            #expect(lines.count == 4, "three users, and how many there are")
            #expect(lines.contains("lines: 3"), "\(all.output)")
            #expect(all.output.contains(#"{"issuer":"https://idp.example","subject":"jane","created_at":"20"#))
            let stopped = try await harness.run(
                ["users", "import", "-", "--max-errors", "2"], input: "1\n2\n3\n")
            #expect(stopped.status == 1)
            #expect(stopped.output.contains("stopped at line 2, after 2 errors"), "\(stopped.output)")
            #expect(try await harness.run(["users", "import", "nosuch.jsonl"]).status == 1)
            #expect(try await harness.run(["users", "import", file, "--max-errors", "0"]).status == 64)
        }
    }
}
