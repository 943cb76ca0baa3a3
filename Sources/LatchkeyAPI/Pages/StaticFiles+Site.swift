import CLatchkeySite
package import HTTPServer
import HTTPTypes
package import Logging

extension StaticFiles {
    /// The files of the site beside the API: its pages load nothing from other origins and cannot be framed.
    ///
    /// The files of `Public` are part of the program.
    /// - Parameter folder: A folder whose files add to the program's, and replace the ones with the same path; nil for
    ///   none.
    package convenience init(
        siteIn folder: String?, hasConsole: Bool, connectedTo origins: [String] = [], logger: Logger
    ) {
        let connected = (["'self'"] + origins).joined(separator: " ")
        self.init(
            folder: folder, builtIn: BuiltInFiles(Self.compiledFiles(withConsole: hasConsole)),
            fields: [
                .cacheControl: "public, max-age=300",
                .referrerPolicy: "no-referrer",
                .contentSecurityPolicy: """
                default-src 'none'; style-src 'self'; script-src 'self'; connect-src \(connected); img-src 'self'; \
                base-uri 'none'; form-action 'none'; frame-ancestors 'none'
                """,
            ], logger: logger)
    }

    package static func compiledFiles(withConsole hasConsole: Bool) -> [String: @Sendable () -> [UInt8]] {
        var files: [String: @Sendable () -> [UInt8]] = [:]
        for index in 0..<csite_file_count() {
            let path = String(cString: csite_files()[index].path)
            let isOfConsole = path == "index.html" || path.hasPrefix("console")
            guard hasConsole || !isOfConsole else { continue }
            files[path] = {
                let file = csite_files()[index]
                return Array(UnsafeBufferPointer(start: file.bytes, count: file.count))
            }
        }
        return files
    }
}
