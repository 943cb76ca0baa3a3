import CLatchkeyCurl
import OpenIDConnect

/// The thread that runs libcurl: takes requests from the inbox, advances transfers, hands out responses.
///
/// Only that thread uses it, so nothing is locked.
final class TransferLoop {
    private let configuration: OutboundHTTPConfiguration
    private let inbox: Inbox
    private let multi: MultiHandle
    private var queues: PerHostQueue<HostKey, Exchange>
    private var active: [Transfer] = []
    private var idle: [Transfer]
    private var arrivals: [Exchange] = []
    private var finished: [(exchange: Exchange, outcome: Exchange.Outcome)] = []
    /// The earliest deadline of a waiting exchange, or an earlier time.
    private var firstDeadline: ContinuousClock.Instant?

    init(_ configuration: OutboundHTTPConfiguration, inbox: Inbox, multi: MultiHandle) throws(OutboundHTTPStartError) {
        self.configuration = configuration
        self.inbox = inbox
        self.multi = multi
        queues = PerHostQueue(
            maximumActive: configuration.perHostConnections, maximumWaiting: configuration.perHostWaiting)
        // The first one proves that libcurl supports all options.
        idle = [try Transfer(configuration)]
    }

    /// Runs until the inbox is stopped; then fails the remaining exchanges and closes all connections.
    func run() {
        while inbox.take(into: &arrivals) {
            admitArrivals()
            multi.perform()
            collectFinished()
            failExpired()
            handOutFinished()
            if inbox.beginSleep() { multi.poll(milliseconds: longestSleep()) }
        }
        close()
    }

    private func admitArrivals() {
        for exchange in arrivals {
            switch queues.admit(exchange, at: exchange.host) {
            case .start: if !start(exchange) { passOn(exchange.host) }
            case .wait: firstDeadline = min(firstDeadline ?? exchange.deadline, exchange.deadline)
            case .overloaded: finish(exchange, .overloaded, "too many requests are waiting for this host")
            }
        }
        arrivals.removeAll(keepingCapacity: true)
    }

    /// False if the exchange could not start, and is finished already.
    private func start(_ exchange: Exchange) -> Bool {
        do throws(OutboundError) {
            let transfer = try takeTransfer(for: exchange)
            try transfer.prepare(exchange, now: .now)
            guard multi.add(transfer.easy) else {
                transfer.clear()
                throw exchange.error(.overloaded, "libcurl did not take the request")
            }
            transfer.slot = active.count
            active.append(transfer)
            return true
        } catch {
            finished.append((exchange, .failure(error)))
            return false
        }
    }

    private func takeTransfer(for exchange: Exchange) throws(OutboundError) -> Transfer {
        if let transfer = idle.popLast() { return transfer }
        do {
            return try Transfer(configuration)
        } catch {
            throw exchange.error(.overloaded, error.reason)
        }
    }

    /// Starts the exchange that waited longest for a place that became free.
    private func passOn(_ host: HostKey) {
        while let next = queues.leave(host) {
            if start(next) { return }
        }
    }

    private func collectFinished() {
        while let (easy, result) = multi.nextFinished() {
            guard let transfer = Transfer.from(ccurl_private(easy)) else { continue }
            let exchange = transfer.exchange
            if let exchange { finished.append((exchange, transfer.outcome(result, of: exchange))) }
            retire(transfer)
            if let exchange { passOn(exchange.host) }
        }
    }

    private func retire(_ transfer: Transfer) {
        multi.remove(transfer.easy)
        transfer.clear()
        active.swapAt(transfer.slot, active.count - 1)
        active[transfer.slot].slot = transfer.slot
        active.removeLast()
        if idle.count < configuration.keptConnections { idle.append(transfer) }
    }

    private func failExpired() {
        guard let first = firstDeadline else { return }
        let now = ContinuousClock.now
        guard first <= now else { return }
        for exchange in queues.removeWaiting(where: { $0.deadline <= now }) {
            finish(exchange, .timedOut, "the timeout ended while the request waited for a connection")
        }
        firstDeadline = queues.waiting.map(\.deadline).min()
    }

    private func finish(_ exchange: Exchange, _ code: OutboundError.Code, _ reason: String) {
        finished.append((exchange, .failure(exchange.error(code, reason))))
    }

    /// Resumes the callers after the state of libcurl and of this loop is consistent.
    private func handOutFinished() {
        for (exchange, outcome) in finished { exchange.continuation.resume(returning: outcome) }
        finished.removeAll(keepingCapacity: true)
    }

    /// libcurl wakes itself for the timers of transfers.
    private func longestSleep() -> Int32 {
        guard let firstDeadline else { return 60_000 }
        return Int32(clamping: min(60_000, (firstDeadline - .now).wholeMilliseconds))
    }

    private func close() {
        for transfer in active {
            multi.remove(transfer.easy)
            if let exchange = transfer.exchange {
                let error = exchange.error(.shutDown, mayHaveBeenSent: transfer.sendings > 0, Self.shutDown)
                finished.append((exchange, .failure(error)))
            }
        }
        for exchange in arrivals { finish(exchange, .shutDown, Self.shutDown) }
        for exchange in queues.removeWaiting(where: { _ in true }) { finish(exchange, .shutDown, Self.shutDown) }
        active = []
        idle = []
        inbox.endWaking()
        multi.close()
        handOutFinished()
        inbox.announceEnd()
    }

    private static let shutDown = "the client was shut down"
}
