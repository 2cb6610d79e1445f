/** Client: a method for each operation of the interface that a program or page uses. */

import { addReceipts, batches, type Entries } from "./batches.js";
import { Connection, lines, path, type Options } from "./connection.js";
import type { Answer, Body, BulkReceipt, Interaction, InteractionType, Piece, Query, Receipt, Settings, Versions } from "./types.js";

const MAX_PIECES = 2_000;
const MAX_INTERACTIONS = 10_000;
const NDJSON = "application/x-ndjson";

/** The service at an address, asked with a key; with a browser key it works in pages, too. */
export class Client {
  readonly #service: Connection;

  constructor(address: string, key: string, options: Options = {}) {
    this.#service = new Connection(address, key, options);
  }

  /** Return the greatest versions that answers have told this client of a source; no request is sent. */
  versions(source: string): Versions {
    return this.#service.versions(source);
  }

  // Pieces

  /**
   * Submit any number of pieces, 2,000 at a time; the receipts are added up. Each request is stored as a whole.
   * The first one makes the source: with `words: "auto"` its pieces get keywords out of their texts.
   */
  async submitContent(source: string, pieces: Entries<Piece>, query?: Query<"submitContent">): Promise<Receipt> {
    let total: Receipt | null = null;
    for await (const { body } of batches(pieces, MAX_PIECES)) {
      const request = { query, body, repeatable: true };
      const receipt = await this.#service.json<Receipt>("POST", path(source, "content"), request);
      total = addReceipts(total, receipt, ["accepted", "created", "replaced", "superseded"]);
    }
    return total as Receipt;
  }

  getContent(source: string, id: string, query?: Query<"getContent">): Promise<Piece> {
    return this.#service.json("GET", path(source, "content", id), { query });
  }

  /** Read up to 1,000 pieces; those that there are come in the order of the ids, and the other ids as `missing`. */
  readContent(source: string, ids: readonly string[]): Promise<Answer<"readContent">> {
    return this.#service.json("POST", path(source, "content", "read"), { body: JSON.stringify(ids), repeatable: true });
  }

  listContent(source: string, query?: Query<"listContent">): Promise<Answer<"listContent">> {
    return this.#service.json("GET", path(source, "content"), { query });
  }

  listIds(source: string, query?: Query<"listIds">): Promise<Answer<"listIds">> {
    return this.#service.json("GET", path(source, "ids"), { query });
  }

  /** Yield all pieces, ascending by id, as of one moment, while they arrive. */
  async *iterateContent(source: string): AsyncGenerator<Piece> {
    yield* lines<Piece>(await this.#service.send("GET", path(source, "content"), { accept: NDJSON }));
  }

  /** Delete these pieces; unknown ids are no error, and no ids delete nothing. */
  async deleteContent(source: string, ids: readonly string[]): Promise<void> {
    await this.#service.send("DELETE", path(source, "content"), { body: JSON.stringify(ids) });
  }

  async deleteOneContent(source: string, id: string): Promise<void> {
    await this.#service.send("DELETE", path(source, "content", id));
  }

  /** Delete all pieces; the source, its lists, settings and interactions stay. */
  async clearContent(source: string): Promise<void> {
    await this.#service.send("DELETE", path(source, "content"));
  }

  // Lists

  similarContent(source: string, id: string, query?: Query<"similarContent">): Promise<Answer<"similarContent">> {
    return this.#service.json("GET", path(source, "content", id, "similar"), { query });
  }

  recommend(source: string, userId: string, query?: Query<"recommend">): Promise<Answer<"recommend">> {
    return this.#service.json("GET", path(source, "users", userId, "recommendation"), { query });
  }

  /** Put pieces that somebody else chose into the order in which they suit a person; a weight of 0 leaves it as given. */
  rank(source: string, userId: string, wish: Body<"rank">, query?: Query<"rank">): Promise<Answer<"rank">> {
    const body = JSON.stringify(wish);
    return this.#service.json("POST", path(source, "users", userId, "rank"), { query, body, repeatable: true });
  }

  againContent(source: string, userId: string, query?: Query<"againContent">): Promise<Answer<"againContent">> {
    return this.#service.json("GET", path(source, "users", userId, "again"), { query });
  }

  popularContent(source: string, query?: Query<"popularContent">): Promise<Answer<"popularContent">> {
    return this.#service.json("GET", path(source, "popular"), { query });
  }

  newContent(source: string, query?: Query<"newContent">): Promise<Answer<"newContent">> {
    return this.#service.json("GET", path(source, "new"), { query });
  }

  contentAudience(source: string, id: string, query?: Query<"contentAudience">): Promise<Answer<"contentAudience">> {
    return this.#service.json("GET", path(source, "content", id, "audience"), { query });
  }

  recommendToEach(source: string, userIds: readonly string[], query?: Query<"recommendToEach">): Promise<Answer<"recommendToEach">> {
    const body = JSON.stringify(userIds);
    return this.#service.json("POST", path(source, "recommendations"), { query, body, repeatable: true });
  }

  similarToEach(source: string, ids: readonly string[], query?: Query<"similarToEach">): Promise<Answer<"similarToEach">> {
    const body = JSON.stringify(ids);
    return this.#service.json("POST", path(source, "similar"), { query, body, repeatable: true });
  }

  whySimilar(source: string, id: string, other: string, query?: Query<"whySimilar">): Promise<Answer<"whySimilar">> {
    return this.#service.json("GET", path(source, "content", id, "why", other), { query });
  }

  whyRecommended(source: string, userId: string, id: string, query?: Query<"whyRecommended">): Promise<Answer<"whyRecommended">> {
    return this.#service.json("GET", path(source, "users", userId, "why", id), { query });
  }

  // Placements

  /** Read the list of a placement, for a person and beside a piece where the query names them. */
  placementList(source: string, name: string, query?: Query<"placementList">): Promise<Answer<"placementList">> {
    return this.#service.json("GET", path(source, "placements", name, "list"), { query });
  }

  /** Read the lists of several placements, in which no piece comes twice. */
  pageLists(source: string, page: Body<"pageLists">, query?: Query<"pageLists">): Promise<Answer<"pageLists">> {
    const body = JSON.stringify(page);
    return this.#service.json("POST", path(source, "lists"), { query, body, repeatable: true });
  }

  listPlacements(source: string): Promise<Answer<"listPlacements">> {
    return this.#service.json("GET", path(source, "placements"));
  }

  getPlacement(source: string, name: string): Promise<Answer<"getPlacement">> {
    return this.#service.json("GET", path(source, "placements", name));
  }

  putPlacement(source: string, name: string, placement: Body<"putPlacement">): Promise<Answer<"putPlacement">> {
    return this.#service.json("PUT", path(source, "placements", name), { body: JSON.stringify(placement) });
  }

  async deletePlacement(source: string, name: string): Promise<void> {
    await this.#service.send("DELETE", path(source, "placements", name));
  }

  listPlacementVersions(source: string, name: string): Promise<Answer<"listPlacementVersions">> {
    return this.#service.json("GET", path(source, "placements", name, "versions"));
  }

  /** Put an earlier version in force again; without a version, the one before the present. */
  rollBackPlacement(source: string, name: string, query?: Query<"rollBackPlacement">): Promise<Answer<"rollBackPlacement">> {
    const repeatable = query?.version !== undefined;
    return this.#service.json("POST", path(source, "placements", name, "rollback"), { query, repeatable });
  }

  // Previews: nothing is stored

  previewPlacement(source: string, draft: Body<"previewPlacement">): Promise<Answer<"previewPlacement">> {
    return this.#preview(source, "placement", draft);
  }

  previewSimilar(source: string, draft: Body<"previewSimilar">, query?: Query<"previewSimilar">): Promise<Answer<"previewSimilar">> {
    return this.#preview(source, "similar", draft, query);
  }

  previewRecommendation(
    source: string,
    likings: Body<"previewRecommendation">,
    query?: Query<"previewRecommendation">,
  ): Promise<Answer<"previewRecommendation">> {
    return this.#preview(source, "recommendation", likings, query);
  }

  /** The words that up to 100 pieces would get of their texts, by a rule that is tried or that of the source. */
  previewWords(source: string, texts: Body<"previewWords">): Promise<Answer<"previewWords">> {
    return this.#preview(source, "words", texts);
  }

  previewSettings(source: string, changes: Body<"previewSettings">): Promise<Answer<"previewSettings">> {
    return this.#preview(source, "settings", changes);
  }

  #preview<Result>(source: string, kind: string, body: object, query?: object): Promise<Result> {
    return this.#service.json("POST", path(source, "preview", kind), { query, body: JSON.stringify(body), repeatable: true });
  }

  // People

  getProfile(source: string, userId: string): Promise<Answer<"getProfile">> {
    return this.#service.json("GET", path(source, "users", userId, "recommendation", "profile"));
  }

  listSegments(source: string, userId: string, query: Query<"listSegments">): Promise<Answer<"listSegments">> {
    return this.#service.json("GET", path(source, "users", userId, "segments"), { query });
  }

  /** Record an interaction; with an `eventId`, an id of this person's, it is stored once, however often it is sent. */
  recordInteraction(
    source: string,
    userId: string,
    type: InteractionType,
    id: string,
    query: Query<"recordInteraction"> = {},
  ): Promise<Answer<"recordInteraction">> {
    const repeatable = query.eventId !== undefined;
    return this.#service.json("POST", interactionPath(source, userId, type, id), { query, repeatable });
  }

  /** Record an interaction while the page is left; returns false where the browser takes no more. Browser keys only. */
  recordOnLeave(source: string, userId: string, type: InteractionType, id: string): boolean {
    const { key, options } = this.#service;
    const url = this.#service.url(interactionPath(source, userId, type, id), { key, user: options.user });
    return navigator.sendBeacon(url);
  }

  /** Record any number of interactions, 10,000 at a time; only those with an `eventId` (of their person) are never stored twice. */
  async recordInteractions(source: string, interactions: Entries<Interaction>): Promise<BulkReceipt> {
    let total: BulkReceipt | null = null;
    for await (const { body, batch } of batches(interactions, MAX_INTERACTIONS)) {
      const repeatable = batch.every((interaction) => interaction.eventId != null);
      const receipt = await this.#service.json<BulkReceipt>("POST", path(source, "interactions"), { body, repeatable });
      total = addReceipts(total, receipt, ["accepted", "duplicates"]);
    }
    return total as BulkReceipt;
  }

  listInteractions(source: string, userId: string, query?: Query<"listInteractions">): Promise<Answer<"listInteractions">> {
    return this.#service.json("GET", path(source, "users", userId, "interactions"), { query });
  }

  /** Read what a person has said: keywords liked and disliked, pieces hidden, categories never used. */
  getPreferences(source: string, userId: string): Promise<Answer<"getPreferences">> {
    return this.#service.json("GET", path(source, "users", userId, "preferences"));
  }

  /** Replace what a person has said; an empty object removes it. */
  putPreferences(source: string, userId: string, preferences: Body<"putPreferences">): Promise<Answer<"putPreferences">> {
    const body = JSON.stringify(preferences);
    return this.#service.json("PUT", path(source, "users", userId, "preferences"), { body });
  }

  deletePreferences(source: string, userId: string): Promise<Answer<"deletePreferences">> {
    return this.#service.json("DELETE", path(source, "users", userId, "preferences"));
  }

  exportUser(source: string, userId: string): Promise<Answer<"exportUser">> {
    return this.#service.json("GET", path(source, "users", userId, "export"));
  }

  async eraseUser(source: string, userId: string): Promise<void> {
    await this.#service.send("DELETE", path(source, "users", userId));
  }

  // The source

  getSource(source: string, query?: Query<"getSource">): Promise<Answer<"getSource">> {
    return this.#service.json("GET", path(source), { query });
  }

  async deleteSource(source: string, confirm: { readonly confirm: string }): Promise<void> {
    await this.#service.send("DELETE", path(source), { query: confirm });
  }

  getSettings(source: string): Promise<Settings> {
    return this.#service.json("GET", path(source, "settings"));
  }

  /** Replace all settings; members that are left out return to their defaults. */
  putSettings(source: string, settings: Settings): Promise<Settings> {
    return this.#service.json("PUT", path(source, "settings"), { body: JSON.stringify(settings) });
  }

  getList(source: string, list: "whitelist" | "blacklist"): Promise<string[]> {
    return this.#service.json("GET", path(source, list));
  }

  putList(source: string, list: "whitelist" | "blacklist", ids: readonly string[]): Promise<string[]> {
    return this.#service.json("PUT", path(source, list), { body: JSON.stringify(ids) });
  }
}

function interactionPath(source: string, userId: string, type: InteractionType, id: string): string {
  return path(source, "users", userId, "interactions", type, "content", id);
}
