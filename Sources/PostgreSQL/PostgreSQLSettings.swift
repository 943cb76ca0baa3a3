import CLatchkeyPostgres
import Glibc
package import LatchkeyConfiguration
import Primitives

/// No keys: the URLs are the core's. What libpq refuses of them is found before the server starts.
package struct PostgreSQLSettings: FeatureSettings {
    package init() {}

    package func contradictions(in configuration: Configuration) -> [SettingNote] {
        let database = configuration.database
        if let pooler = database.poolerURL, pooler.path != nil || database.url.path != nil {
            return [("database.pooler_url", "is for PostgreSQL only", "remove it, or use PostgreSQL in both URLs")]
        }
        return database.postgresURLs.compactMap { key, url in
            Self.refusal(of: url.secret).map { reason in
                (
                    key, reason,
                    "use the parameters of libpq \(Self.version / 10_000) "
                        + "(https://www.postgresql.org/docs/\(Self.version / 10_000)/libpq-connect.html)"
                )
            }
        }
    }

    /// Such as 150018.
    private static let version = PQlibVersion()

    /// Why libpq would not connect with a URL, before it asks for an address; nil if it would. Has nothing of the URL
    /// but names of parameters and the words that they may have.
    static func refusal(of url: Secret) -> String? {
        var message: UnsafeMutablePointer<CChar>?
        defer { PQfreemem(message) }
        guard let options = PQconninfoParse(url.exposed, &message) else { return "libpq says: \(withoutURL(message))" }
        defer { PQconninfoFree(options) }
        var values: [String: String] = [:]
        var option = options
        while let keyword = option.pointee.keyword {
            if let value = option.pointee.val { values[String(cString: keyword)] = String(cString: value) }
            option += 1
        }
        if let file = values["sslrootcert"], file != "system" || version < 160_000, access(file, R_OK) != 0 {
            return file == "system"
                ? "sslrootcert=system needs libpq 16: before, it is the name of a file"
                : "the file of sslrootcert cannot be read (\(String(cString: strerror(errno))))"
        }
        // libpq checks the values where it begins to connect. With an address it would send something.
        guard values["hostaddr"] == nil else { return nil }
        let port = values["port"].flatMap { $0.contains(",") ? nil : $0 } ?? "5432"
        let trial = [("dbname", url.exposed), ("host", "/nonexistent"), ("port", port)]
        let connection = withCStrings(trial) { PQconnectStartParams($0, $1, 1) }
        defer { PQfinish(connection) }
        guard let text = PQerrorMessage(connection).map({ String(cString: $0) }),
            !text.isEmpty, !text.hasPrefix("connection to server")
        else { return nil }
        return "libpq says: \(text.split(whereSeparator: \.isNewline).first ?? "")"
    }

    /// A message of libpq about a URL that it cannot read, up to where it repeats a part of it, and with the name of a
    /// parameter that it does not have.
    private static func withoutURL(_ message: UnsafeMutablePointer<CChar>?) -> String {
        let text = message.map { String(cString: $0) } ?? ""
        let words = String(text.prefix { $0 != "\"" && $0 != ":" && $0 != "\n" })
        guard words == "invalid URI query parameter" else { return words }
        let name = text.split(ascii: "\"").dropFirst().first ?? ""
        return name.utf8.allSatisfy { $0.isASCIILetter || $0 == UInt8(ascii: "_") } ? "\(words) \(name)" : words
    }
}
