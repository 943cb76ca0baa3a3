// A transaction: approved at the carrier, confirmed with a receipt, redeemed once by a service.

import { $, carrier, choose, facts, fields, make, moment, run, tell } from "./console-parts.js";
import { shortened } from "./console-trace.js";
import { LatchkeyError } from "./latchkey.js";

/** The lowest acr at which the user is authenticated, and not only the device. */
const ACR = "a3";

let stage = null;
let receipt = null;

export function useTransaction(all) {
  stage = all;
  const form = $("transaction-form");
  if (stage.demo) choose(stage.carriers, form.elements.mccmnc, form.elements.user);
  // Hidden fields are disabled, so that the form can be submitted without them.
  for (const input of form.querySelectorAll("[data-real] input, [data-demo] select")) {
    input.disabled = input.closest("[data-real], [data-demo]").hidden;
  }
}

/** Forgets the receipt, which belongs to the user who made it. */
export function leaveTransaction() {
  receipt = null;
  $("receipt").hidden = true;
  $("receipt-facts").replaceChildren();
  $("redeemed").textContent = "";
  $("transaction-form").reset();
  $("transaction").querySelector(".trouble").replaceChildren();
}

async function answered(promise) {
  const response = await promise;
  const answer = await response.json();
  if (!response.ok) throw new LatchkeyError(answer, response.status, response.headers);
  return answer;
}

$("transaction-form").addEventListener("submit", (event) => {
  event.preventDefault();
  run(event.submitter, async () => {
    const { context, user, mccmnc, real_mccmnc, ...real } = fields(event.target);
    const asked = { context, acr_values: ACR };
    const code = stage.demo
      ? await carrier(stage, "/demo/codes", { ...asked, mccmnc, user, scope: "openid" })
      : { ...asked, ...real, mccmnc: real_mccmnc };
    const answer = await answered(stage.latchkey.fetch("/auth/zenkey/authorize", {
      method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(code),
    }));
    receipt = answer.receipt;
    show(answer);
  });
});

/** The claims of a JWT: its second part is JSON in base64url (RFC 7515 section 3). */
function claims(jwt) {
  const part = atob(jwt.split(".")[1].replaceAll("-", "+").replaceAll("_", "/"));
  const bytes = Uint8Array.from(part, (byte) => byte.charCodeAt(0));
  return JSON.parse(new TextDecoder().decode(bytes));
}

function show({ context, acr, auth_time, expires_in }) {
  const said = claims(receipt);
  facts($("receipt-facts"), [
    ["Approved", context], ["Assurance", acr], ["Authenticated", moment(auth_time)], ["For", said.aud],
    ["By", make("code", "", said.sub)], ["Valid for", `${expires_in} s, once`],
    ["Receipt", make("code", "", shortened(receipt))],
  ]);
  $("receipt").hidden = false;
  $("redeemed").textContent = "";
  tell("The carrier has confirmed the approval.");
  $("receipt-title").focus();
}

$("redeem-form").addEventListener("submit", (event) => {
  event.preventDefault();
  run(event.submitter, async () => {
    $("redeemed").textContent = "";
    const key = stage.demo?.api_key ?? fields(event.target).api_key ?? "";
    await answered(fetch(new URL("auth/receipts/redeem", stage.base), {
      method: "POST", credentials: "omit", headers: { "Content-Type": "application/json", "X-API-KEY": key },
      body: JSON.stringify({ receipt }),
    }));
    $("redeemed").textContent = "The service has redeemed the receipt, and can execute the transaction. " +
      "Try it again: it works only once.";
  });
});
