/// The pages of a ``PhoneCode``, on the waiting device and on the phone.
enum PhoneCodePage {
    static func waiting(_ number: String) -> HTML {
        Page.html(
            title: "Sign in with your phone", of: .discovery,
            """
            <h1>Sign in with your phone</h1>
            <p>Open your carrier's app on the phone, type this number, and then continue here:</p>
            <p class="code">\(String(number.prefix(3))) \(String(number.suffix(3)))</p>
            <p class="note">The simulator has no phone: <a href="\(PhoneCodeEndpoint.phonePath)" target="_blank">this
            page simulates its app</a>. The number is valid for five minutes.</p>
            <form><div class="actions"><button class="primary" type="submit">Continue</button></div></form>
            """)
    }

    static func phone(_ carriers: [CarrierSimulator.Carrier], problem: String? = nil) -> HTML {
        let subscribers = carriers.flatMap { carrier in carrier.users.map { (carrier: carrier, user: $0) } }
        let choices = subscribers.enumerated().map { index, subscriber in
            Page.choice(
                "subscriber", "\(subscriber.carrier.mccmnc)-\(subscriber.user.id)", isChecked: index == 0,
                subscriber.user.name, "\(subscriber.carrier.name), \(subscriber.user.phoneNumber)")
        }
        return Page.html(
            title: "Your carrier's app", of: .phone,
            """
            <h1>Which number does the other screen show?</h1>
            \(problem.map { "<p role=\"alert\">\($0)</p>" as HTML } ?? "")
            <form method="post" action="\(PhoneCodeEndpoint.phonePath)">
            <label class="field">Number
            <input name="number" inputmode="numeric" autocomplete="off" maxlength="11" required autofocus></label>
            <fieldset>
            <legend>Whose phone is this?</legend>
            \(choices)
            </fieldset>
            <p>Choose Yes only if the other screen is yours: it will be signed in.</p>
            <div class="actions">
            <button class="primary" type="submit" name="decision" value="approve">Yes</button>
            <button type="submit" name="decision" value="deny">No</button>
            </div>
            </form>
            """)
    }

    static let done = Page.html(
        title: "Look at the other screen", of: .phone,
        """
        <h1>Thank you. Continue on the other screen.</h1>
        <p>You can close this page.</p>
        """)
}
