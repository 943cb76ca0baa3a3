import CLatchkeyYAML

/// The parts of a YAML text in their order, as libyaml finds them.
///
/// libyaml is used directly: a parser that builds its own tree would resolve aliases before they can be refused, and
/// swift-configuration has no lists of groups and does not report unknown keys.
struct YAMLEvents: ~Copyable {
    struct Event {
        enum Kind {
            /// `isPlain` without quotes.
            case scalar(String, isPlain: Bool)
            /// The beginning of a list or a mapping.
            case sequence, mapping
            /// The end of a list, of a mapping or of the text.
            case end
        }

        let kind: Kind
        /// From 1.
        let line: Int
    }

    typealias YAMLError = YAMLDocument.YAMLError

    /// Does not move, because libyaml keeps its address.
    private let parser = UnsafeMutablePointer<yaml_parser_t>.allocate(capacity: 1)
    private let text: UnsafeMutableBufferPointer<UInt8>
    /// Whether there was memory for the parser.
    private let isReady: Bool

    init(_ text: String) {
        self.text = .allocate(capacity: text.utf8.count)
        _ = self.text.initialize(from: text.utf8)
        isReady = yaml_parser_initialize(parser) == 1
        if isReady {
            yaml_parser_set_input_string(parser, self.text.baseAddress, self.text.count)
            yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING)
        }
    }

    deinit {
        if isReady { yaml_parser_delete(parser) }
        parser.deallocate()
        text.deallocate()
    }

    /// The next part. After the last document it is always an end.
    /// - Throws: What is not YAML, and anchors, aliases and tags.
    mutating func next() throws(YAMLError) -> Event {
        while true {
            var event = yaml_event_t()
            guard isReady, yaml_parser_parse(parser, &event) == 1 else { throw refusal() }
            defer { yaml_event_delete(&event) }
            let line = Int(clamping: event.start_mark.line) + 1
            switch event.type {
            case YAML_SCALAR_EVENT:
                try refuse(anchor: event.data.scalar.anchor, tag: event.data.scalar.tag, line)
                let bytes = UnsafeBufferPointer(start: event.data.scalar.value, count: event.data.scalar.length)
                let isPlain = event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE
                return Event(kind: .scalar(String(decoding: bytes, as: UTF8.self), isPlain: isPlain), line: line)
            case YAML_SEQUENCE_START_EVENT:
                try refuse(anchor: event.data.sequence_start.anchor, tag: event.data.sequence_start.tag, line)
                return Event(kind: .sequence, line: line)
            case YAML_MAPPING_START_EVENT:
                try refuse(anchor: event.data.mapping_start.anchor, tag: event.data.mapping_start.tag, line)
                return Event(kind: .mapping, line: line)
            case YAML_ALIAS_EVENT: throw Self.alias(line)
            case YAML_STREAM_START_EVENT, YAML_DOCUMENT_START_EVENT, YAML_DOCUMENT_END_EVENT: continue
            default: return Event(kind: .end, line: line)
            }
        }
    }

    private func refuse(
        anchor: UnsafeMutablePointer<UInt8>?, tag: UnsafeMutablePointer<UInt8>?, _ line: Int
    ) throws(YAMLError) {
        guard anchor == nil else {
            throw YAMLError(line, "has an anchor or alias (&, *), which are not supported", "write the value out")
        }
        guard let tag else { return }
        let usual = ["!", "tag:yaml.org,2002:str", "tag:yaml.org,2002:seq", "tag:yaml.org,2002:map"]
        guard usual.contains(String(cString: tag)) else {
            throw YAMLError(line, "has a tag (!!…), which is not supported", "remove the tag")
        }
    }

    private static func alias(_ line: Int) -> YAMLError {
        YAMLError(line, "has a value that starts with * and is not in quotes", "put it in quotes")
    }

    /// Why libyaml stopped. It has a fixed set of texts, which quote nothing.
    private func refusal() -> YAMLError {
        let unexplained = YAMLError(nil, "is not YAML or JSON", "compare it with Config/latchkey.example.yaml")
        guard isReady else { return unexplained }
        let line = Int(clamping: parser.pointee.problem_mark.line) + 1
        switch parser.pointee.error {
        case YAML_READER_ERROR:
            return YAMLError(nil, "has a character that YAML does not allow", "remove control characters")
        case YAML_SCANNER_ERROR, YAML_PARSER_ERROR:
            let context = parser.pointee.context.map { String(cString: $0) }
            if context?.contains("an alias") == true { return Self.alias(line) }
            let lines = text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            let stop = lines.dropFirst(line - 1).first
            if stop?.prefix(while: { $0 == 0x20 || $0 == 0x09 }).contains(0x09) == true {
                return YAMLError(line, "begins with a tab, which YAML does not allow", "indent it with spaces")
            }
            let noBreakSpace = [line - 1, line].first { number in
                number > 0 && number <= lines.count
                    && String(decoding: lines[number - 1], as: UTF8.self).contains("\u{A0}")
            }
            if let noBreakSpace {
                return YAMLError(
                    noBreakSpace, "has a no-break space, which YAML takes for a letter", "write a space in its place")
            }
            if stop.map({ String(decoding: $0, as: UTF8.self) })?.contains("::") == true {
                return YAMLError(line, "has an IPv6 address that is not in quotes", "put it in quotes")
            }
            let texts = [context, parser.pointee.problem.map { String(cString: $0) }].compactMap(\.self)
            return YAMLError(
                line, "is not YAML or JSON (\(texts.joined(separator: ", ")))", "correct this line or one above it")
        default: return unexplained
        }
    }
}
