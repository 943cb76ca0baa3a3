import ArgumentParser
import CommandLineSupport
package import LatchkeyConfiguration
package import LatchkeyService
import Primitives
import SignIn
import Storage
import StorageModel

struct VerifyAuditCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Checks that no sealed event of the audit log was changed, removed or inserted.",
        discussion: """
            A running server seals new events every ten seconds: a seal signs their digests, and that of the seal \
            before. The command checks all seals, names the first entry that is not as it was sealed, and prints the \
            number and the digest of the newest seal. Keep them elsewhere: with --expect, the command also finds that \
            the end of the log was cut off. It needs encryption_keys, to know the server's own keys.

            Exit status: 0 if everything is as it was sealed, 1 if not, 64 for wrong options, 78 for an invalid \
            configuration, or one without the keys that the server's signing keys are encrypted with.
            """)

    @OptionGroup var options: ConfigurationOptions

    @OptionGroup var proof: AdminService.AuditProof

    @OptionGroup var output: FormatOptions

    @ParentCommand var parent: AuditCommand

    func run() async throws {
        try parent.refuseSelection(because: "the log is always verified as a whole")
        try await runAdminCommand(options, as: output.format) { [proof] admin, configuration in
            try await admin.verifyAudit(configuration, proof)
        }
    }
}

struct ExportAuditCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Prints the audit log with its seals, for a verifier of your own.",
        discussion: """
            One JSON object on each line: the events that a seal covers, then the seal, and so on; at the end the \
            events that are not sealed yet. Tests/Audit/verify.py verifies it.

            Exit status: 0 if the log was read, 1 if not, 64 for wrong options, 78 for an invalid configuration.
            """)

    @OptionGroup var options: ConfigurationOptions

    @ParentCommand var parent: AuditCommand

    func run() async throws {
        try parent.refuseSelection(because: "an export is always whole")
        try await runAdminCommand(options) { admin, _ in
            try await admin.exportAudit { print($0) }
            return CommandReport(text: [], json: [])
        }
    }
}

extension AdminService {
    /// What the administrator adds to the database's own proof: options of `latchkey audit verify`.
    package struct AuditProof: ParsableArguments {
        @Option(
            name: .long,
            help: ArgumentHelp(
                "A seal that must be there, as the command printed it earlier, or the log.",
                valueName: "number:digest"))
        var expect: String?

        @Option(
            name: .long,
            help: ArgumentHelp(
                "Vouch for a key that signed seals: the thumbprint (RFC 7638) that you noted. Can be given several "
                    + "times.", valueName: "thumbprint"))
        var key: [String] = []

        package init() {}
    }

    /// Compares every event with its seal, and every seal with the one before. Some hundreds of events are in memory at
    /// a time.
    ///
    /// - Returns: The result. Its failure names the first fault, which is also in the JSON.
    /// - Throws: ``AdministratorError`` for an invalid proof, or for signing keys that cannot be decrypted;
    ///   `StorageError`.
    package func verifyAudit(_ configuration: Configuration, _ proof: AuditProof) async throws -> CommandReport {
        let anchor = try proof.expect.map(self.anchor)
        for key in proof.key { try checkThumbprint(key) }
        let encryptionKeys = configuration.keysOfSigningKeys
        let protection = KeyProtection(keys: encryptionKeys)
        let records = try await store.signingKeys()
        let encrypted = records.filter { KeyProtection.isEncrypted($0.privateKey) }
        // With a key that the administrator vouches for, the seals can be verified without the server's.
        if proof.key.isEmpty, !encrypted.isEmpty,
            encrypted.allSatisfy({ protection.state(of: $0) == .unreadable })
        {
            throw AdministratorError(
                .configuration,
                (encryptionKeys.isEmpty
                    ? "the server's signing keys are encrypted, and encryption_keys is not set here"
                    : "the server's signing keys are encrypted with keys that encryption_keys does not have here")
                    + "; give the configuration of the server (--config). Nothing was verified.")
        }
        // Only a holder of the encryption keys can have stored these. Without encryption keys these are all.
        let own = records.filter { SigningKey(of: $0, protection) != nil }
        let trusted = Set(own.map(\.id) + proof.key)
        var verifier = AuditVerifier(trusted: trusted, anchor: anchor)
        var fault: AuditError?
        var unsealed = 0
        for attempt in 1...3 {
            (verifier, unsealed) = (AuditVerifier(trusted: trusted, anchor: anchor), 0)
            fault = try await firstFault(
                &verifier, &unsealed, retention: configuration.auditRetention.components.seconds)
            // Seals that expired while the command read them are not a fault.
            let oldest = try await store.auditSeals(after: .min, limit: 1).first
            guard attempt < 3, let fault, let oldest, oldest.number > fault.seal else { break }
        }
        var report = CommandReport(text: []) { verifier.write(to: &$0, unsealed: unsealed, fault) }
        if let fault {
            report.failure = AdministratorError("the audit log is not as it was sealed: \(fault)")
        } else if let anchor, verifier.anchorHasExpired {
            report.failure = AdministratorError(
                "seal \(anchor.number) has expired and cannot be compared; name a seal of the last audit.retention")
        } else {
            report.text = verifier.lines(unsealed: unsealed)
            if encryptionKeys.isEmpty {
                report.text.append(
                    "The signing keys are not encrypted. An attacker who can change the database can also sign seals; "
                        + "set encryption_keys.")
            }
        }
        return report
    }

    /// Prints the audit log with its seals as JSON Lines, in the order in which a verifier needs them: the events that
    /// a seal covers, then the seal. The events that are not sealed yet come last.
    /// - Throws: `StorageError`.
    package func exportAudit(output: (String) -> Void) async throws {
        var last = Int64.min
        try await eachSeal { seal in
            try await eachEvent(after: last, through: seal.lastSerial) { output($0.exportLine) }
            output(seal.exportLine)
            last = seal.lastSerial
        }
        try await eachEvent(after: last) { output($0.exportLine) }
    }

    private func firstFault(
        _ verifier: inout AuditVerifier, _ unsealed: inout Int, retention: Int64
    ) async throws -> AuditError? {
        do {
            try await check(&verifier)
            try await eachEvent(after: verifier.newest?.seal.last ?? .min) { event in
                unsealed += 1
                verifier.note(unsealed: event)
            }
            try verifier.finish(at: clock.now(), retention: retention)
            return nil
        } catch let fault as AuditError {
            return fault
        }
    }

    private func check(_ verifier: inout AuditVerifier) async throws {
        var last = Int64.min
        try await eachSeal { seal in
            // More events than a seal has show that one was inserted; the rest is not needed for that.
            let limit = seal.entries.count / AuditEntry.packedBytes + 1
            let events = try await store.auditEvents(after: last, through: seal.lastSerial, limit: limit)
            try verifier.check(seal, events: events)
            last = seal.lastSerial
        }
    }

    private func eachSeal(_ body: (AuditSealRecord) async throws -> Void) async throws {
        try await each(\.number, after: .min, limit: 16, body) { number, limit throws(StorageError) in
            try await store.auditSeals(after: number, limit: limit)
        }
    }

    private func eachEvent(
        after serial: Int64, through end: Int64 = .max, _ body: (RecordedAuditEvent) -> Void
    ) async throws {
        try await each(\.serial, after: serial, limit: 500, body) { serial, limit throws(StorageError) in
            try await store.auditEvents(after: serial, through: end, limit: limit)
        }
    }

    /// All rows in the order of their numbers, `limit` in memory at a time.
    private func each<Row>(
        _ number: KeyPath<Row, Int64>, after first: Int64, limit: Int, _ body: (Row) async throws -> Void,
        _ read: (_ after: Int64, _ limit: Int) async throws(StorageError) -> [Row]
    ) async throws {
        var last = first
        while true {
            let rows = try await read(last, limit)
            for row in rows { try await body(row) }
            // A row that was written into the database may have the lowest number, which none is after.
            guard rows.count == limit, let newest = rows.last else { return }
            last = newest[keyPath: number]
        }
    }

    private func anchor(_ text: String) throws(AdministratorError) -> AuditVerifier.Anchor {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, let number = Int64(parts[0]), number > 0, let digest = AuditDigest(parts[1]) else {
            throw AdministratorError(
                .usage,
                "“\(text)” is not a seal; write its number, a colon, and the 64 hexadecimal digits of its digest")
        }
        return AuditVerifier.Anchor(number: number, digest: digest)
    }

    /// A thumbprint is a SHA-256 in base64url (RFC 7638 section 3).
    private func checkThumbprint(_ text: String) throws(AdministratorError) {
        guard text.utf8.count == 43, Base64URL.decode(text)?.count == 32 else {
            throw AdministratorError(
                .usage, "“\(text)” is not the thumbprint of a key; a thumbprint has 43 characters of base64url")
        }
    }
}

extension AuditVerifier {
    fileprivate func lines(unsealed: Int) -> [String] {
        let waiting = "\(unsealed) \(unsealed == 1 ? "event is" : "events are") not sealed yet."
        guard let first, let newest else { return ["There is no seal. \(waiting)"] }
        var lines = [
            "Every event is as it was sealed: \(events) events, seals \(first.seal.number) to \(newest.seal.number).",
            waiting, "The newest seal: \(newest.seal.number):\(newest.digest)",
            "Its key: \(newest.signer)",
        ]
        if let time = first.seal.timeBefore {
            lines.append(
                "The seals before \(first.seal.number) have expired; their last event was at \(UTCTime.text(time)).")
        }
        if erased > 0 { lines.append("The details of \(erased) events were erased with their users.") }
        return lines
    }

    fileprivate func write(to json: inout JSONObjectWriter, unsealed: Int, _ fault: AuditError?) {
        json.add("valid", fault == nil)
        if let fault {
            json.add("fault") { json in
                json.add("kind", fault.kind)
                if let serial = fault.serial { json.add("serial", serial) }
                json.add("seal", fault.seal)
                json.add("description", fault.description)
            }
        }
        json.add("events", events)
        json.add("erased", erased)
        json.add("unsealed", unsealed)
        if let first, let newest {
            json.add("first_seal", first.seal.number)
            json.add("newest_seal", "\(newest.seal.number):\(newest.digest)")
            json.add("key", newest.signer)
        }
    }
}

extension RecordedAuditEvent {
    fileprivate var exportLine: String {
        JSONObjectWriter.text { json in
            json.add("type", "event")
            json.add("serial", serial)
            json.add("time", event.time.secondsSinceEpoch)
            json.add("kind", event.kind.name)
            if let user = event.user { json.add("user_id", user.number) }
            json.add("actor", event.actor.name)
            json.add("request_id", ifPresent: event.requestID)
            // As a text, because the digest is of its bytes.
            if !isErased { json.add("details", event.details.json) }
            json.add("salt", ifPresent: salt?.hexadecimal)
            json.add("details_digest", ifPresent: detailsDigest?.hexadecimal)
        }
    }
}

extension AuditSealRecord {
    fileprivate var exportLine: String {
        JSONObjectWriter.text { json in
            json.add("type", "seal")
            json.add("number", number)
            json.add("digest", digest.description)
            json.add("jws", jws)
            json.add("entries", Base64URL.encode(entries))
        }
    }
}
