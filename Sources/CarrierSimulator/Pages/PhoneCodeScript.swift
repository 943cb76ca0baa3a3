import HTTPServer
import HTTPTypes

/// The script of the page that waits for the phone. A page that reloads itself makes people lose their place (WCAG 2.2,
/// 2.2.1), so the script asks, and reloads the page only after the phone has responded.
enum PhoneCodeScript {
    static let path = "/waiting.js"

    static var response: Response {
        Response(
            status: .ok,
            headers: [.contentType: "text/javascript; charset=utf-8", .cacheControl: "max-age=300"],
            body: Array(text.utf8))
    }

    private static let text = """
        const state = location.pathname + "/state";

        async function look() {
          try {
            if ((await (await fetch(state)).json()).state !== "pending") return location.reload();
          } catch {
            // The simulator may be starting again.
          }
          setTimeout(look, 1500);
        }

        look();

        """
}
