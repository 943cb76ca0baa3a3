public import HTTPServer
import HTTPTypes
public import Logging

extension StaticFiles {
    /// The files of the site beside the API: its pages load nothing from elsewhere and are in nobody's frame.
    public convenience init(siteIn folder: String, logger: Logger) {
        self.init(
            folder: folder,
            fields: [
                .cacheControl: "public, max-age=300",
                .xContentTypeOptions: "nosniff",
                .referrerPolicy: "no-referrer",
                .contentSecurityPolicy: """
                default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; \
                base-uri 'none'; form-action 'none'; frame-ancestors 'none'
                """,
            ], logger: logger)
    }
}
