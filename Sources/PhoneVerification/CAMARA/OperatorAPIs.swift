import Crypto
import LatchkeyConfiguration
import OpenIDConnect
import Primitives

/// Below the root of the APIs.
extension OperatorAPIs {
    /// `GET`: the number of the device that the access token is for (Number Verification r3.2).
    var devicePhoneNumber: EndpointURL { root.appending(path: "/number-verification/v2/device-phone-number") }

    /// `POST`: whether the device that the access token is for has a given number (Number Verification r3.2).
    var verify: EndpointURL { root.appending(path: "/number-verification/v2/verify") }

    /// `POST`: whether the SIM of a number was changed lately (SIM Swap r3.3).
    var checkSIMSwap: EndpointURL { root.appending(path: "/sim-swap/v2/check") }

    /// `POST`: the operator of a number (GSMA Open Gateway, Telco Finder).
    var searchOperator: EndpointURL { root.appending(path: "/telco-finder/v1/search") }
}

extension MobileOperatorSettings {
    /// The scopes to verify a number: to compare it, or without one to ask for it.
    func scopes(toVerify number: MSISDN?) -> [String] {
        number == nil ? scopes : ["openid", purpose.scope, OperatorScope.verify]
    }
}

extension MSISDN {
    /// The SHA-256 of ``text`` in hexadecimal (the property `hashedPhoneNumber`).
    var hashed: String { SHA256.hash(data: Array(text.utf8)).hexadecimal }
}

extension TelcoFinder.PortabilitySearch {
    /// The value of `portabilitySearchMode`.
    var mode: String { rawValue.uppercased() }
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
