// report.html: the page has its tables and its data; this draws the figures.

import "../style/report.css";
import { h } from "../base/dom";
import { startTheme } from "../base/theme";
import { FigureView } from "../chart/figure";
import { Timeline } from "../chart/timeline";
import { zoomBar } from "../chart/toolbar";
import { decode, type RawFigures } from "./data";

function start(): void {
  const source = document.getElementById("report-data");
  if (!source?.textContent) return;
  startTheme();
  const report = decode(JSON.parse(source.textContent) as RawFigures);
  const timeline = new Timeline();
  timeline.setExtent(0, report.end);
  const views: FigureView[] = [];
  for (const figure of report.figures) {
    const host = document.querySelector(`[data-figure="${CSS.escape(figure.id)}"]`);
    if (!(host instanceof HTMLElement)) continue;
    const view = new FigureView(timeline, host, false);
    view.show(figure);
    views.push(view);
  }
  const bar = zoomBar(timeline, "Whole run");
  document.getElementById("series")?.after(h("div", { class: "tools" }, bar));
  addEventListener("beforeprint", () => {
    for (const view of views) view.draw();
  });
}

start();
