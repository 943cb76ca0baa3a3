import Crypto
import Primitives

/// What a device without the user's SIM shows while it waits for a word from the phone that has one: a number to type, and a
/// picture by which the user sees that the phone speaks of the same sign-in.
struct PhoneCode: Sendable {
    /// How long the phone has, in seconds.
    static let lifetime: Int64 = 300
    static let digits = 6

    enum Answer: Sendable, Hashable {
        case awaited
        case approved(mccmnc: String, userID: String)
        case denied
        /// The waiting device went back to the relying party with the answer.
        case delivered
    }

    let number: String
    let picture: Picture
    /// What the device came to the discovery UI with.
    let parameters: Parameters
    let expiresAt: Timestamp
    var answer = Answer.awaited

    /// The number as people read it aloud: two groups of three digits.
    var shownNumber: String { number.prefix(3) + " " + number.suffix(3) }

    func answered(_ answer: Answer) -> PhoneCode {
        var code = self
        code.answer = answer
        return code
    }

    func isAwaited(at now: Timestamp) -> Bool { answer == .awaited && now < expiresAt }

    /// The digits of what a person typed, whatever stands between them.
    static func number(typed text: String) -> String? {
        let digits = text.filter { ("0"..."9").contains($0) }
        return digits.count == Self.digits ? digits : nil
    }
}

extension PhoneCode {
    /// Five by five cells, alike from left and right so that eyes take it in at once.
    struct Picture: Sendable, Hashable {
        static let side = 5
        private static let colours = ["#0b7a6b", "#2f6fde", "#a03fb8", "#c2410c", "#b0306a", "#5b6b16"]

        let colour: String
        /// Rows of cells; true ones are drawn.
        let cells: [[Bool]]

        /// - Parameter seed: The same picture comes of the same text.
        init(seed: String) {
            let bytes = Array(SHA256.hash(data: Array(seed.utf8)))
            colour = Self.colours[Int(bytes[0]) % Self.colours.count]
            let half = (Self.side + 1) / 2
            cells = (0..<Self.side).map { row in
                (0..<Self.side).map { column in
                    bytes[1 + row * half + min(column, Self.side - 1 - column)].isMultiple(of: 2)
                }
            }
        }

        var html: HTML {
            let drawn = (0..<Self.side).flatMap { row in
                (0..<Self.side).filter { cells[row][$0] }.map { column in
                    "<rect x=\"\(String(column))\" y=\"\(String(row))\" width=\"1\" height=\"1\"/>" as HTML
                }
            }
            return """
                <svg class="picture" viewBox="0 0 5 5" role="img" aria-label="The picture of this sign-in" fill="\(colour)"
                shape-rendering="crispEdges">\(drawn)</svg>
                """
        }
    }
}

extension SimulatorState {
    /// The handle of the sign-in that waits under a number.
    func waitingHandle(number: String, at now: Timestamp) -> String? {
        phoneCodes.keys { $0.number == number && $0.isAwaited(at: now) }.first
    }

    /// Keeps a sign-in under a number that no other waiting one has.
    mutating func keep(_ parameters: Parameters, under handle: String, random: RandomSource, now: Timestamp) {
        let first = random.bytes(4).reduce(0) { $0 << 8 | Int($1) }
        // There are a thousand at most, so a free one is near.
        let numbers = (0...phoneCodes.count).lazy.map { Self.number(first + $0) }
        let number = numbers.first { waitingHandle(number: $0, at: now) == nil } ?? Self.number(first)
        phoneCodes.put(
            PhoneCode(
                number: number, picture: PhoneCode.Picture(seed: handle), parameters: parameters,
                expiresAt: now.advanced(bySeconds: PhoneCode.lifetime)), for: handle)
    }

    private static func number(_ value: Int) -> String {
        let text = String(value % 1_000_000)
        return String(repeating: "0", count: PhoneCode.digits - text.count) + text
    }
}
