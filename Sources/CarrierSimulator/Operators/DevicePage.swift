/// The page on which a browser chooses how its simulated phone is connected.
enum DevicePage {
    static func html(operators: [CarrierSimulator.Carrier], present: CarrierSimulator.Device) -> HTML {
        let subscribers = operators.flatMap { carrier in carrier.users.map { (carrier: carrier, user: $0) } }
        let choices = subscribers.map { subscriber in
            let device = CarrierSimulator.Device.cellular(
                operator: subscriber.carrier.mccmnc, user: subscriber.user.id)
            return Page.choice(
                "device", device.text, isChecked: present == device, "\(subscriber.user.name)'s SIM",
                "\(subscriber.carrier.name), \(subscriber.user.phoneNumber)")
        }
        return Page.html(
            title: "Your phone's connection", of: .phone,
            """
            <h1>How is this phone connected?</h1>
            <p>An operator knows the number of a phone on its network. Over Wi-Fi it does not.</p>
            <form method="post" action="/device">
            <fieldset>
            <legend>Connection</legend>
            \(Page.choice("device", "cellular", isChecked: present == .cellular(), "Cellular", "Any network"))
            \(choices)
            \(Page.choice("device", "wifi", isChecked: present == .wifi, "Wi-Fi only", "No operator's network"))
            </fieldset>
            <div class="actions"><button class="primary" type="submit">Use this connection</button></div>
            </form>
            """)
    }
}
