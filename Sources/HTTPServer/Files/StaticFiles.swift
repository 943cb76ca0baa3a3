import Dispatch
public import HTTPTypes
public import Logging
public import Primitives
import Synchronization

/// Serves the files of a folder and of the program, with conditional requests, single ranges and gzip (RFC 9110). A
/// file of the folder wins over one of the program with its path. A file `style.css.gz` beside `style.css`, and not
/// older, is served as its compressed form.
///
/// Nothing outside of the folder is served, and no name that begins with a dot, except `/.well-known/`. Changes on disk
/// are visible at once: each request checks the file; only the content of small files is cached.
public final class StaticFiles: Sendable {
    /// Sizes of files and of the cache.
    public struct Limits: Sendable {
        /// Bytes of a file. A larger file is not served, because a response is held in memory.
        public var fileBytes = 4 << 20
        /// Bytes of all cached contents.
        public var cacheBytes = 16 << 20
        /// The number of cached contents.
        public var cacheCount = 512

        public init() {}
    }

    private let folder: String?
    private let builtIn: BuiltInFiles
    private let fields: HTTPFields
    private let limits: Limits
    private let clock: WallClock
    private let logger: Logger
    /// For the lines of files that cannot be served: anyone can request them.
    private let unreadable = LogSampler()
    /// File access blocks, so it runs here and not on an event loop.
    private let queue = DispatchQueue(label: "static-files", qos: .userInitiated)
    private let cache: Mutex<SiteCache>

    /// - Parameters:
    ///   - folder: A path; the folder may be missing. Nil for none.
    ///   - builtIn: The files of the program. They have no `Last-Modified`.
    ///   - fields: Added to each response with a file, such as `Cache-Control`.
    public init(
        folder: String?, builtIn: BuiltInFiles = BuiltInFiles([:]), fields: HTTPFields, limits: Limits = Limits(),
        clock: WallClock = .system, logger: Logger
    ) {
        self.folder = folder
        self.builtIn = builtIn
        self.fields = fields
        self.limits = limits
        self.clock = clock
        self.logger = logger
        cache = Mutex(SiteCache(maximumBytes: limits.cacheBytes, maximumCount: limits.cacheCount))
    }

    /// The response to a request for a file; nil if there is no such file.
    /// - Throws: ``HTTPError`` 405 for a method other than GET and HEAD, 406 if the client accepts no available coding,
    ///   416 for a range beyond the end.
    public func respond(to request: Request) async throws(HTTPError) -> Response? {
        guard let path = SitePath.file(request.path) else { return nil }
        guard let content = await content(of: path) else { return nil }
        switch request.method {
        case .get, .head: return try response(content, to: request)
        case .options: return Response(status: .noContent, headers: [.allow: Self.methods])
        default: throw Self.methodNotAllowed
        }
    }

    private func content(of path: String) async -> SiteContent? {
        guard let folder else { return builtIn.content(of: path) }
        return await withCheckedContinuation { found in
            queue.async {
                found.resume(returning: self.content(of: path, in: folder) ?? self.builtIn.content(of: path))
            }
        }
    }

    // MARK: Disk

    private func content(of path: String, in folder: String) -> SiteContent? {
        do throws(SiteFile.OpenError) {
            let file = try SiteFile(path, in: folder)
            let coded = precompressed(path, in: folder, notBefore: file.version)
            let versions = SiteCache.Versions(file: file.version, precompressed: coded?.version)
            if let kept = cache.withLock({ $0.content(of: path, versions) }) { return kept }
            return read(path, file, coded, versions)
        } catch {
            if case .unreadable(let error) = error {
                warn("a file cannot be read", ["path": "\(path)", "error": "\(error)"])
            }
            return nil
        }
    }

    /// Logs a file that cannot be served, ten times a minute. The next line has the number of the others.
    private func warn(_ message: Logger.Message, _ metadata: Logger.Metadata) {
        guard let leftOut = unreadable.take(at: clock.now()) else { return }
        var metadata = metadata
        if leftOut > 0 { metadata["left_out"] = .stringConvertible(leftOut) }
        logger.warning(message, metadata: metadata)
    }

    /// The file's `.gz`, unless it is older than the file.
    private func precompressed(
        _ path: String, in folder: String, notBefore version: SiteFile.Version
    ) -> SiteFile? {
        guard !path.hasSuffix(".gz"), let file = try? SiteFile(path + ".gz", in: folder),
            file.version.modified >= version.modified, file.version.size <= limits.fileBytes
        else { return nil }
        return file
    }

    private func read(
        _ path: String, _ file: SiteFile, _ coded: SiteFile?, _ versions: SiteCache.Versions
    ) -> SiteContent? {
        guard let bytes = file.read(limit: limits.fileBytes) else {
            warn(
                "a file is too large to be served, or cannot be read",
                [
                    "path": "\(path)", "bytes": .stringConvertible(file.version.size),
                    "limit": .stringConvertible(limits.fileBytes),
                ])
            return nil
        }
        let codedBytes = coded.flatMap { $0.read(limit: limits.fileBytes) }
        let modified = Int(file.version.modified.components.seconds)
        let read = SiteContent(path: path, bytes, modified: modified, precompressed: codedBytes)
        // By the system's clock, as the times of files are.
        let mayChange = versions.mayChangeUnseen(at: WallClock.system.now())
        return cache.withLock { $0.add(read, of: path, mayChange ? nil : versions) }
    }

    // MARK: Response

    private func response(_ content: SiteContent, to request: Request) throws(HTTPError) -> Response {
        let accepted = AcceptEncoding(request)
        let gzip = accepted.choosesGzip ? content.gzip : nil
        guard gzip != nil || accepted.takesIdentity else { throw Self.notAcceptable }
        let variant = gzip ?? content.plain
        let now = Int(clock.now().secondsSinceEpoch)
        let modified = content.modified.map { min($0, now) }
        var headers = fields
        headers[.contentType] = content.type
        headers[.eTag] = variant.tag
        headers[.lastModified] = modified.map(UTCTime.httpText)
        headers[.acceptRanges] = "bytes"
        headers[.vary] = "Accept-Encoding"
        if gzip != nil { headers[.contentEncoding] = "gzip" }
        if isUnchanged(variant, modified, request) {
            headers[.contentType] = nil
            headers[.contentEncoding] = nil
            return Response(status: .notModified, headers: headers)
        }
        let range = range(of: request, variant, modified, now)
        switch range.map({ ByteRange.read($0, of: variant.bytes.count) }) ?? .ignored {
        case .ignored: return Response(status: .ok, headers: headers, body: variant.bytes, ownedBy: content)
        case .part(let part):
            headers[.contentRange] = "bytes \(part.lowerBound)-\(part.upperBound - 1)/\(variant.bytes.count)"
            return Response(
                status: .partialContent, headers: headers, body: variant.bytes, part: part, ownedBy: content)
        case .unsatisfiable: throw Self.rangeNotSatisfiable(length: variant.bytes.count)
        }
    }

    /// RFC 9110 section 13.2.2: If-Modified-Since counts only where there is no If-None-Match.
    private func isUnchanged(_ variant: SiteContent.Variant, _ modified: Int?, _ request: Request) -> Bool {
        let tags = request.headers.values(of: .ifNoneMatch)
        guard tags.isEmpty else { return EntityTag.list(tags, has: variant.tag) }
        guard let modified, let text = request.headers[.ifModifiedSince],
            let since = UTCTime.moment(text, in: .http)
        else { return false }
        return modified <= since.secondsSinceEpoch
    }

    /// The Range field if it applies: on a GET, and if If-Range holds, by strong comparison (RFC 9110 section 13.1.5).
    /// A date is a strong validator if it is at least a second older than the response.
    private func range(of request: Request, _ variant: SiteContent.Variant, _ modified: Int?, _ now: Int) -> String? {
        guard request.method == .get, let range = request.headers[.range] else { return nil }
        guard request.headers.count(of: .ifRange) > 0 else { return range }
        guard let condition = request.headers[.ifRange] else { return nil }
        if condition == variant.tag { return range }
        guard let modified else { return nil }
        return condition == UTCTime.httpText(modified) && modified < now - 1 ? range : nil
    }

    package static let methods = "GET, HEAD, OPTIONS"

    package static let methodNotAllowed = HTTPError.methodNotAllowed(allowing: methods)

    private static let notAcceptable = HTTPError(
        .notAcceptable, code: "not_acceptable",
        message: "No available content coding is in Accept-Encoding. Allow identity.",
        headers: [.vary: "Accept-Encoding"])

    private static func rangeNotSatisfiable(length: Int) -> HTTPError {
        HTTPError(
            .rangeNotSatisfiable, code: "range_not_satisfiable",
            message: "The range is beyond the end of the file. Request bytes below \(length).",
            headers: [.contentRange: "bytes */\(length)"])
    }
}
