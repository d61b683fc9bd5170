// The dashboard: requests what the server has, and shows it.

import { h } from "../base/dom";
import { startTheme } from "../base/theme";
import * as api from "./api";
import { liveView } from "./live/view";
import { loginView } from "./login";
import { Page, type View } from "./page";
import { pointView } from "./point";
import { resultsView } from "./results";
import { parseRoute, type Route } from "./route";
import { only, singleView } from "./single";
import { sweepView } from "./sweep";

startTheme();
const root = document.getElementById("app");
if (!root) throw new Error("the page has no #app");
const page = new Page(root);
let found: api.ResultInfo[] | null = null;
let turn = 0;

function askToken(): void {
  page.title = "Log in";
  page.show(loginView(() => void start()));
}

/** Shows what an error states; a server that needs a token gets the form. */
function failed(error: unknown): void {
  if (error instanceof api.ApiError && error.status === 401) {
    askToken();
    return;
  }
  const text = error instanceof Error ? error.message : String(error);
  const again = h("button", { type: "button", onclick: () => void start() }, "Try again");
  page.problem(`${text} `, again);
}

/** The view at a place. */
async function viewAt(route: Route, results: api.ResultInfo[]): Promise<View> {
  if (route.page === "point") return pointView(route.ref, route.other, results);
  if (route.page === "sweep") return sweepView(route.id);
  const one = only(results);
  return one ? singleView(one) : resultsView(results);
}

async function showRoute(title: string): Promise<void> {
  turn += 1;
  const mine = turn;
  const route = parseRoute(location.hash);
  try {
    found ??= await api.results();
    const view = await viewAt(route, found);
    if (mine !== turn) {
      view.end();
      return;
    }
    if (route.page === "point") page.title = route.ref.id;
    else page.title = route.page === "sweep" ? route.id : title;
    page.show(view);
    scrollTo(0, 0);
  } catch (error) {
    if (mine === turn) failed(error);
  }
}

async function start(): Promise<void> {
  try {
    const info = await api.info();
    if (info.format > api.FORMAT) {
      page.problem(
        `This server is of a newer version (${info.version}) than the page. Reload the page; if that does not help, empty the browser's cache.`,
      );
      return;
    }
    if (info.needs_token) {
      askToken();
      return;
    }
    page.title = info.title;
    if (info.mode === "live") {
      page.show(liveView(page, info, askToken));
      return;
    }
    window.onhashchange = () => void showRoute(info.title);
    await showRoute(info.title);
  } catch (error) {
    failed(error);
  }
}

void start();
