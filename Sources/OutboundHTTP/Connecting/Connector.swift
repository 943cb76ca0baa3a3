import EventLoops
import Primitives

/// Makes the connection for one exchange: resolves the host, and tries its addresses until one accepts, the next one
/// also while the last has not answered for a while (RFC 8305 section 5).
///
/// Sendable without the compiler's check: used on its pool's loop only.
final class Connector: @unchecked Sendable {
    /// How long one address is waited for before the next one is tried, too.
    private static let patience = Duration.milliseconds(250)

    let exchange: Exchange
    let establishDeadline: MonotonicTime
    let pool: ConnectionPool
    private let host: String
    private let port: UInt16
    private var addresses: ArraySlice<IPAddress> = []
    private var attempts: [OutboundConnection] = []
    private var nextAttempt = MonotonicTime.never
    /// Why the address that was tried last did not accept.
    private var failure: SystemError?
    /// What this machine lacked to try an address.
    private var shortage: SystemError?
    private var isOver = false

    init(_ exchange: Exchange, pool: ConnectionPool, at now: MonotonicTime) {
        self.exchange = exchange
        self.pool = pool
        host = pool.shared.proxy?.host ?? exchange.request.url.host
        port = pool.shared.proxy?.port ?? exchange.request.url.port
        establishDeadline = now.advanced(by: pool.shared.configuration.connectTimeout)
    }

    /// When the next thing is due.
    var deadline: MonotonicTime { min(min(establishDeadline, exchange.deadline), nextAttempt) }

    func begin(at now: MonotonicTime) {
        let known = pool.shared.resolver.addresses(of: host, at: now) { [loop = pool.loop] outcome in
            loop.execute {
                switch outcome {
                case .success(let addresses): self.resolved(addresses, at: .now())
                case .failure(let error): self.fail(.overloaded, "\(error)")
                }
            }
        }
        if let known { resolved(known, at: now) }
    }

    private func resolved(_ addresses: [IPAddress], at now: MonotonicTime) {
        assert(pool.loop.isCurrent)
        guard !isOver else { return }
        guard !addresses.isEmpty else { return fail(.unreachable, "the name does not resolve") }
        self.addresses = addresses[...]
        tryNext(at: now)
    }

    private func tryNext(at now: MonotonicTime) {
        nextAttempt = .never
        while let address = addresses.popFirst() {
            guard isPermitted(address) else { continue }
            do throws(SystemError) {
                attempts.append(try attempt(address))
            } catch {
                if error.isShortage(connectingTo: address) { shortage = error } else { failure = error }
                continue
            }
            if !addresses.isEmpty {
                nextAttempt = now.advanced(by: Self.patience)
                pool.arm(nextAttempt)
            }
            return
        }
        if attempts.isEmpty { failWithoutConnection() }
    }

    private func attempt(_ address: IPAddress) throws(SystemError) -> OutboundConnection {
        let attempt = OutboundConnection(descriptor: try Connecting.begin(address, port: port), connector: self)
        do throws(SystemError) {
            try attempt.register()
        } catch {
            attempt.close()
            throw error
        }
        return attempt
    }

    private func failWithoutConnection() {
        // Not the server's failure, even if another address refused: this one might have accepted.
        if let shortage { return fail(.overloaded, "\(shortage)") }
        guard let failure else {
            return fail(.addressRefused, "the address policy does not allow this address")
        }
        fail(.unreachable, failure.text)
    }

    /// Whether the policies allow the address, which is the one that is about to be connected to. A proxy has its own.
    private func isPermitted(_ address: IPAddress) -> Bool {
        if pool.shared.proxy != nil { return true }
        guard pool.shared.configuration.addressPolicy.permits(address) else { return false }
        let url = exchange.request.url
        return url.scheme == .https || pool.shared.configuration.permitsPlainHTTP(to: url.host, at: address)
    }

    func becameReady(_ attempt: OutboundConnection, at now: MonotonicTime) {
        guard !isOver else { return }
        do throws(SystemError) {
            guard try attempt.isEstablished() else { return }
            attempts.removeAll { $0 === attempt }
            end()
            pool.connected(attempt, for: self)
        } catch {
            failure = error
            attempt.close()
            attempts.removeAll { $0 === attempt }
            tryNext(at: now)
        }
    }

    func timePassed(at now: MonotonicTime) {
        guard !isOver else { return }
        if now >= min(exchange.deadline, establishDeadline) {
            return fail(exchange.connectTimeoutError("without a connection", at: now))
        }
        if now >= nextAttempt { tryNext(at: now) }
    }

    private func fail(_ code: OutboundError.Code, _ reason: String) { fail(exchange.error(code, reason)) }

    private func fail(_ error: OutboundError) {
        guard !isOver else { return }
        end()
        pool.failed(self, error)
    }

    /// Closes what is being connected. The pool finishes the exchange.
    func end() {
        isOver = true
        for attempt in attempts { attempt.close() }
        attempts = []
    }
}
