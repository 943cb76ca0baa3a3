package latchkey.client.tests

import java.net.HttpURLConnection
import java.net.URL
import latchkey.client.CellularVisit

private const val APP_URI = "com.example.app:/callback"

/** What the client follows over the cellular network, and what it does not. */
fun visits() = ScriptedServer().use { operator ->
    ScriptedServer().use { other ->
        val opened = mutableListOf<String>()
        fun visit(allowsLoopbackHTTP: Boolean = true): String {
            for (server in listOf(operator, other)) server.cookies.clear()
            opened.clear()
            val open: (URL) -> HttpURLConnection = { url ->
                opened.add(url.path)
                url.openConnection() as HttpURLConnection
            }
            return CellularVisit(APP_URI, allowsLoopbackHTTP, open).callback(operator.url + "/authorize")
        }
        fun redirect(to: String, vararg cookies: String) = ScriptedServer.Response(
            302, "", "Location" to to, *cookies.map { "Set-Cookie" to it }.toTypedArray())

        // Cookies stay with the origin that set them.
        operator.responses["/authorize"] = redirect("next?a", "a=1; Path=/", "b=2; Domain=127.0.0.1", "broken", "=x")
        operator.responses["/next"] = redirect(other.url + "/other", "a=; Max-Age=0", "c=3")
        other.responses["/other"] = redirect(operator.url + "/last", "d=4")
        operator.responses["/last"] = redirect("$APP_URI?status=success&session_id=S%2F1")
        assertEqual(visit(), "$APP_URI?status=success&session_id=S%2F1", "the callback")
        assertEqual(opened, listOf("/authorize", "/next", "/other", "/last"), "the visit")
        val sent = operator.cookies.map { it.split("; ").sorted().joinToString("; ") }
        assertEqual(sent, listOf("", "a=1; b=2", "b=2; c=3"), "the cookies of the operator")
        assertEqual(other.cookies, listOf(""), "the cookies of another origin")

        // What ends a visit that began well; nothing else is opened.
        for (location in listOf(
            "http://192.0.2.1/", "http://operator.example/", "ftp://127.0.0.1/", "com.evil.app:/callback?session_id=1",
            APP_URI, "$APP_URI-evil?session_id=1", "https://user@127.0.0.1/", "/" + "a".repeat(9000), "/a b")) {
            operator.responses["/authorize"] = redirect(location)
            assertEqual(errorOf { visit() }, "authorization_stopped", location)
            assertEqual(opened, listOf("/authorize"), location)
        }
        for (response in listOf(
            ScriptedServer.Response(200, "a page"), ScriptedServer.Response(302, ""),
            ScriptedServer.Response(400, "", "Location" to "$APP_URI?status=success"),
            ScriptedServer.Response(302, "", "Location" to "/next", "Location" to "$APP_URI?status=success"))) {
            operator.responses["/authorize"] = response
            assertEqual(errorOf { visit() }, "authorization_stopped", "${response.status}")
        }
        operator.responses["/authorize"] = redirect("/authorize")
        assertEqual(errorOf { visit() }, "authorization_stopped", "a loop")
        assertEqual(opened.size, 11, "redirects")
        SlowServer().use { slow ->
            val open: (URL) -> HttpURLConnection = { URL(slow.url).openConnection() as HttpURLConnection }
            val visit = CellularVisit(APP_URI, true, open, timeLimitMilliseconds = 300)
            assertEqual(errorOf { visit.callback(slow.url) }, "cellular_unavailable", "an operator that is too slow")
        }
        operator.responses["/authorize"] = redirect("$APP_URI?status=success")
        assertEqual(errorOf { visit(allowsLoopbackHTTP = false) }, "authorization_stopped", "without TLS")
        assertEqual(opened.size, 0, "without TLS")
    }
}
