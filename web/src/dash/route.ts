// The address of a view: #/ the list, #/result/ID/N a point, with ?with=ID/N laid over it, #/sweep/ID a sweep.

export interface PointRef {
  id: string;
  point: number;
}

export type Route =
  | { page: "home" }
  | { page: "point"; ref: PointRef; other: PointRef | null }
  | { page: "sweep"; id: string };

function path({ id, point }: PointRef): string {
  return `${encodeURIComponent(id)}/${point}`;
}

function parsePoint(text: string): PointRef | null {
  const cut = text.lastIndexOf("/");
  const point = Number(text.slice(cut + 1));
  if (cut <= 0 || !Number.isInteger(point) || point < 0) return null;
  try {
    return { id: decodeURIComponent(text.slice(0, cut)), point };
  } catch {
    return null;
  }
}

export function pointPath(id: string, point: number, other?: PointRef | null): string {
  const beside = other ? `?with=${encodeURIComponent(path(other))}` : "";
  return `#/result/${path({ id, point })}${beside}`;
}

export function sweepPath(id: string): string {
  return `#/sweep/${encodeURIComponent(id)}`;
}

function parseSweep(text: string): Route {
  try {
    return { page: "sweep", id: decodeURIComponent(text) };
  } catch {
    return { page: "home" };
  }
}

/** What a hash means; anything unknown is the list. */
export function parseRoute(hash: string): Route {
  const [where = "", query = ""] = hash.replace(/^#\/?/, "").split("?");
  if (where.startsWith("sweep/")) return parseSweep(where.slice("sweep/".length));
  if (!where.startsWith("result/")) return { page: "home" };
  const ref = parsePoint(where.slice("result/".length));
  if (!ref) return { page: "home" };
  const other = new URLSearchParams(query).get("with");
  return { page: "point", ref, other: other === null ? null : parsePoint(other) };
}
