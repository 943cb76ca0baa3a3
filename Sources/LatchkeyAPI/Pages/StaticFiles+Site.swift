package import HTTPServer
import HTTPTypes
package import Logging

extension StaticFiles {
    /// The files of the site beside the API: its pages load nothing from other origins and cannot be framed.
    /// - Parameter demonstration: Its carriers may be called by the pages.
    package convenience init(siteIn folder: String, demonstration: Demonstration? = nil, logger: Logger) {
        let connected = (["'self'"] + [demonstration?.carriersURL].compactMap(\.self)).joined(separator: " ")
        self.init(
            folder: folder,
            fields: [
                .cacheControl: "public, max-age=300",
                .xContentTypeOptions: "nosniff",
                .referrerPolicy: "no-referrer",
                .contentSecurityPolicy: """
                default-src 'none'; style-src 'self'; script-src 'self'; connect-src \(connected); img-src 'self'; \
                base-uri 'none'; form-action 'none'; frame-ancestors 'none'
                """,
            ], logger: logger)
    }
}
