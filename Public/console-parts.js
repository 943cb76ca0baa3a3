// What the parts of the console have in common: elements, errors, moments, and one action at a time.

import { advice } from "./console-explain.js";

export const $ = (id) => document.getElementById(id);

/** An element with classes and children; a child that is a string is a text, null is left out. */
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

/** Names and values of a description list; those that are null are left out. */
export function facts(list, pairs) {
  list.replaceChildren(...pairs.filter(([, value]) => value !== null && value !== undefined)
    .flatMap(([name, value]) => [make("dt", "", name), make("dd", "", value)]));
}

/** A moment, of seconds since 1970. */
export function moment(seconds) {
  const time = make("time", "", new Date(seconds * 1000).toLocaleString(undefined, {
    dateStyle: "medium", timeStyle: "short",
  }));
  time.dateTime = new Date(seconds * 1000).toISOString();
  return time;
}

/** The fields of a form that have something in them. */
export function fields(form) {
  return Object.fromEntries([...new FormData(form)].map(([name, value]) => [name, value.trim()])
    .filter(([, value]) => value));
}

/** Tells what has happened, to all. */
export function tell(text) {
  $("news").textContent = text;
}

let noSession = () => {};

/** Has something done when a call of the page finds that its cookies are gone. */
export function whenSessionIsGone(action) {
  noSession = action;
}

/** Runs what a control asks for, one at a time; what goes wrong is told in its card. */
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
    // A page without a session is asked for an API key, which is for apps and services.
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

/** An error of the API as a person reads it: what was wrong, what to do, and what the operator needs to know. */
function problem(error) {
  const ids = [
    error.status ? `status ${error.status}` : null, error.error, error.error_type,
    error.correlation_id ? `correlation_id ${error.correlation_id}` : null,
    error.request_id ? `request_id ${error.request_id}` : null,
  ].filter(Boolean);
  const again = error.retry_after ? ` Try again in ${error.retry_after} seconds.` : "";
  return make("div", "problem", make("h4", "", "That did not go through"),
    make("p", "", (error.error_description || error.message || "Something went wrong.") + again),
    make("p", "", make("b", "", "What to do: "), advice(error)), make("p", "ids", ids.join(" · ")));
}

/** Has a person confirm what there is no way back from. */
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
