extension RawClient {
    /// A response as received.
    public struct Response: Sendable, Hashable {
        public struct Field: Sendable, Hashable {
            /// In lower case.
            public let name: String
            public let value: String
        }

        public let status: Int
        public let fields: [Field]
        public let body: [UInt8]

        public var text: String { String(decoding: body, as: UTF8.self) }

        /// The value of a field that occurs once.
        public subscript(name: String) -> String? {
            let found = fields.filter { $0.name == name }
            return found.count == 1 ? found[0].value : nil
        }

        /// Reads the response at the start of bytes; nil if it is not complete.
        /// - Returns: The response, and its length in bytes.
        public static func parse(_ bytes: [UInt8], isHead: Bool) throws(Failure) -> (response: Response, count: Int)? {
            guard let headCount = endOfHead(bytes) else { return nil }
            var lines = String(decoding: bytes[..<headCount], as: UTF8.self).split(separator: "\r\n")
            let startLine = lines.removeFirst().split(separator: " ", maxSplits: 2)
            guard startLine.count >= 2, startLine[0] == "HTTP/1.1", let status = Int(startLine[1]) else {
                throw .malformed(received: bytes)
            }
            var fields: [Field] = []
            for line in lines {
                guard let colon = line.firstIndex(of: ":") else { throw .malformed(received: bytes) }
                let value = line[line.index(after: colon)...].drop { $0 == " " }
                fields.append(Field(name: line[..<colon].lowercased(), value: String(value)))
            }
            let head = Response(status: status, fields: fields, body: [])
            let length = isHead ? 0 : head["content-length"].flatMap { Int($0) } ?? 0
            guard bytes.count - headCount >= length else { return nil }
            let body = Array(bytes[headCount..<headCount + length])
            return (Response(status: status, fields: fields, body: body), headCount + length)
        }

        /// Reads all responses in the bytes.
        public static func parseAll(_ bytes: [UInt8]) throws(Failure) -> [Response] {
            var responses: [Response] = []
            var rest = bytes
            while !rest.isEmpty {
                guard let (response, count) = try parse(rest, isHead: false) else { throw .malformed(received: rest) }
                responses.append(response)
                rest.removeFirst(count)
            }
            return responses
        }

        private static func endOfHead(_ bytes: [UInt8]) -> Int? {
            let end = Array("\r\n\r\n".utf8)
            guard bytes.count >= end.count else { return nil }
            for start in 0...bytes.count - end.count where bytes[start..<start + end.count].elementsEqual(end) {
                return start + end.count
            }
            return nil
        }
    }
}
