import Primitives

@testable import OpenIDConnect
@testable import PhoneVerification

/// The bytes as a response of each API of mobile operators and of Telco Finder, and as the Cache-Control field.
enum OperatorAPITarget {
    static func read(_ bytes: [UInt8]) {
        JSONPromise.value(bytes)
        let limits = OutboundLimits()
        for status in [200, 404] {
            let response = OutboundResponse(
                status: status, cacheControl: String(decoding: bytes.prefix(256), as: UTF8.self), body: bytes)
            if let number = try? OperatorAPIResponse.devicePhoneNumber(response, limits: limits) {
                demand(MSISDN(number.text) == number, "a number is in E.164 form")
            }
            _ = try? OperatorAPIResponse.flag("devicePhoneNumberVerified")(response, limits)
            _ = try? OperatorAPIResponse.flag("swapped")(response, limits)
            guard let found = try? OperatorAPIResponse.foundOperator(response, limits: limits) else { continue }
            demand(status == 200, "an error names no operator")
            demand(found.id.isVisibleASCII(upTo: FoundOperator.maximumIDBytes), "an operatorId has its form")
            for url in [found.apiRoot, found.metadataURL].compactMap(\.self) {
                demand(url.isVisibleASCII(upTo: FoundOperator.maximumURLBytes), "a URL has its bound")
            }
            demand((0...FoundOperator.maximumLifetime).contains(found.lifetime), "a lifetime has its bound")
        }
    }
}
