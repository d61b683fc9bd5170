// The form for the token that anything but loopback needs.

import { h } from "../base/dom";
import { login } from "./api";
import type { View } from "./page";

/** Calls `entered` once the server has taken the token. */
export function loginView(entered: () => void): View {
  const problem = h("p", { class: "problem", role: "alert", id: "login-problem" });
  const token = h("input", {
    type: "password",
    id: "token",
    name: "token",
    autocomplete: "current-password",
    required: true,
    "aria-describedby": "login-help login-problem",
  });
  const button = h("button", { type: "submit", class: "primary" }, "Log in");
  const submit = async (event: Event) => {
    event.preventDefault();
    problem.textContent = "";
    button.disabled = true;
    try {
      await login(token.value);
      entered();
    } catch (error) {
      problem.textContent = error instanceof Error ? error.message : String(error);
      token.select();
    } finally {
      button.disabled = false;
    }
  };
  const form = h(
    "form",
    { class: "login", onsubmit: submit },
    h("h2", {}, "Log in"),
    h("label", { for: "token" }, "Token"),
    token,
    h(
      "p",
      { class: "caption", id: "login-help" },
      "It is in the file that the server was started with.",
    ),
    button,
    problem,
  );
  queueMicrotask(() => token.focus());
  return { element: form, end: () => {} };
}
