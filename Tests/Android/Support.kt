package latchkey.client.tests

import com.sun.net.httpserver.HttpServer
import java.io.Closeable
import java.net.HttpURLConnection
import java.net.InetSocketAddress
import java.net.ServerSocket
import java.net.URL
import java.util.Timer
import kotlin.concurrent.schedule
import kotlin.concurrent.thread
import latchkey.client.LatchkeyException
import latchkey.client.TokenStore
import latchkey.client.Tokens
import org.json.JSONObject

/** Keeps tokens in memory. */
class MemoryTokenStore : TokenStore {
    var tokens: Tokens? = null
    var saves = 0
    override fun load() = tokens
    override fun save(tokens: Tokens?) {
        this.tokens = tokens
        saves += 1
    }
}

fun assert(isTrue: Boolean, what: String) {
    if (!isTrue) throw AssertionError(what)
}

fun <Value> assertEqual(value: Value, expected: Value, what: String) =
    assert(value == expected, "$what: $value, not $expected")

/** The parts of the simulator that play a phone. */
class Simulator(private val url: String) {
    /** A connection over the network of a device, such as `wifi` or `cellular:northwind:jane`. */
    fun network(device: String): (URL) -> HttpURLConnection = { url ->
        (url.openConnection() as HttpURLConnection).apply { setRequestProperty("Cookie", "simulated_device=$device") }
    }

    fun googleIDToken(nonce: String): String =
        ask("$url/providers/google/native-tokens", "nonce=$nonce&user=jane").getString("id_token")

    fun operatorToken(user: String): String =
        ask("$url/operators/northwind/operator-tokens", "user=$user").getString("operator_token")

    fun firebaseToken(number: String): String = ask(
        "$url/firebase/tokens",
        "project_number=123456789012&project_id=demo-app&phone_number=%2B" + number.drop(1)).getString("token")

    /** The wallet of a phone with a number, behind Credential Manager, which names the app by [origin]. */
    fun wallet(number: String, origin: String = APP_ORIGIN): (String) -> String = { requestJson ->
        val request = JSONObject(requestJson).getJSONArray("requests").getJSONObject(0)
        val asked = mapOf("request" to request, "origin" to origin, "phone_number" to number)
        ask("$url/aggregator/wallet", JSONObject(asked).toString()).toString()
    }

    private companion object {
        /** Of the demonstration's app: the hash of its signing certificate. */
        const val APP_ORIGIN = "android:apk-key-hash:ikZOBb8DevJDIgDIaHRV_NHgqATWnIow0p2ln1hKx38"
    }
}

/** The code of the error of a call that must fail. */
fun errorOf(call: () -> Unit): String {
    try {
        call()
    } catch (error: LatchkeyException) {
        assert(error.message != error.code || error.response.has("error"), "an error without a message: ${error.code}")
        return error.code
    }
    throw AssertionError("the call did not fail")
}

/** What the simulator responds with to a form, or to JSON. */
fun ask(url: String, body: String): JSONObject {
    val connection = URL(url).openConnection() as HttpURLConnection
    connection.doOutput = true
    if (body.startsWith("{")) connection.setRequestProperty("Content-Type", "application/json")
    connection.outputStream.use { it.write(body.toByteArray()) }
    return JSONObject(connection.inputStream.use { it.readBytes().toString(Charsets.UTF_8) })
}

/** A server whose responses are written here: a status, a body and perhaps fields for each path. */
class ScriptedServer : Closeable {
    class Response(val status: Int, val body: String, vararg val fields: Pair<String, String>)

    private val server = HttpServer.create(InetSocketAddress("127.0.0.1", 0), 0)
    val responses = mutableMapOf<String, Response>()
    /** The path and the body of each request. */
    val requests = mutableListOf<Pair<String, String>>()
    /** The cookies of each request; an empty text for none. */
    val cookies = mutableListOf<String>()
    val url get() = "http://127.0.0.1:${server.address.port}"

    init {
        server.createContext("/") { exchange ->
            val path = exchange.requestURI.rawPath
            val body = exchange.requestBody.readBytes().toString(Charsets.UTF_8)
            val response = synchronized(this) {
                requests.add(path to body)
                cookies.add(exchange.requestHeaders.getFirst("Cookie") ?: "")
                responses[path] ?: Response(500, "{}")
            }
            for ((name, value) in response.fields) exchange.responseHeaders.add(name, value)
            val bytes = response.body.toByteArray()
            exchange.sendResponseHeaders(response.status, bytes.size.toLong().let { if (it == 0L) -1L else it })
            exchange.responseBody.use { it.write(bytes) }
        }
        server.start()
    }

    fun bodies(path: String) = requests.filter { it.first == path }.map { it.second }

    override fun close() = server.stop(0)
}

/** A server that begins a response, and sends a byte of it every 50 ms, without an end. */
class SlowServer : Closeable {
    private val server = ServerSocket(0)
    private val timer = Timer(true)
    val url = "http://127.0.0.1:${server.localPort}/"

    init {
        thread(isDaemon = true) {
            val stream = server.accept().getOutputStream()
            stream.write("HTTP/1.1 302 Found\r\nLocation: ".toByteArray())
            timer.schedule(0, 50) { stream.runCatching { write('a'.toInt()) }.onFailure { cancel() } }
        }
    }

    override fun close() {
        timer.cancel()
        server.close()
    }
}
