/** What the compiler must accept, and (`@ts-expect-error`) what it must refuse. It is compiled, never run. */

import type { Change, Client } from "../dist/index.js";

export async function entriesHaveWhatWasAskedFor(client: Client): Promise<(string | undefined)[]> {
  const { content, next } = await client.recommend("films", "kim", { include: ["label", "extras.poster"], after: "cursor" });
  const plain = await client.similarContent("films", "alien", { take: 3 });
  const page = await client.pageLists("films", { lists: [{ placement: "home" }], include: ["available"] });
  // @ts-expect-error: labels were not asked for
  const missing = plain.content[0]?.label;
  // @ts-expect-error: nor were catalogs
  const catalogs = content[0]?.catalogs;
  // @ts-expect-error: there is no such member to ask for
  await client.popularContent("films", { include: ["title"] });
  const poster: unknown = content[0]?.extras?.poster;
  const until: string | undefined = page.lists[0]?.content?.[0]?.availableUntil;
  const score: number | undefined = plain.content[0]?.score;
  return [content[0]?.label, next, until, String([missing, catalogs, poster, score])];
}

export async function namesAskedForAtRunTimeGiveEveryMember(client: Client, names: ("label" | "words")[]): Promise<unknown> {
  const { content } = await client.newContent("films", { include: names });
  return [content[0]?.label, content[0]?.words];
}

export async function everythingTakesASignal(client: Client, signal: AbortSignal): Promise<Change[]> {
  await client.getSettings("films", { signal });
  await client.putList("films", "blacklist", [], { signal });
  await client.recordInteractions("films", [], { signal });
  await client.recordImpressions("films", [{ listId: "l", content: ["alien", { id: "moon", position: 3 }] }], { signal });
  await client.placementResults("films", "home", { signal, from: "2026-01-01" });
  await client.takeBack("films", "kim", "Click", "alien", { signal });
  const ranked = await client.rank("films", "kim", { content: ["alien"] }, { signal, include: ["label"] });
  const list = await client.placementList("films", "home", { user: "kim" });
  const changes: Change[] = [];
  for await (const change of client.listChanges("films", { since: 3, signal })) changes.push(change);
  return ranked.content[0]?.label === list.listId ? changes : [];
}
