/** The client against a running service: PENCHANT_URL and PENCHANT_KEY name it. */

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { test } from "node:test";

import { Client, ConnectionLost, readSignature, ServiceError } from "../dist/index.js";

const url = process.env.PENCHANT_URL;
const client = new Client(url, process.env.PENCHANT_KEY);
let number = 0;
const newSource = () => `typescript-${process.pid}-${(number += 1)}`;

const films = [
  { id: "alien/1", label: "Alien", categories: { genre: ["horror", "space"], mood: [{ key: "dark", weight: 90 }] } },
  { id: "gravity", categories: { genre: ["drama", "space"] }, extras: { year: 2013 } },
  { id: "moon", categories: { people: { director: ["Jones"] }, genre: ["space"] }, filters: { catalogs: ["a,b"], region: "eu" } },
];

test("what is submitted is read back, ids with slashes and members of one's own included", async () => {
  const source = newSource();
  const receipt = await client.submitContent(source, films);

  assert.equal(receipt.created, 3);
  assert.deepEqual(await client.getContent(source, "alien/1"), { ...films[0], filters: {}, extras: {} });
  assert.equal((await client.getContent(source, "moon")).filters.region, "eu");
  assert.deepEqual((await client.listIds(source)).content, ["alien/1", "gravity", "moon"]);
});

test("a source is made with words of texts, which can be tried before", async () => {
  const source = newSource();
  const jaws = { id: "jaws", label: "Jaws", categories: {}, extras: { description: "A shark hunts off Amity." } };
  const sequel = { id: "jaws2", label: "Jaws 2", categories: {}, extras: { description: "The shark is back." } };
  await client.submitContent(source, [jaws, sequel], { words: "auto" });

  const { content } = await client.similarContent(source, "jaws", { include: ["words"] });
  const tried = await client.previewWords(source, { content: [jaws], words: { keep: 1 } });

  assert.equal((await client.getSettings(source)).words.keep, 40);
  assert.deepEqual(content.map((entry) => entry.id), ["jaws2"]);
  assert.ok(content[0].words.includes("shark"));
  assert.deepEqual(tried.content[0].words, ["jaws"]);
});

test("pieces are read by their ids, and what is missing is told", async () => {
  const source = newSource();
  await client.submitContent(source, films);

  const found = await client.readContent(source, ["moon", "gone", "alien/1"]);

  assert.deepEqual(found.content.map((piece) => piece.id), ["moon", "alien/1"]);
  assert.deepEqual(found.missing, ["gone"]);
});

test("lists take several values, and catalogs may hold a comma", async () => {
  const source = newSource();
  await client.submitContent(source, films);

  const others = await client.similarContent(source, "gravity", { algo: "jaccard", exclude: ["moon", "x"] });
  const inCatalog = await client.similarContent(source, "gravity", { algo: "jaccard", catalogs: ["a,b"] });

  assert.deepEqual(others.content.map((entry) => entry.id), ["alien/1"]);
  assert.deepEqual(inCatalog.content.map((entry) => entry.id), ["moon"]);
});

test("what a person does counts in the next request", async () => {
  const source = newSource();
  await client.submitContent(source, films);
  const stored = await client.recordInteraction(source, "kim", "RateLike", "alien/1", { eventId: "e1" });
  const receipt = await client.recordInteractions(source, [
    { userId: "kim", type: "RateLike", contentId: "alien/1", eventId: "e1" },
    { userId: "lee", type: "Click", contentId: "moon" },
  ]);

  assert.equal(stored.contentId, "alien/1");
  assert.deepEqual(receipt, { accepted: 1, duplicates: 1 });
  assert.ok(!(await client.recommend(source, "kim")).content.some((entry) => entry.id === "alien/1"));
  assert.equal((await client.getProfile(source, "kim"))[0].categories.genre.space > 0, true);
  assert.equal((await client.listInteractions(source, "kim", { contentId: "alien/1" })).length, 1);
  await client.eraseUser(source, "kim");
  assert.deepEqual(await client.listInteractions(source, "kim"), []);
});

test("what counts for nothing is told", async () => {
  const source = newSource();
  await client.submitContent(source, films);
  const timestamp = "2001-01-01T00:00:00+0100";
  const old = { userId: "kim", type: "Click", contentId: "moon", timestamp };

  const told = await client.recordInteraction(source, "kim", "Click", "gone", { timestamp });
  const known = await client.recordInteraction(source, "kim", "Click", "moon");

  assert.deepEqual([told.unknownContent, told.expired, known.unknownContent, known.expired], ["true", "true", undefined, undefined]);
  assert.deepEqual(await client.recordInteractions(source, [old]), { accepted: 1, duplicates: 0, expired: 1 });
});

test("a source tells who changed what, page by page", async () => {
  const source = newSource();
  await client.submitContent(source, films);
  await client.putSettings(source, {});
  const first = await client.sourceAudit(source, { limit: 1 });
  const rest = await client.sourceAudit(source, { before: first.next });

  assert.deepEqual([...first.entries, ...rest.entries].map((entry) => entry.action), ["settings.replace", "source.create"]);
  assert.equal(rest.next, undefined);
});

test("a value says what part of a piece it was", async () => {
  const source = newSource();
  await client.submitContent(source, films);
  const stored = await client.recordInteraction(source, "kim", "Watch", "moon", { value: 0.6 });
  await client.recordInteractions(source, [{ userId: "kim", type: "Watch", contentId: "alien/1", value: 0.25 }]);

  assert.equal(stored.value, 0.6);
  assert.deepEqual((await client.listInteractions(source, "kim")).map((each) => each.value), [0.25, 0.6]);
});

test("a list can wait until it knows what was just recorded", async () => {
  const source = newSource();
  assert.deepEqual(client.versions(source), { content: 0, interactions: 0, audience: 0 });
  const { version } = await client.submitContent(source, films);
  for (const userId of ["kim", "lee"]) await client.recordInteraction(source, userId, "RateLike", "alien/1");
  const recorded = client.versions(source);

  assert.deepEqual(recorded, { content: version, interactions: 2, audience: 0 });
  await client.recommend(source, "kim", { minAudienceVersion: recorded.interactions });
  assert.equal(client.versions(source).audience, 2);
  await client.eraseUser(source, "lee");
  assert.equal(client.versions(source).interactions, 3);
  await assert.rejects(client.recommend(source, "kim", { minAudienceVersion: -1 }), (error) => error.status === 422);
});

test("any number of pieces goes out in batches, and comes back while it arrives", async () => {
  const source = newSource();
  function* catalogue() {
    for (let row = 0; row < 4_500; row += 1) yield { id: String(row).padStart(4, "0"), categories: { shelf: [`s${row % 50}`] } };
  }

  const receipt = await client.submitContent(source, catalogue());
  const ids = [];
  for await (const piece of client.iterateContent(source)) ids.push(piece.id);

  assert.equal(receipt.accepted, 4_500);
  assert.equal(ids.length, 4_500);
  assert.deepEqual([ids[0], ids.at(-1)], ["0000", "4499"]);
});

test("errors tell code, place and request", async () => {
  const source = newSource();
  const invalid = client.submitContent(source, [{ id: "a", categories: { g: [{ key: "x", weight: true }] } }]);

  await assert.rejects(invalid, (error) => {
    assert.ok(error instanceof ServiceError);
    assert.equal(error.status, 422);
    assert.equal(error.problem.errors[0].pointer, "/0/categories/g/0/weight");
    assert.ok(error.requestId);
    return true;
  });
  await assert.rejects(client.getContent(source, "none"), { status: 404, code: "unknown-source" });
});

test("deleting without ids deletes nothing", async () => {
  const source = newSource();
  await client.submitContent(source, films);
  await client.deleteContent(source, []);
  assert.equal((await client.getSource(source)).pieces, 3);
  await client.deleteContent(source, ["moon", "none"]);
  assert.equal((await client.getSource(source)).pieces, 2);
  await client.clearContent(source);
  assert.equal((await client.getSource(source)).pieces, 0);
  await client.deleteSource(source, { confirm: source });
  await assert.rejects(client.getSource(source), { status: 404 });
});

test("only what cannot happen twice is sent again", async () => {
  const counts = {};
  const server = createServer((request, response) => {
    counts[request.method] = (counts[request.method] ?? 0) + 1;
    request.socket.destroy();
  });
  await new Promise((resume) => server.listen(0, "127.0.0.1", resume));
  const retries = { attempts: 3, firstPauseMs: 1 };
  const broken = new Client(`http://127.0.0.1:${server.address().port}`, "pk_a_b", { retries });

  await assert.rejects(broken.getSource("s"), ConnectionLost);
  await assert.rejects(broken.recordInteraction("s", "u", "Click", "p"), ConnectionLost);

  assert.deepEqual(counts, { GET: 3, POST: 1 });
  server.close();
});

test("a wait that the service asks for is kept, up to the longest pause", async () => {
  let calls = 0;
  const answer = (retryAfter) => async () => {
    calls += 1;
    const problem = { type: "/-/problems/rate-exceeded", title: "t", status: 429, detail: "d", code: "rate-exceeded" };
    const headers = { "retry-after": retryAfter };
    return calls === 1 ? new Response(JSON.stringify(problem), { status: 429, headers }) : new Response("[]");
  };
  const quick = new Client("http://h", "k", { fetch: answer("0"), retries: { firstPauseMs: 1 } });
  assert.deepEqual(await quick.getList("s", "whitelist"), []);
  calls = 0;
  const slow = new Client("http://h", "k", { fetch: answer("86400"), retries: { firstPauseMs: 1 } });
  await assert.rejects(slow.getList("s", "whitelist"), { status: 429, retryAfterS: 86400 });
});

test("what people saw of a placement's list is reported, and its results tell of it", async () => {
  const source = newSource();
  await client.submitContent(source, films);
  await client.putPlacement(source, "home", { kind: "new" });
  const list = await client.placementList(source, "home", { user: "kim", include: ["label"] });
  const page = await client.pageLists(source, { user: "lee", lists: [{ placement: "home" }], include: ["label"] });
  const seen = [
    { listId: list.listId, content: list.content.map((entry) => entry.id) },
    { listId: page.lists[0].listId, content: [{ id: "alien/1", position: 1 }] },
  ];

  const receipt = await client.recordImpressions(source, seen);
  const again = await client.recordImpressions(source, seen);
  await client.recordInteraction(source, "kim", "Click", "alien/1", { list: list.listId });
  const { variants } = await client.placementResults(source, "home");

  assert.ok([...list.content, ...page.lists[0].content].some((entry) => entry.label === "Alien"));
  assert.deepEqual([receipt.accepted, again.duplicates], [4, 4]);
  assert.deepEqual([variants[0].shown, variants[0].successes], [4, 1]);
});

test("pieces are ranked for a person, and what the person did is taken back", async () => {
  const source = newSource();
  await client.submitContent(source, films);
  await client.recordInteraction(source, "kim", "RateLike", "alien/1");

  const ranked = await client.rank(source, "kim", { content: ["moon", "none", "alien/1"] }, { include: ["label"] });
  const taken = await client.takeBack(source, "kim", "RateLike", "alien/1");

  assert.deepEqual(ranked.content.map((entry) => entry.id), ["moon"]);
  assert.deepEqual(ranked.left.map((entry) => entry.id), ["none", "alien/1"]);
  assert.equal(taken.removed, 1);
});

test("changes come in a line each, from a version on", async () => {
  const source = newSource();
  await client.submitContent(source, films);
  const whole = await collected(client.listChanges(source));
  const { version, history } = whole[0];
  await client.deleteOneContent(source, "moon");

  const since = await collected(client.listChanges(source, { since: version, history, wait: 1 }));

  assert.deepEqual([whole[0].complete, whole.length, whole.at(-1).type], [true, 5, "end"]);
  assert.deepEqual(since.slice(1, -1), [{ type: "delete", id: "moon" }]);
});

test("a feed of changes that was cut is an error", async () => {
  const cut = new Client("http://h", "k", { fetch: async () => new Response('{"type":"begin","version":3}\n') });

  await assert.rejects(collected(cut.listChanges("s")), ConnectionLost);
});

test("a signal ends a request, and the wait before the next attempt", async () => {
  const source = newSource();
  await client.submitContent(source, films);
  const ended = AbortSignal.abort(new Error("left"));
  await assert.rejects(client.getSettings(source, { signal: ended }), { message: "left" });
  await assert.rejects(collected(client.iterateContent(source, { signal: ended })), { message: "left" });

  const leaving = new AbortController();
  const lost = async () => {
    setTimeout(() => leaving.abort(new Error("gone")));
    throw new TypeError("lost");
  };
  const patient = new Client("http://h", "k", { fetch: lost, retries: { firstPauseMs: 3_600_000, longestPauseMs: 3_600_000 } });

  await assert.rejects(patient.getSource("s", { signal: leaving.signal }), { message: "gone" });
});

test("an answer tells by which cursor there is more", async () => {
  const asked = [];
  const answer = async (address) => {
    asked.push(new URL(address).searchParams.get("after"));
    return new Response('{"id":"kim","content":[]}', { headers: asked.length === 1 ? { "x-penchant-next": "c1" } : {} });
  };
  const pages = new Client("http://h", "k", { fetch: answer });

  const first = await pages.recommend("s", "kim", { take: 5 });
  const second = await pages.recommend("s", "kim", { take: 5, after: first.next });

  assert.deepEqual([first.next, second.next], ["c1", undefined]);
  assert.deepEqual(asked, [null, "c1"]);
});

test("a person is signed by a function, once for all who wait, and anew where the service says so or the end is near", async () => {
  const sent = [];
  const answer = async (_, { headers }) => {
    sent.push(headers["x-penchant-user"]);
    const problem = { type: "p", title: "t", status: 401, detail: "d", code: "not-signed" };
    return sent.length === 3 ? new Response(JSON.stringify(problem), { status: 401 }) : new Response("[]");
  };
  let calls = 0;
  const soon = Math.floor(Date.now() / 1000) + 5;
  const expiries = [4_000_000_000, soon, 4_000_000_000];
  const user = async () => `kim.${expiries[calls]}.s${(calls += 1)}`;
  const page = new Client("http://h", "k", { user, fetch: answer });

  await Promise.all([page.getPreferences("s", "kim"), page.getPreferences("s", "kim")]);
  await page.getPreferences("s", "kim");
  await page.getPreferences("s", "kim");

  assert.deepEqual(sent.map((signed) => signed.split(".")[2]), ["s1", "s1", "s1", "s2", "s3"]);
  assert.deepEqual(readSignature("kim%40example.org.1900000000.a-_"), { id: "kim@example.org", expiry: 1_900_000_000 });
  assert.equal(readSignature("kim"), null);
});

async function collected(entries) {
  const all = [];
  for await (const entry of entries) all.push(entry);
  return all;
}
