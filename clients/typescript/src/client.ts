/** Client: a method for each operation of the interface that a program or page uses. */

import { addReceipts, batches, type Entries } from "./batches.js";
import { Connection, lines, path, readSignature, type Options, type RequestOptions } from "./connection.js";
import { ConnectionLost } from "./errors.js";
import type {
  Abortable,
  Answer,
  Body,
  BulkReceipt,
  Carrying,
  Change,
  Include,
  Interaction,
  InteractionType,
  ListAnswer,
  ListHeaders,
  ListQuery,
  Piece,
  Query,
  Receipt,
  RecordingHeaders,
  Settings,
  Versions,
} from "./types.js";

const MAX_PIECES = 2_000;
const MAX_INTERACTIONS = 10_000;
const NDJSON = "application/x-ndjson";

/** The service at an address, asked with a key; with a browser key it works in pages, too. */
export class Client {
  readonly #service: Connection;

  constructor(address: string, key: string, options: Options = {}) {
    this.#service = new Connection(address, key, options);
  }

  /** Where the service is. */
  get address(): string {
    return this.#service.address;
  }

  /** Return the id of the signed person, if there is one, once a function that signs has done so. */
  async person(): Promise<string | null> {
    const signed = await this.#service.sign();
    return signed === undefined ? null : (readSignature(signed)?.id ?? null);
  }

  /** Return the greatest versions that answers have told this client of a source; no request is sent. */
  versions(source: string): Versions {
    return this.#service.versions(source);
  }

  /** Return what is read at an address. */
  #get<T>(query: object | undefined, ...segments: string[]): Promise<T> {
    return this.#service.json("GET", path(...segments), { query });
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
    return this.#get(query, source, "content", id);
  }

  /** Read up to 1,000 pieces; those that there are come in the order of the ids, and the other ids as `missing`. */
  readContent(source: string, ids: readonly string[], query?: Query<"readContent">): Promise<Answer<"readContent">> {
    return this.#service.json("POST", path(source, "content", "read"), { query, body: JSON.stringify(ids), repeatable: true });
  }

  listContent(source: string, query?: Query<"listContent">): Promise<Answer<"listContent">> {
    return this.#get(query, source, "content");
  }

  listIds(source: string, query?: Query<"listIds">): Promise<Answer<"listIds">> {
    return this.#get(query, source, "ids");
  }

  /** Yield all pieces, ascending by id, as of one moment, while they arrive. */
  async *iterateContent(source: string, options?: Abortable): AsyncGenerator<Piece> {
    yield* lines<Piece>(await this.#service.send("GET", path(source, "content"), { query: options, accept: NDJSON }));
  }

  /**
   * Yield what became of the pieces after the version `since`, while it arrives. Without `since`, and where the first
   * change says `complete`, these are all pieces. The version and history of the feed are for the next call.
   */
  async *listChanges(source: string, query?: Query<"listChanges">): AsyncGenerator<Change> {
    const answer = await this.#service.send("GET", path(source, "changes"), { query, accept: NDJSON });
    for await (const change of lines<Change>(answer)) {
      yield change;
      if (change.type === "end") return;
    }
    throw new ConnectionLost("The feed of changes was cut: ask again from the version before.");
  }

  /** Delete these pieces; unknown ids are no error, and no ids delete nothing. */
  async deleteContent(source: string, ids: readonly string[], options?: Abortable): Promise<void> {
    await this.#service.send("DELETE", path(source, "content"), { query: options, body: JSON.stringify(ids) });
  }

  async deleteOneContent(source: string, id: string, options?: Abortable): Promise<void> {
    await this.#service.send("DELETE", path(source, "content", id), { query: options });
  }

  /** Delete all pieces; the source, its lists, settings and interactions stay. */
  async clearContent(source: string, options?: Abortable): Promise<void> {
    await this.#service.send("DELETE", path(source, "content"), { query: options });
  }

  // Lists

  similarContent<const Wishes extends readonly Include[] = []>(
    source: string,
    id: string,
    query?: ListQuery<"similarContent", Wishes>,
  ): Promise<ListAnswer<"similarContent", Wishes>> {
    return this.#get(query, source, "content", id, "similar");
  }

  recommend<const Wishes extends readonly Include[] = []>(
    source: string,
    userId: string,
    query?: ListQuery<"recommend", Wishes>,
  ): Promise<ListAnswer<"recommend", Wishes>> {
    return this.#get(query, source, "users", userId, "recommendation");
  }

  /** Put pieces that somebody else chose into the order in which they suit a person; a weight of 0 leaves it as given. */
  rank<const Wishes extends readonly Include[] = []>(
    source: string,
    userId: string,
    wish: Body<"rank">,
    query?: ListQuery<"rank", Wishes>,
  ): Promise<ListAnswer<"rank", Wishes>> {
    const body = JSON.stringify(wish);
    return this.#service.json("POST", path(source, "users", userId, "rank"), { query, body, repeatable: true });
  }

  againContent<const Wishes extends readonly Include[] = []>(
    source: string,
    userId: string,
    query?: ListQuery<"againContent", Wishes>,
  ): Promise<ListAnswer<"againContent", Wishes>> {
    return this.#get(query, source, "users", userId, "again");
  }

  popularContent<const Wishes extends readonly Include[] = []>(
    source: string,
    query?: ListQuery<"popularContent", Wishes>,
  ): Promise<ListAnswer<"popularContent", Wishes>> {
    return this.#get(query, source, "popular");
  }

  newContent<const Wishes extends readonly Include[] = []>(
    source: string,
    query?: ListQuery<"newContent", Wishes>,
  ): Promise<ListAnswer<"newContent", Wishes>> {
    return this.#get(query, source, "new");
  }

  contentAudience(source: string, id: string, query?: Query<"contentAudience">): Promise<Answer<"contentAudience">> {
    return this.#get(query, source, "content", id, "audience");
  }

  recommendToEach<const Wishes extends readonly Include[] = []>(
    source: string,
    userIds: readonly string[],
    query?: ListQuery<"recommendToEach", Wishes>,
  ): Promise<ListAnswer<"recommendToEach", Wishes>> {
    const body = JSON.stringify(userIds);
    return this.#service.json("POST", path(source, "recommendations"), { query, body, repeatable: true });
  }

  similarToEach<const Wishes extends readonly Include[] = []>(
    source: string,
    ids: readonly string[],
    query?: ListQuery<"similarToEach", Wishes>,
  ): Promise<ListAnswer<"similarToEach", Wishes>> {
    const body = JSON.stringify(ids);
    return this.#service.json("POST", path(source, "similar"), { query, body, repeatable: true });
  }

  whySimilar(source: string, id: string, other: string, query?: Query<"whySimilar">): Promise<Answer<"whySimilar">> {
    return this.#get(query, source, "content", id, "why", other);
  }

  whyRecommended(source: string, userId: string, id: string, query?: Query<"whyRecommended">): Promise<Answer<"whyRecommended">> {
    return this.#get(query, source, "users", userId, "why", id);
  }

  // Placements

  /** Read the list of a placement, for a person and beside a piece where the query names them. */
  placementList<const Wishes extends readonly Include[] = []>(
    source: string,
    name: string,
    query?: ListQuery<"placementList", Wishes>,
  ): Promise<ListAnswer<"placementList", Wishes>> {
    return this.#get(query, source, "placements", name, "list");
  }

  /** Read the lists of several placements, in which no piece comes twice. */
  pageLists<const Wishes extends readonly Include[] = []>(
    source: string,
    page: Omit<Body<"pageLists">, "include"> & { readonly include?: Wishes },
    query?: Query<"pageLists">,
  ): Promise<Carrying<Answer<"pageLists">, Wishes>> {
    const body = JSON.stringify(page);
    return this.#service.json("POST", path(source, "lists"), { query, body, repeatable: true });
  }

  listPlacements(source: string, options?: Abortable): Promise<Answer<"listPlacements">> {
    return this.#get(options, source, "placements");
  }

  getPlacement(source: string, name: string, options?: Abortable): Promise<Answer<"getPlacement">> {
    return this.#get(options, source, "placements", name);
  }

  putPlacement(source: string, name: string, placement: Body<"putPlacement">, options?: Abortable): Promise<Answer<"putPlacement">> {
    return this.#service.json("PUT", path(source, "placements", name), { query: options, body: JSON.stringify(placement) });
  }

  async deletePlacement(source: string, name: string, options?: Abortable): Promise<void> {
    await this.#service.send("DELETE", path(source, "placements", name), { query: options });
  }

  listPlacementVersions(source: string, name: string, options?: Abortable): Promise<Answer<"listPlacementVersions">> {
    return this.#get(options, source, "placements", name, "versions");
  }

  /** Read what a placement is and does, in words and weekly figures: for everybody, about nobody. */
  placementCard(source: string, name: string, query?: Query<"placementCard">): Promise<Answer<"placementCard">> {
    return this.#get(query, source, "placements", name, "card");
  }

  /** Read the card of a placement as anybody may, where the setting publicCards of the source allows it. */
  publicCard(account: string, source: string, name: string, query?: Query<"publicCard">): Promise<Answer<"publicCard">> {
    return this.#get(query, "-", "cards", account, source, name);
  }

  /** Put an earlier version in force again; without a version, the one before the present. */
  rollBackPlacement(source: string, name: string, query?: Query<"rollBackPlacement">): Promise<Answer<"rollBackPlacement">> {
    const repeatable = query?.version !== undefined;
    return this.#service.json("POST", path(source, "placements", name, "rollback"), { query, repeatable });
  }

  /** Read what the variants of a placement showed, and what came of it. */
  placementResults(source: string, name: string, query?: Query<"placementResults">): Promise<Answer<"placementResults">> {
    return this.#get(query, source, "placements", name, "results");
  }

  // Drafts

  listDrafts(source: string, options?: Abortable): Promise<Answer<"listDrafts">> {
    return this.#get(options, source, "drafts");
  }

  getDraft(source: string, name: string, options?: Abortable): Promise<Answer<"getDraft">> {
    return this.#get(options, source, "drafts", name);
  }

  putDraft(source: string, name: string, edits: Body<"putDraft">, query?: Query<"putDraft">): Promise<Answer<"putDraft">> {
    return this.#service.json("PUT", path(source, "drafts", name), { query, body: JSON.stringify(edits) });
  }

  async deleteDraft(source: string, name: string, options?: Abortable): Promise<void> {
    await this.#service.send("DELETE", path(source, "drafts", name), { query: options });
  }

  /** Read lists as they are and as they would be after a draft. */
  draftEffect(source: string, name: string, wish: Body<"draftEffect">, options?: Abortable): Promise<Answer<"draftEffect">> {
    const body = JSON.stringify(wish);
    return this.#service.json("POST", path(source, "drafts", name, "effect"), { query: options, body, repeatable: true });
  }

  proposeDraft(source: string, name: string, note = "", options?: Abortable): Promise<Answer<"proposeDraft">> {
    return this.#draft(source, name, "propose", { note }, options);
  }

  sendBackDraft(source: string, name: string, note = "", options?: Abortable): Promise<Answer<"sendBackDraft">> {
    return this.#draft(source, name, "send-back", { note }, options);
  }

  /** Publish a draft that was proposed. */
  acceptDraft(source: string, name: string, note = "", query?: Query<"acceptDraft">): Promise<Answer<"acceptDraft">> {
    return this.#draft(source, name, "accept", { note }, query);
  }

  /** Have a draft published at a moment; null takes the schedule back. */
  scheduleDraft(source: string, name: string, at: string | null, query?: Query<"scheduleDraft">): Promise<Answer<"scheduleDraft">> {
    return this.#draft(source, name, "schedule", { at }, query);
  }

  publishDraft(source: string, name: string, query?: Query<"publishDraft">): Promise<Answer<"publishDraft">> {
    return this.#draft(source, name, "publish", undefined, query);
  }

  undoDraft(source: string, name: string, query?: Query<"undoDraft">): Promise<Answer<"undoDraft">> {
    return this.#draft(source, name, "undo", undefined, query);
  }

  // Previews: nothing is stored

  previewPlacement(source: string, draft: Body<"previewPlacement">, options?: Abortable): Promise<Answer<"previewPlacement">> {
    return this.#preview(source, "placement", draft, options);
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
  previewWords(source: string, texts: Body<"previewWords">, options?: Abortable): Promise<Answer<"previewWords">> {
    return this.#preview(source, "words", texts, options);
  }

  previewSettings(source: string, changes: Body<"previewSettings">, options?: Abortable): Promise<Answer<"previewSettings">> {
    return this.#preview(source, "settings", changes, options);
  }

  // A second time a step would be refused, in the state to which the first one has led.
  #draft<Result>(source: string, name: string, step: string, body?: object, query?: object): Promise<Result> {
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    return this.#service.json("POST", path(source, "drafts", name, step), { query, ...sent, repeatable: false });
  }

  #preview<Result>(source: string, kind: string, body: object, query?: object): Promise<Result> {
    return this.#service.json("POST", path(source, "preview", kind), { query, body: JSON.stringify(body), repeatable: true });
  }

  // People

  getProfile(source: string, userId: string, options?: Abortable): Promise<Answer<"getProfile">> {
    return this.#get(options, source, "users", userId, "recommendation", "profile");
  }

  listSegments(source: string, userId: string, query: Query<"listSegments">): Promise<Answer<"listSegments">> {
    return this.#get(query, source, "users", userId, "segments");
  }

  /** Record an interaction; with an `eventId`, an id of this person's, it is stored once, however often it is sent. */
  recordInteraction(
    source: string,
    userId: string,
    type: InteractionType,
    id: string,
    query: Query<"recordInteraction"> = {},
  ): Promise<Answer<"recordInteraction"> & RecordingHeaders> {
    const repeatable = query.eventId !== undefined;
    return this.#service.json("POST", interactionPath(source, userId, type, id), { query, repeatable });
  }

  /**
   * Record an interaction while the page is left; returns false where the browser takes no more. Browser keys only. A
   * person whom a function signs must have been signed by an earlier request.
   */
  recordOnLeave(
    source: string,
    userId: string,
    type: InteractionType,
    id: string,
    query: Omit<Query<"recordInteraction">, "signal"> = {},
  ): boolean {
    const { key, signed: user } = this.#service;
    return navigator.sendBeacon(this.#service.url(interactionPath(source, userId, type, id), { ...query, key, user }));
  }

  /** Record any number of interactions, 10,000 at a time; only those with an `eventId` (of their person) are never stored twice. */
  async recordInteractions(source: string, interactions: Entries<Interaction>, options?: Abortable): Promise<BulkReceipt> {
    let total: BulkReceipt | null = null;
    for await (const { body, batch } of batches(interactions, MAX_INTERACTIONS)) {
      const repeatable = batch.every((interaction) => interaction.eventId != null);
      const receipt = await this.#service.json<BulkReceipt>("POST", path(source, "interactions"), { query: options, body, repeatable });
      total = addReceipts(total, receipt, ["accepted", "duplicates", "unstored", "expired"]);
    }
    return total as BulkReceipt;
  }

  /** Report what people saw of lists of placements; a piece of a list counts once, however often it is reported. */
  recordImpressions(source: string, lists: Body<"recordImpressions">, options?: Abortable): Promise<Answer<"recordImpressions">> {
    return this.#impressions(source, lists, { query: options });
  }

  /** Report what was seen while the page is left: the request goes on without it. At most some hundred lists. */
  recordImpressionsOnLeave(source: string, lists: Body<"recordImpressions">): void {
    // No beacon: those send cookies along, which no service of another origin takes with a body of JSON.
    this.#impressions(source, lists, { keepalive: true }).catch(() => undefined);
  }

  #impressions(source: string, lists: Body<"recordImpressions">, options: RequestOptions): Promise<Answer<"recordImpressions">> {
    const body = JSON.stringify(lists);
    return this.#service.json("POST", path(source, "impressions"), { ...options, body, repeatable: true });
  }

  listInteractions(source: string, userId: string, query?: Query<"listInteractions">): Promise<Answer<"listInteractions">> {
    return this.#get(query, source, "users", userId, "interactions");
  }

  /** Take back what a person did of a type with a piece; with an `eventId` or a `timestamp` that one alone. */
  takeBack(source: string, userId: string, type: InteractionType, id: string, query?: Query<"takeBack">): Promise<Answer<"takeBack">> {
    return this.#service.json("DELETE", interactionPath(source, userId, type, id), { query, repeatable: true });
  }

  /** Read what a person has said: keywords liked and disliked, pieces hidden, categories never used. */
  getPreferences(source: string, userId: string, options?: Abortable): Promise<Answer<"getPreferences">> {
    return this.#get(options, source, "users", userId, "preferences");
  }

  /** Replace what a person has said; an empty object removes it. */
  putPreferences(source: string, userId: string, preferences: Body<"putPreferences">, options?: Abortable): Promise<Answer<"putPreferences">> {
    const body = JSON.stringify(preferences);
    return this.#service.json("PUT", path(source, "users", userId, "preferences"), { query: options, body });
  }

  deletePreferences(source: string, userId: string, options?: Abortable): Promise<Answer<"deletePreferences">> {
    return this.#service.json("DELETE", path(source, "users", userId, "preferences"), { query: options });
  }

  exportUser(source: string, userId: string, options?: Abortable): Promise<Answer<"exportUser">> {
    return this.#get(options, source, "users", userId, "export");
  }

  async eraseUser(source: string, userId: string, options?: Abortable): Promise<void> {
    await this.#service.send("DELETE", path(source, "users", userId), { query: options });
  }

  // The source

  getSource(source: string, query?: Query<"getSource">): Promise<Answer<"getSource">> {
    return this.#get(query, source);
  }

  async deleteSource(source: string, confirm: Abortable & { readonly confirm: string }): Promise<void> {
    await this.#service.send("DELETE", path(source), { query: confirm });
  }

  sourceAudit(source: string, query?: Query<"sourceAudit">): Promise<Answer<"sourceAudit"> & Pick<ListHeaders, "next">> {
    return this.#get(query, source, "audit");
  }

  getAccount(query?: Query<"getAccount">): Promise<Answer<"getAccount">> {
    return this.#get(query, "-", "account");
  }

  settingsVersions(source: string, query?: Query<"settingsVersions">): Promise<Answer<"settingsVersions">> {
    return this.#get(query, source, "settings", "versions");
  }

  whitelistVersions(source: string, query?: Query<"whitelistVersions">): Promise<Answer<"whitelistVersions">> {
    return this.#get(query, source, "whitelist", "versions");
  }

  blacklistVersions(source: string, query?: Query<"blacklistVersions">): Promise<Answer<"blacklistVersions">> {
    return this.#get(query, source, "blacklist", "versions");
  }

  search(source: string, query: Query<"search">): Promise<Answer<"search">> {
    return this.#get(query, source, "search");
  }

  listTitles(source: string, query: Query<"listTitles">): Promise<Answer<"listTitles">> {
    return this.#get(query, source, "titles");
  }

  listCategories(source: string, query?: Query<"listCategories">): Promise<Answer<"listCategories">> {
    return this.#get(query, source, "categories");
  }

  listKeywords(source: string, query?: Query<"listKeywords">): Promise<Answer<"listKeywords">> {
    return this.#get(query, source, "keywords");
  }

  listCatalogs(source: string, query?: Query<"listCatalogs">): Promise<Answer<"listCatalogs">> {
    return this.#get(query, source, "catalogs");
  }

  listExtras(source: string, query?: Query<"listExtras">): Promise<Answer<"listExtras">> {
    return this.#get(query, source, "extras");
  }

  sourceHealth(source: string, query?: Query<"sourceHealth">): Promise<Answer<"sourceHealth">> {
    return this.#get(query, source, "health");
  }

  sourceActivity(source: string, query?: Query<"sourceActivity">): Promise<Answer<"sourceActivity">> {
    return this.#get(query, source, "activity");
  }

  getSettings(source: string, options?: Abortable): Promise<Settings> {
    return this.#get(options, source, "settings");
  }

  /** Replace all settings; members that are left out return to their defaults. */
  putSettings(source: string, settings: Settings, options?: Abortable): Promise<Settings> {
    return this.#service.json("PUT", path(source, "settings"), { query: options, body: JSON.stringify(settings) });
  }

  getList(source: string, list: "whitelist" | "blacklist", options?: Abortable): Promise<string[]> {
    return this.#get(options, source, list);
  }

  putList(source: string, list: "whitelist" | "blacklist", ids: readonly string[], options?: Abortable): Promise<string[]> {
    return this.#service.json("PUT", path(source, list), { query: options, body: JSON.stringify(ids) });
  }

  /** Put one piece at the end of a list; what others change in it meanwhile stays. */
  putListEntry(source: string, list: "whitelist" | "blacklist", id: string, options?: Abortable): Promise<string[]> {
    return this.#service.json("PUT", path(source, list, "content", id), { query: options });
  }

  deleteListEntry(source: string, list: "whitelist" | "blacklist", id: string, options?: Abortable): Promise<string[]> {
    return this.#service.json("DELETE", path(source, list, "content", id), { query: options });
  }

  /** Put pieces at the end of a list as one change; what others change in it meanwhile stays. */
  addListEntries(source: string, list: "whitelist" | "blacklist", ids: readonly string[], options?: Abortable): Promise<string[]> {
    return this.#service.json("POST", path(source, list, "content"), { query: options, body: JSON.stringify(ids) });
  }

  removeListEntries(source: string, list: "whitelist" | "blacklist", ids: readonly string[], options?: Abortable): Promise<string[]> {
    return this.#service.json("DELETE", path(source, list, "content"), { query: options, body: JSON.stringify(ids) });
  }
}

function interactionPath(source: string, userId: string, type: InteractionType, id: string): string {
  return path(source, "users", userId, "interactions", type, "content", id);
}
