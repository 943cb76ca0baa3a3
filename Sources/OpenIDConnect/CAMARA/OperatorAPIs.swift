import Crypto
public import Primitives

/// The CAMARA APIs of one mobile operator, below its `apiRoot`.
public struct OperatorAPIs: Sendable, Hashable {
    /// The URL that the paths of the APIs follow, without a query.
    public let root: EndpointURL

    /// The APIs below a root; nil if the root has a query.
    public init?(root: EndpointURL) {
        guard !root.text.utf8.contains(UInt8(ascii: "?")) else { return nil }
        self.root = root
    }

    /// `GET`: the number of the device that the access token is for (Number Verification r3.2).
    var devicePhoneNumber: EndpointURL { root.appending(path: "/number-verification/v2/device-phone-number") }

    /// `POST`: whether the device that the access token is for has a given number (Number Verification r3.2).
    var verify: EndpointURL { root.appending(path: "/number-verification/v2/verify") }

    /// `POST`: whether the SIM of a number was changed lately (SIM Swap r3.3).
    var checkSIMSwap: EndpointURL { root.appending(path: "/sim-swap/v2/check") }

    /// `POST`: the operator of a number (GSMA Open Gateway, Telco Finder).
    var searchOperator: EndpointURL { root.appending(path: "/telco-finder/v1/search") }
}

/// The scopes of the APIs' operations.
public enum OperatorScope {
    /// Of `GET /device-phone-number`.
    public static let devicePhoneNumber = "number-verification:device-phone-number:read"
    /// Of `POST /verify`.
    public static let verify = "number-verification:verify"
    /// Of `POST /check` of SIM Swap.
    public static let checkSIMSwap = "sim-swap:check"
}

/// A mobile phone number as the CAMARA APIs write it: `+` and 5 to 15 digits, the first of which is not 0 (the schema
/// `DevicePhoneNumber` of number-verification.yaml, r3.2).
///
/// The number is personal: it prints and reflects as `‹redacted›`.
public struct MSISDN: Sendable, Hashable, Redacted {
    /// `+` and the digits.
    public let text: String

    /// A number, or nil if the text has another form.
    public init?(_ text: String) {
        // By bytes: a character may be a + or a digit with further scalars.
        let digits = text.utf8.dropFirst()
        guard text.utf8.first == UInt8(ascii: "+"), (5...15).contains(digits.count),
            digits.allSatisfy(\.isASCIIDigit), digits.first != UInt8(ascii: "0")
        else { return nil }
        self.text = text
    }

    /// The SHA-256 of ``text`` in hexadecimal (the property `hashedPhoneNumber`).
    public var hashed: String { SHA256.hash(data: Array(text.utf8)).hexadecimal }
}

/// The header field `x-correlator` of the CAMARA APIs: up to 256 letters, digits and `-_:;./<>{}`.
enum XCorrelator {
    static let name = "x-correlator"

    /// The correlation id, or its SHA-256 in hexadecimal if it has characters that the field cannot have.
    static func text(of id: CorrelationID) -> String {
        let isAllowed = id.text.utf8.allSatisfy { $0.isASCIILetterOrDigit || "-_:;./<>{}".utf8.contains($0) }
        return isAllowed ? id.text : SHA256.hash(data: Array(id.text.utf8)).hexadecimal
    }
}
