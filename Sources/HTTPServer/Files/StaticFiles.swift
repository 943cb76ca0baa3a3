import Dispatch
public import HTTPTypes
public import Logging
public import Primitives
import Synchronization

/// Serves the files of a folder: conditional requests, single ranges, and the gzip coding where the client takes it and
/// it is worth it (RFC 9110). A file `style.css.gz` beside `style.css`, and not older, is served in its place.
///
/// Nothing outside of the folder is served, nor what begins with a dot, but for `/.well-known/`. Changes on the disk
/// are seen at once: each request looks at the file; only the content of small files is kept.
public final class StaticFiles: Sendable {
    public struct Limits: Sendable {
        /// A larger file is not served: an answer is held in memory.
        public var fileBytes = 4 << 20
        /// Of all contents that are kept.
        public var cacheBytes = 16 << 20
        /// How many contents are kept.
        public var cacheCount = 512

        public init() {}
    }

    private let folder: String
    private let fields: HTTPFields
    private let limits: Limits
    private let clock: WallClock
    private let logger: Logger
    /// Disks block: what waits for one does so here and not on an event loop.
    private let queue = DispatchQueue(label: "static-files", qos: .userInitiated)
    private let cache: Mutex<SiteCache>

    /// - Parameters:
    ///   - folder: A path; the folder need not be there.
    ///   - fields: Of each answer with a file, such as `Cache-Control`.
    public init(
        folder: String, fields: HTTPFields, limits: Limits = Limits(), clock: WallClock = .system, logger: Logger
    ) {
        self.folder = folder
        self.fields = fields
        self.limits = limits
        self.clock = clock
        self.logger = logger
        cache = Mutex(SiteCache(maximumBytes: limits.cacheBytes, maximumCount: limits.cacheCount))
    }

    /// The answer to a request for a file; nil if there is no such file.
    /// - Throws: ``HTTPError`` 405 for a method other than GET and HEAD, 406 if the client takes no coding that there is,
    ///   416 for a range that lies behind the end.
    public func respond(to request: Request) async throws(HTTPError) -> Response? {
        guard let path = SitePath.file(request.path) else { return nil }
        let content = await withCheckedContinuation { found in
            queue.async { found.resume(returning: self.content(of: path)) }
        }
        guard let content else { return nil }
        switch request.method {
        case .get, .head: return try response(content, to: request)
        case .options: return Response(status: .noContent, headers: [.allow: Self.methods])
        default: throw Self.methodNotAllowed
        }
    }

    // MARK: The disk

    private func content(of path: String) -> SiteContent? {
        do throws(SiteFile.Failure) {
            let file = try SiteFile(path, in: folder)
            let coded = precompressed(path, notBefore: file.version)
            let versions = SiteCache.Versions(file: file.version, precompressed: coded?.version)
            if let kept = cache.withLock({ $0.content(of: path, versions) }) { return kept }
            return read(path, file, coded, versions)
        } catch {
            switch error {
            case .missing: break
            case .unreadable(let error):
                logger.warning("a file cannot be read", metadata: ["path": "\(path)", "error": "\(error)"])
            }
            return nil
        }
    }

    /// The file's `.gz`, if it is not one that was made of an earlier content.
    private func precompressed(_ path: String, notBefore version: SiteFile.Version) -> CodedFile? {
        guard !path.hasSuffix(".gz"), let file = try? SiteFile(path + ".gz", in: folder),
            file.version.modified >= version.modified, file.version.size <= limits.fileBytes
        else { return nil }
        return CodedFile(file)
    }

    private func read(
        _ path: String, _ file: borrowing SiteFile, _ coded: CodedFile?, _ versions: SiteCache.Versions
    ) -> SiteContent? {
        guard let bytes = file.read(limit: limits.fileBytes) else {
            logger.warning(
                "a file is too large to be served, or cannot be read",
                metadata: ["path": "\(path)", "bytes": "\(file.version.size)", "limit": "\(limits.fileBytes)"])
            return nil
        }
        let name = path.split(separator: "/").last.map(String.init) ?? path
        let codedBytes = coded.flatMap { $0.read(limit: limits.fileBytes) }
        let content = SiteContent(
            name: name, bytes, modified: file.version.modified.seconds, precompressed: codedBytes)
        if !versions.mayChangeUnseen(at: .now()) { cache.withLock { $0.keep(content, of: path, versions) } }
        return content
    }

    // MARK: The answer

    private func response(_ content: SiteContent, to request: Request) throws(HTTPError) -> Response {
        let accepted = AcceptEncoding(request)
        let gzip = accepted.choosesGzip ? content.gzip : nil
        guard gzip != nil || accepted.takesIdentity else { throw Self.notAcceptable }
        let variant = gzip ?? content.plain
        let now = Int(clock.now().secondsSinceEpoch)
        let modified = min(content.modified, now)
        var headers = fields
        headers[.contentType] = content.type
        headers[.eTag] = variant.tag
        headers[.lastModified] = DateField.format(modified)
        headers[.acceptRanges] = "bytes"
        headers[.vary] = "Accept-Encoding"
        if gzip != nil { headers[.contentEncoding] = "gzip" }
        if isUnchanged(variant, modified, request) {
            headers[.contentType] = nil
            headers[.contentEncoding] = nil
            return Response(status: .notModified, headers: headers)
        }
        guard let range = range(of: request, variant, modified, now) else {
            return Response(status: .ok, headers: headers, body: variant.bytes)
        }
        switch ByteRange.read(range, of: variant.bytes.count) {
        case .ignored: return Response(status: .ok, headers: headers, body: variant.bytes)
        case .part(let part):
            headers[.contentRange] = "bytes \(part.lowerBound)-\(part.upperBound - 1)/\(variant.bytes.count)"
            return Response(status: .partialContent, headers: headers, body: Array(variant.bytes[part]))
        case .unsatisfiable: throw Self.rangeNotSatisfiable(length: variant.bytes.count)
        }
    }

    /// RFC 9110 section 13.2.2: If-Modified-Since counts only where there is no If-None-Match.
    private func isUnchanged(_ variant: SiteContent.Variant, _ modified: Int, _ request: Request) -> Bool {
        let tags = request.headers.values(of: .ifNoneMatch)
        guard tags.isEmpty else { return EntityTag.list(tags, has: variant.tag) }
        guard let text = request.headers[.ifModifiedSince], let since = UTCTime.moment(text, in: .http) else {
            return false
        }
        return modified <= since.secondsSinceEpoch
    }

    /// The Range field, if it is to be looked at: of a GET, and if there is an If-Range that it holds (RFC 9110 section
    /// 13.1.5: by strong comparison; a date is strong when it was over before the answer was made).
    private func range(
        of request: Request, _ variant: SiteContent.Variant, _ modified: Int, _ now: Int
    ) -> String? {
        guard request.method == .get, let range = request.headers[.range] else { return nil }
        guard request.headers.count(of: .ifRange) > 0 else { return range }
        guard let condition = request.headers[.ifRange] else { return nil }
        if condition == variant.tag { return range }
        return condition == DateField.format(modified) && modified < now - 1 ? range : nil
    }

    private static let methods = "GET, HEAD, OPTIONS"

    private static let methodNotAllowed = HTTPError(
        .methodNotAllowed, code: "method_not_allowed",
        message: "This path does not know the method. Use one of: \(methods).", headers: [.allow: methods])

    private static let notAcceptable = HTTPError(
        .notAcceptable, code: "not_acceptable",
        message: "There is no coding of this that Accept-Encoding takes. Allow identity.",
        headers: [.vary: "Accept-Encoding"])

    private static func rangeNotSatisfiable(length: Int) -> HTTPError {
        HTTPError(
            .rangeNotSatisfiable, code: "range_not_satisfiable",
            message: "The range lies behind the end of the file. Ask for bytes below \(length).",
            headers: [.contentRange: "bytes */\(length)"])
    }
}

/// Keeps an open file where an optional value is wanted.
private final class CodedFile {
    private let file: SiteFile

    init(_ file: consuming SiteFile) { self.file = file }

    var version: SiteFile.Version { file.version }

    func read(limit: Int) -> [UInt8]? { file.read(limit: limit) }
}
