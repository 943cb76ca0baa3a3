// Shared functions of the console: elements, errors, times, and one action at a time.

import { advice } from "./console-explain.js";
import { LatchkeyError } from "./latchkey.js";

export const $ = (id) => document.getElementById(id);

/** An element with classes and children: a string becomes a text node, null is skipped. */
export function make(name, className, ...children) {
  const element = document.createElement(name);
  if (className) element.className = className;
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

export function button(text, action, className) {
  const element = make("button", className, text);
  element.type = "button";
  element.addEventListener("click", () => run(element, action));
  return element;
}

/** Fills a description list with names and values, without those that are null. */
export function facts(list, pairs) {
  list.replaceChildren(...pairs.filter(([, value]) => value !== null && value !== undefined)
    .flatMap(([name, value]) => [make("dt", "", name), make("dd", "", value)]));
}

/** A time element; the argument is seconds since 1970. */
export function moment(seconds) {
  const time = make("time", "", new Date(seconds * 1000).toLocaleString(undefined, {
    dateStyle: "medium", timeStyle: "short",
  }));
  time.dateTime = new Date(seconds * 1000).toISOString();
  return time;
}

/** The non-empty fields of a form. */
export function fields(form) {
  return Object.fromEntries([...new FormData(form)].map(([name, value]) => [name, value.trim()])
    .filter(([, value]) => value));
}

/** Announces an event on the page. */
export function tell(text) {
  $("news").textContent = text;
}

let noSession = () => {};

/** Sets the action for a call that finds its cookies missing. */
export function whenSessionIsGone(action) {
  noSession = action;
}

/** Runs the action of a control, one at a time in each card; shows an error in the card. */
export async function run(control, action) {
  const card = control.closest("[data-card]");
  if (card.getAttribute("aria-busy") === "true") return;
  const trouble = card.querySelector(".trouble");
  trouble.replaceChildren();
  tell("");
  card.setAttribute("aria-busy", "true");
  control.setAttribute("aria-disabled", "true");
  try {
    await action();
  } catch (error) {
    // Without a session the server asks for an API key, which is for apps and services only.
    if (error.error === "invalid_api_key" && !control.closest("#phone, #redeem-form")) noSession();
    else complain(card, error);
  } finally {
    card.removeAttribute("aria-busy");
    control.removeAttribute("aria-disabled");
  }
}

export function complain(card, error) {
  card.querySelector(".trouble").replaceChildren(problem(error));
}

/** Shows an error of the API: what was wrong, what to do, and the ids for the administrator. */
function problem(error) {
  const ids = [
    error.status ? `status ${error.status}` : null, error.error, error.error_type,
    error.correlation_id ? `correlation_id ${error.correlation_id}` : null,
    error.request_id ? `request_id ${error.request_id}` : null,
  ].filter(Boolean);
  const again = error.retry_after ? ` Try again in ${error.retry_after} seconds.` : "";
  return make("div", "problem", make("h4", "", "That did not work"),
    make("p", "", (error.error_description || error.message || "Something went wrong.") + again),
    make("p", "", make("b", "", "What to do: "), advice(error)), make("p", "ids", ids.join(" · ")));
}

/** Plays the phone's call to the simulated carrier. */
export async function carrier({ demo }, path, form) {
  const response = await fetch(demo.carriers_url + path, { method: "POST", body: new URLSearchParams(form) });
  const answer = await response.json();
  if (!response.ok) throw new LatchkeyError(answer, response.status, response.headers);
  return answer;
}

/** Fills the lists of carriers and of their users. */
export function choose(carriers, carrier, person) {
  carrier.replaceChildren(...carriers.map(({ mccmnc, name }) => new Option(`${name} (${mccmnc})`, mccmnc)));
  const people = () => {
    const { users } = carriers.find(({ mccmnc }) => mccmnc === carrier.value);
    person.replaceChildren(...users.map(({ id, name }) => new Option(name, id)));
  };
  carrier.addEventListener("change", people);
  people();
}

/** Asks for confirmation of an irreversible action. */
export function sure(title, text, yes) {
  $("sure-title").textContent = title;
  $("sure-text").textContent = text;
  $("sure-yes").textContent = yes;
  const dialog = $("sure");
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true });
  });
}
