/// A relying party's notification endpoint: plain HTTP on 127.0.0.1, because the simulator never leaves this machine.
struct NotificationURL: Sendable, Hashable {
    let port: UInt16
    let path: String

    init?(_ text: String) {
        let prefix = "http://127.0.0.1:"
        guard text.hasPrefix(prefix), text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else { return nil }
        let rest = text.dropFirst(prefix.count)
        let digits = rest.prefix { $0.isNumber }
        let path = rest.dropFirst(digits.count)
        guard let port = UInt16(digits), port > 0, path.hasPrefix("/") else { return nil }
        self.port = port
        self.path = String(path)
    }
}
