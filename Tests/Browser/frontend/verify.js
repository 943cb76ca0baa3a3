// The part of the frontend that verifies a number, of docs/verified-numbers.md, as number.js is the part that signs in.

// snippet: js-verify
import { configure } from "https://login.example/latchkey.js";

// A page of another origin needs a storage, which keeps the session while the browser is away.
const latchkey = configure({ baseURL: "https://login.example", provider: "number", storage: sessionStorage });

document.querySelector("#verify").onclick = async () => {
  const verification = await latchkey.verifyPhoneNumber({ phone_number: "+12025550123", mccmnc: "310010" });
  if (verification) show(verification.status); // without one, the browser goes to the operator
};

// When the page is loaded, the browser may be returning from the operator.
const verification = await latchkey.finishVerification({ operatorToken });
if (verification) show(verification.status);
// end

function operatorToken(asked) {
  return window.operatorToken(asked);
}

function show(status) {
  document.querySelector("#verification").textContent = `the number is ${status}`;
}

Object.assign(window, { keeping: latchkey });
