import HTTPServer

/// The pages of a ``PhoneCode``, on the waiting device and on the phone.
enum PhoneCodePage {
    static func waiting(_ code: PhoneCode) -> HTML {
        Page.html(
            title: "Sign in with your phone", of: .discovery, script: PhoneCodeScript.path,
            """
            <h1>Sign in with your phone</h1>
            <p>Open your carrier's app on the phone and type this number:</p>
            <p class="code">\(code.shownNumber)</p>
            \(code.picture.html)
            <p>The phone must show the same picture. If it shows another picture, choose No there.</p>
            <p class="note">The simulator has no phone: <a href="\(PhoneCodeEndpoint.phonePath)" target="_blank">this
            page simulates its app</a>. This page continues after your choice there; without scripts,
            <a href="">look again</a>. The number is valid for five minutes.</p>
            """)
    }

    static func expired(_ code: PhoneCode) -> HTML {
        Page.html(
            title: "The number has expired", of: .discovery,
            """
            <h1>The number has expired</h1>
            <p>The phone did not respond within five minutes.</p>
            <form method="post" action="\(PhoneCodeEndpoint.path)">
            \(Page.hiddenFields(code.parameters))
            <div class="actions"><button class="primary" type="submit">Show another number</button></div>
            </form>
            """)
    }

    static func phone(problem: String?) -> HTML {
        Page.html(
            title: "Your carrier's app", of: .phone,
            """
            <h1>Which number does the other screen show?</h1>
            \(problem.map { "<p role=\"alert\">\($0)</p>" as HTML } ?? "")
            <form method="get" action="\(PhoneCodeEndpoint.phonePath)">
            <label class="field">Number
            <input name="number" inputmode="numeric" autocomplete="off" maxlength="11" required autofocus></label>
            <div class="actions"><button class="primary" type="submit">Continue</button></div>
            </form>
            """)
    }

    static func question(_ code: PhoneCode, carriers: [CarrierSimulator.Carrier]) -> HTML {
        let subscribers = carriers.flatMap { carrier in carrier.users.map { (carrier: carrier, user: $0) } }
        let choices = subscribers.enumerated().map { index, subscriber in
            Page.choice(
                "subscriber", "\(subscriber.carrier.mccmnc)-\(subscriber.user.id)", isChecked: index == 0,
                subscriber.user.name, "\(subscriber.carrier.name), \(subscriber.user.phoneNumber)")
        }
        return Page.html(
            title: "Sign in on another device?", of: .phone,
            """
            <h1>Sign in to <strong>\(code.parameters["client_id"] ?? "")</strong> on another device?</h1>
            \(code.picture.html)
            <p>Choose Yes only if the other screen shows this picture and is yours.</p>
            <form method="post" action="\(PhoneCodeEndpoint.phonePath)">
            <input type="hidden" name="number" value="\(code.number)">
            <fieldset>
            <legend>Whose phone is this?</legend>
            \(choices)
            </fieldset>
            <div class="actions">
            <button class="primary" type="submit" name="decision" value="approve">Yes</button>
            <button type="submit" name="decision" value="deny">No</button>
            </div>
            </form>
            """)
    }

    static func done(isApproved: Bool) -> HTML {
        Page.html(
            title: "Look at the other screen", of: .phone,
            """
            <h1>\(isApproved ? "Thank you. The other screen continues." : "You are not signed in.")</h1>
            <p>You can close this page.</p>
            """)
    }
}

/// The script of the page that waits for the phone. A page that reloads itself makes people lose their place (WCAG 2.2,
/// 2.2.1), so the script asks, and reloads the page only after the phone has responded.
enum PhoneCodeScript {
    static let path = "/waiting.js"

    static var response: Response { .asset(text, type: "text/javascript") }

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
