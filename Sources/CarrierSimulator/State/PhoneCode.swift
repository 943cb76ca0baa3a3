import Crypto
import Primitives

/// A sign-in on a device without the user's SIM, which waits for the user's phone. The device shows a number to type on
/// the phone, and a picture by which the user recognises the sign-in.
struct PhoneCode: Sendable {
    /// How long the device waits, in seconds.
    static let lifetime: Int64 = 300
    static let digits = 6

    enum Status: Sendable, Hashable {
        case pending
        case approved(mccmnc: String, userID: String)
        case denied
        /// The device returned to the relying party.
        case returned
    }

    let number: String
    let picture: Picture
    let parameters: Parameters
    let expiresAt: Timestamp
    var status = Status.pending

    /// The number in two groups of three digits.
    var shownNumber: String { number.prefix(3) + " " + number.suffix(3) }

    func isPending(at now: Timestamp) -> Bool { status == .pending && now < expiresAt }

    /// The digits of what a user typed.
    static func number(typed text: String) -> String? {
        let digits = text.filter { ("0"..."9").contains($0) }
        return digits.count == Self.digits ? digits : nil
    }
}

extension PhoneCode {
    /// A picture of five by five cells, mirrored so that it is easy to recognise.
    struct Picture: Sendable, Hashable {
        static let side = 5
        private static let colours = ["#0b7a6b", "#2f6fde", "#a03fb8", "#c2410c", "#b0306a", "#5b6b16"]

        let colour: String
        /// Rows of cells; true cells are drawn.
        let cells: [[Bool]]

        /// - Parameter seed: Determines the picture.
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
                <svg class="picture" viewBox="0 0 5 5" role="img" aria-label="The picture of this sign-in"
                fill="\(colour)" shape-rendering="crispEdges">\(drawn)</svg>
                """
        }
    }
}

extension SimulatorState {
    /// The handle of the pending sign-in of a number.
    func waitingHandle(number: String, at now: Timestamp) -> String? {
        phoneCodes.keys { $0.number == number && $0.isPending(at: now) }.first
    }

    /// Keeps a sign-in with a number that no other pending sign-in has.
    mutating func keep(_ parameters: Parameters, under handle: String, random: RandomSource, now: Timestamp) {
        let first = random.bytes(4).reduce(0) { $0 << 8 | Int($1) }
        // At most a thousand numbers are taken, so a free one is near.
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
