import Primitives

@testable import OpenIDConnect

/// The bytes as a response of the userinfo endpoint about `subject`.
enum UserInfoTarget {
    static func read(_ bytes: [UInt8]) {
        JSONPromise.value(bytes)
        let response = OutboundResponse(status: 200, body: bytes)
        let limits = OutboundLimits()
        guard case .plain(let claims) = try? UserInfoResponse(response, signedWith: nil, limits: limits),
            let user = try? UserInfo(claims, subject: "subject")
        else { return }
        check(user)
    }

    static func check(_ user: UserInfo) {
        for attribute in UserAttribute.allCases {
            if let text = user.attributes[attribute] { check(text, maximumBytes: 255) }
        }
        if case .text(let birthdate) = user.claims[.birthdate] { check(birthdate, maximumBytes: 255) }
        if case .address(let members) = user.claims[.address], let address = members[.formatted] {
            check(address, maximumBytes: 1024)
        }
    }

    private static func check(_ text: String, maximumBytes: Int) {
        demand((1...maximumBytes).contains(text.utf8.count), "an attribute has its bound")
        demand(
            text.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }, "an attribute has no controls"
        )
    }
}
