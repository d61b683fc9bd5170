// The data of figures as crate report writes it, as the charts take it.

import { describe, expect, it } from "vitest";
import { decode, type RawFigures } from "./data";

const axis = { title: "RTT; one-way delay of datagrams", unit: "ms", log: false, min: 0, max: 9 };
const raw: RawFigures = {
  end: 10,
  figures: [
    {
      id: "rtt",
      title: "Round-trip time and one-way delay",
      caption: "Mean of each step.",
      time: true,
      columns: 1,
      x: { title: "Time", unit: "s", log: false, min: 0, max: 10 },
      y: axis as RawFigures["figures"][number]["y"],
      panels: [
        {
          title: "without",
          lines: [
            { name: "bulk", colour: 0, kind: "line", x: [0, 5000], y: [1, 2] },
            { name: "voip (one-way)", colour: 1, kind: "line", x: [1000, 1000], y: [3, 4] },
          ],
        },
      ],
    },
  ],
};

describe("the data of figures", () => {
  it("have lines with names, times and values, and a caption where one is written", () => {
    const { figures, end } = decode(raw);
    expect(end).toBe(10);
    const [figure] = figures;
    expect(figure?.caption).toBe("Mean of each step.");
    expect(figure?.y).toMatchObject({ title: axis.title, unit: "ms" });
    const lines = figure?.panels[0]?.lines.map((line) => [line.name, line.points()]);
    expect(lines).toEqual([
      ["bulk", { x: [0, 5], y: [1, 2] }],
      ["voip (one-way)", { x: [1, 2], y: [3, 4] }],
    ]);
  });

  it("have none on a page with text of its own", () => {
    const figures = raw.figures.map(({ caption: _, ...rest }) => rest);
    expect(decode({ ...raw, figures }).figures[0]?.caption).toBe("");
  });
});
