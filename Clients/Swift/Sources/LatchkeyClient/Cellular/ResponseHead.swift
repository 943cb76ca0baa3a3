import Foundation

/// The status line and the header section of a response (RFC 9112 sections 4 and 5). Of its content nothing is read.
struct ResponseHead: Sendable {
    let status: Int
    private let fields: [(name: String, value: String)]

    /// At most these bytes are read.
    static let limit = 16_384

    /// The value of a field that occurs once; nil otherwise.
    func value(_ name: String) -> String? {
        let values = values(name)
        return values.count == 1 ? values[0] : nil
    }

    func values(_ name: String) -> [String] { fields.filter { $0.name == name }.map(\.value) }

    /// Reads a head without its empty line.
    init?(_ bytes: Data) {
        guard let text = String(data: bytes, encoding: .isoLatin1) else { return nil }
        let lines = text.components(separatedBy: "\r\n")
        let words = lines[0].split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false)
        guard words.count >= 2, ["HTTP/1.1", "HTTP/1.0"].contains(words[0]), words[1].utf8.count == 3,
            let status = Int(words[1]), (100...599).contains(status)
        else { return nil }
        var fields: [(name: String, value: String)] = []
        for line in lines.dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, !parts[0].isEmpty, parts[0].utf8.allSatisfy({ (0x21...0x7E).contains($0) }),
                !parts[1].utf8.contains(where: { $0 < 0x20 && $0 != 9 })
            else { return nil }
            fields.append((parts[0].lowercased(), parts[1].trimmingCharacters(in: .whitespaces)))
        }
        self.status = status
        self.fields = fields
    }

    /// Reads the head of a final response; those of interim responses (1xx) are skipped.
    /// - Returns: Nil if what the connection sends is no response, or is too long.
    static func read(from connection: any CellularConnection) async throws -> ResponseHead? {
        var received = Data()
        var count = 0
        while true {
            while let end = received.range(of: Data("\r\n\r\n".utf8)) {
                guard let head = ResponseHead(received[received.startIndex..<end.lowerBound]) else { return nil }
                guard head.status < 200 else { return head }
                received = Data(received[end.upperBound...])
            }
            guard count < limit, let bytes = try await connection.receive(upTo: limit - count), !bytes.isEmpty
            else { return nil }
            count += bytes.count
            received.append(bytes)
        }
    }
}
