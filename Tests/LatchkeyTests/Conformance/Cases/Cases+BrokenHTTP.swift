import CarrierSimulator
import Primitives

extension ConformanceCases {
    static let brokenHTTP = broken + slow

    private static let scripts: [(name: String, script: CarrierProxy.Script)] = [
        ("before-any-byte", Scripts.closeAtOnce), ("reset-before-any-byte", Scripts.resetAtOnce),
        ("after-headers", Scripts.closeAfterHead), ("reset-mid-body", Scripts.resetInBody),
        ("close-mid-body", Scripts.closeInBody), ("close-mid-chunk", Scripts.closeInChunk),
        ("no-http", Scripts.noHTTP), ("two-lengths", Scripts.twoLengths), ("endless-head", Scripts.endlessHead),
    ]

    private static let broken: [ConformanceCase] =
        scripts.flatMap { name, script -> [ConformanceCase] in
            [
                .upstream("sec-35 \(name):token", .raw(.token, script)),
                .upstream("sec-35 \(name):jwks", .raw(.keys, script)),
                .upstream("sec-35 \(name):userinfo", .raw(.userInfo, script)),
                .configuration("sec-35 \(name):metadata", .raw(.discovery, script)),
            ]
        }

    private static let slow: [ConformanceCase] = [
        .upstream("sec-36 slow-drip:token-head", .raw(.token, Scripts.drippedHead)),
        .upstream("sec-36 slow-drip:token-body", .raw(.token, Scripts.drippedBody)),
        .upstream("sec-36 slow-drip:jwks-body", .raw(.keys, Scripts.drippedBody)),
        .upstream("sec-36 slow-drip:userinfo-body", .raw(.userInfo, Scripts.drippedBody)),
        .configuration("sec-36 slow-drip:metadata-body", .raw(.discovery, Scripts.drippedBody)),
        .upstream("sec-36 silence:token", .fault(.tokenSlow)),
        .upstream("sec-36 silence:jwks", .fault(.keysSlow)),
        .upstream("sec-36 silence:userinfo", .fault(.userInfoSlow)),
        .configuration("sec-36 silence:metadata", .fault(.discoverySlow)),
        .upstream("sec-36 slow-drip:100-at-once", .steps(hangManyAtOnce), .elsewhere),
    ]
}
