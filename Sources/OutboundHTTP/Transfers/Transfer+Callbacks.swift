import CLatchkeyCurl
import OpenIDConnect
import Primitives

// The callbacks of libcurl. Their context is the transfer, which outlives the use of its easy handle.
extension Transfer {
    func setCallbacks() -> CURLcode {
        ccurl_set_callbacks(
            easy,
            { bytes, _, count, context in Transfer.from(context)?.receiveBody(bytes, count) ?? 0 },
            { bytes, _, count, context in Transfer.from(context)?.receiveHeader(bytes, count) ?? 0 },
            { context, _, address in Transfer.from(context)?.openSocket(address) ?? CURL_SOCKET_BAD },
            { context, _, _, _, _ in Transfer.from(context)?.beginSending() ?? CURL_PREREQFUNC_ABORT },
            Unmanaged.passUnretained(self).toOpaque())
    }

    static func from(_ context: UnsafeMutableRawPointer?) -> Transfer? {
        guard let context else { return nil }
        return Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue()
    }

    /// Receives a decompressed piece of the body. Returning fewer bytes than given ends the transfer.
    private func receiveBody(_ bytes: UnsafeMutablePointer<CChar>?, _ count: Int) -> Int {
        guard let exchange else { return 0 }
        let limit = exchange.request.maximumBodyBytes
        guard count <= limit - body.count else {
            isTooLarge = true
            return 0
        }
        if body.isEmpty, let announced = head.contentLength {
            // The announced length may be false, so no more than a usual response needs is reserved.
            body.reserveCapacity(max(count, min(announced, limit, 64 * 1024)))
        }
        body.append(contentsOf: UnsafeRawBufferPointer(start: bytes, count: count))
        return count
    }

    private func receiveHeader(_ bytes: UnsafeMutablePointer<CChar>?, _ count: Int) -> Int {
        guard head.receive(UnsafeRawBufferPointer(start: bytes, count: count)) else {
            isTooLarge = true
            return 0
        }
        return count
    }

    private func openSocket(_ address: UnsafeMutablePointer<curl_sockaddr>?) -> curl_socket_t {
        guard let address else { return CURL_SOCKET_BAD }
        if let addressPolicy {
            guard let target = Self.target(address), isPermitted(target, by: addressPolicy) else {
                wasAddressRefused = true
                return CURL_SOCKET_BAD
            }
        }
        return ccurl_open_socket(address)
    }

    private static func target(_ address: UnsafePointer<curl_sockaddr>) -> IPAddress? {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 16) { octets in
            guard let start = octets.baseAddress else { return nil }
            return IPAddress(octets: octets.prefix(ccurl_octets(address, start)))
        }
    }

    /// Plain http is allowed to loopback addresses only, whatever the host's name is.
    private func isPermitted(_ address: IPAddress, by policy: AddressPolicy) -> Bool {
        guard policy.permits(address) else { return false }
        return exchange?.request.url.scheme == .https || address.scope == .loopback
    }

    /// Called when a connection is established, before the request is sent; also before libcurl repeats the request
    /// because a reused connection ended without a response. The server may have acted on the request, so the
    /// repetition is refused.
    private func beginSending() -> Int32 {
        sendings += 1
        return sendings == 1 ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
    }
}
