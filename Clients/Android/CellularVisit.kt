package latchkey.client

import java.io.IOException
import java.net.HttpURLConnection
import java.net.MalformedURLException
import java.net.URL
import java.util.Timer
import java.util.concurrent.atomic.AtomicBoolean
import kotlin.concurrent.schedule

/**
 * Visits an authorization URL over the cellular network, and follows its redirects up to the app's redirect URI,
 * without showing a page.
 *
 * Each request has no more than the origin's own cookies of this visit. Nothing of one origin is sent to another. No
 * content is read. Without TLS there are only URLs of this machine, for a server that is there.
 */
internal class CellularVisit(
    private val redirectURI: String, private val allowsLoopbackHTTP: Boolean,
    private val open: (URL) -> HttpURLConnection, timeLimitMilliseconds: Int = 15_000
) {
    private val cookies = mutableMapOf<String, MutableMap<String, String>>()
    private val deadline = System.nanoTime() + timeLimitMilliseconds * 1_000_000L

    /** The redirect URI with its parameters. */
    fun callback(from: String): String {
        var url = checked(from, null)
        for (count in 0..MOST_REDIRECTS) {
            val location = redirect(url)
            if (isCallback(location, redirectURI)) return location
            url = checked(location, url)
        }
        throw failure("authorization_stopped")
    }

    private fun redirect(url: URL): String {
        val left = ((deadline - System.nanoTime()) / 1_000_000).toInt()
        if (left <= 0) throw failure("cellular_unavailable")
        val origin = url.protocol + "://" + url.authority
        var connection: HttpURLConnection? = null
        val timer = Timer(true)
        val isLate = AtomicBoolean()
        try {
            connection = open(url)
            // The timeouts are for each read, and an operator may send byte by byte.
            timer.schedule(left.toLong()) {
                isLate.set(true)
                connection.disconnect()
            }
            connection.instanceFollowRedirects = false
            connection.useCaches = false
            connection.connectTimeout = left
            connection.readTimeout = left
            connection.setRequestProperty("Accept", "text/html")
            val present = cookies[origin].orEmpty()
            if (present.isNotEmpty()) {
                connection.setRequestProperty("Cookie", present.entries.joinToString("; ") { it.key + "=" + it.value })
            }
            val status = connection.responseCode
            if (isLate.get()) throw failure("cellular_unavailable")
            if (status !in listOf(301, 302, 303, 307, 308)) throw failure("authorization_stopped")
            keep(values(connection, "Set-Cookie"), origin)
            return values(connection, "Location").singleOrNull() ?: throw failure("authorization_stopped")
        } catch (error: IOException) {
            throw failure("cellular_unavailable")
        } finally {
            timer.cancel()
            connection?.disconnect()
        }
    }

    private fun values(connection: HttpURLConnection, name: String): List<String> =
        connection.headerFields.filterKeys { name.equals(it, ignoreCase = true) }.values.flatten()

    private fun checked(text: String, base: URL?): URL {
        val stopped = failure("authorization_stopped")
        val url = try { URL(base, text) } catch (error: MalformedURLException) { throw stopped }
        val isLoopback = url.host in listOf("127.0.0.1", "localhost", "[::1]")
        val isTrusted = url.protocol == "https" || url.protocol == "http" && isLoopback && allowsLoopbackHTTP
        val isPlain = text.length <= 8192 && text.all { it in '!'..'~' } && url.host != "" && url.userInfo == null
        return if (isTrusted && isPlain) url else throw stopped
    }

    private fun keep(fields: List<String>, origin: String) {
        val present = cookies.getOrPut(origin) { linkedMapOf() }
        for (field in fields.filter { it.length <= 4096 }) {
            val pair = field.substringBefore(';')
            val name = pair.substringBefore('=')
            if ('=' !in pair || name == "" || !pair.all { it in '!'..'~' }) continue
            present.remove(name)
            val isDeleted = field.split(';').drop(1).any { it.trim().startsWith("max-age=0", ignoreCase = true) }
            if (!isDeleted && present.size < 20) present[name] = pair.substringAfter('=')
        }
    }

    private companion object {
        const val MOST_REDIRECTS = 10
    }
}
