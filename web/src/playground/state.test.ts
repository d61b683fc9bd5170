import { expect, test } from "vitest";
import { commands, flowNames, labels, scenarioText, settings } from "./scenario";
import { fromFragment, initial, isFileName, type State, toFragment } from "./state";

test("a link has the whole state", () => {
  const state: State = {
    trace: "my trace (2).csv",
    rtt: 120,
    buffer: 250,
    radio: 40,
    duration: 60,
    offset: 12,
    seed: 7,
    pep: "paper",
    queue: "fq-codel",
    flows: [
      { app: "voip", cc: "cubic" },
      { app: "short", cc: "bbr3" },
      { app: "short", cc: "prague" },
    ],
  };
  expect(fromFragment(toFragment(state))).toEqual(state);
  expect(fromFragment("")).toEqual(initial());
});

test("what a link has wrong is as in the beginning", () => {
  const wrong =
    "#trace=../secret&rtt=1e9&buffer=x&radio=&duration=20.5&pep=constructor&queue=toString&flow=download:no&flow=x";
  expect(fromFragment(wrong)).toEqual(initial());
  const many = `#${"flow=voip&".repeat(50)}`;
  expect(fromFragment(many).flows).toHaveLength(6);
});

test("names of traces are those of files without a folder", () => {
  for (const name of ["drive-lte.csv", "mein Gerät (2).txt"]) expect(isFileName(name)).toBe(true);
  for (const name of ["", "../a", "a/b", ".a", 'a"b', "a\\b", "a\nb"]) {
    expect(isFileName(name)).toBe(false);
  }
});

test("flows of one application have names of their own", () => {
  const flows = [
    { app: "web", cc: "cubic" },
    { app: "voip", cc: "cubic" },
    { app: "web", cc: "bbr" },
  ] as const;
  expect(flowNames(flows)).toEqual(["web", "voip", "web-2"]);
});

test("the file has what the controls have, and the commands what distinguishes the two runs", () => {
  const state: State = { ...initial(), rtt: 80, buffer: 300, radio: 50, queue: "codel" };
  const text = scenarioText(state);
  expect(text).toContain('rtt = "80 ms"');
  expect(text).toContain('downlink-buffer = "300 kB"');
  expect(text).toContain("prb = 50 }");
  expect(text).toContain("prb = 137 }");
  expect(settings(state)).toEqual([
    [["pep", "none"]],
    [
      ["pep", "default"],
      ["cell.queues.rlc.algorithm", "codel"],
    ],
  ]);
  expect(commands(state)[1]).toBe(
    "brimful run playground.toml --set pep=default --set cell.queues.rlc.algorithm=codel",
  );
  expect(labels({ ...state, pep: "none", queue: "drop-tail" })[1]).toBe("with nothing else");
});
