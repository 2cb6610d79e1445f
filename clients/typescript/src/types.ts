/** Types of the interface, derived from its OpenAPI document. */

import type { components, operations } from "./openapi.js";

type Schemas = components["schemas"];

export type Piece = Schemas["Piece"];
export type Receipt = Schemas["Receipt"];
export type BulkReceipt = Schemas["BulkReceipt"];
export type Settings = Schemas["Settings"];

type Camel<Name> = Name extends `${infer First}-${infer Rest}` ? `${First}${Capitalize<Camel<Rest>>}` : Name;
type Parameters<Id extends keyof operations> = operations[Id]["parameters"] extends { query?: infer Named }
  ? Exclude<Named, undefined>
  : never;

type Waits<Id extends keyof operations> = operations[Id]["parameters"] extends {
  header?: { "x-penchant-min-audience-version"?: number };
}
  ? true
  : false;

/** What every request takes: a signal that ends it, which then throws the signal's reason. */
export interface Abortable {
  readonly signal?: AbortSignal | undefined;
}

/**
 * The query parameters of an operation, in camel case: `includeSeen` is sent as `include-seen`. Lists that know what
 * other people like also wait for a version of the interactions, `minAudienceVersion`, which is sent as a header.
 */
export type Query<Id extends keyof operations> = Abortable & {
  [Name in keyof Parameters<Id> as Camel<Name>]?: Parameters<Id>[Name] | undefined;
} & (Waits<Id> extends true ? { minAudienceVersion?: number | undefined } : unknown);

/** The greatest versions that answers have told of a source, 0 before the first. */
export interface Versions {
  readonly content: number;
  /** Told by what records or erases interactions. */
  readonly interactions: number;
  /** Up to which version of the interactions a list knew what other people like. */
  readonly audience: number;
}

type Success = 200 | 201 | 202;

/** The body of an operation's answer. */
export type Answer<Id extends keyof operations> = {
  [Status in keyof operations[Id]["responses"] & Success]: operations[Id]["responses"][Status] extends {
    content: { "application/json": infer Body };
  }
    ? Body
    : never;
}[keyof operations[Id]["responses"] & Success];

/** The JSON body of an operation's request. */
export type Body<Id extends keyof operations> = operations[Id] extends {
  requestBody?: { content: { "application/json": infer Json } };
}
  ? Json
  : never;

/** An interaction to record; without a timestamp it happened now. */
export type Interaction = Body<"recordInteractions">[number];

export type InteractionType = Interaction["type"];

/** One line of a feed of changes. */
export type Change =
  | { readonly type: "begin"; readonly source: string; readonly version: number; readonly complete: boolean; readonly history: string }
  | { readonly type: "upsert"; readonly piece: Piece }
  | { readonly type: "delete"; readonly id: string }
  | { readonly type: "end"; readonly version: number };

/** What entries of lists can carry of their pieces. */
export type Include = "label" | "extras" | `extras.${string}` | "catalogs" | "available" | "words";

interface Carried {
  label: "label";
  extras: "extras";
  catalogs: "catalogs";
  available: "availableFrom" | "availableUntil";
  words: "words";
}
type CarriedMember = Carried[keyof Carried];
type MembersOf<Asked> = Asked extends `extras.${string}` ? "extras" : Asked extends keyof Carried ? Carried[Asked] : never;
/** The members that have a name: documents allow any others beside them. */
type Named<Entry> = { [Name in keyof Entry as string extends Name ? never : Name]: Entry[Name] };
type CarryingEntry<Entry, Asked> = Omit<Named<Entry>, CarriedMember> & Pick<Named<Entry>, MembersOf<Asked> & keyof Named<Entry>>;

/** A list, or each of several, whose entries have what was asked for of their pieces, and nothing else of them. */
export type Carrying<List, Wishes extends readonly Include[]> = {
  [Name in keyof Named<List>]: Name extends "content" | "lists"
    ? Named<List>[Name] extends readonly (infer Entry)[] | undefined
      ? (Name extends "content" ? CarryingEntry<Entry, Wishes[number]> : Carrying<Entry, Wishes>)[] | Extract<Named<List>[Name], undefined>
      : Named<List>[Name]
    : Named<List>[Name];
};

/** What answers with a list say in headers: by `next` (`after` of the next request) there is more, `listId` is for reports. */
export interface ListHeaders {
  readonly next?: string;
  readonly listId?: string;
}

/** What the answer to an interaction says in headers: the source has no such piece (yet); it is older than what is kept. */
export interface RecordingHeaders {
  readonly unknownContent?: "true";
  readonly expired?: "true";
}

/** The query of a list: `include` decides which members its entries have. */
export type ListQuery<Id extends keyof operations, Wishes extends readonly Include[]> = Omit<Query<Id>, "include" | "after"> & {
  readonly include?: Wishes | undefined;
  readonly after?: string | undefined;
};
export type ListAnswer<Id extends keyof operations, Wishes extends readonly Include[]> = Carrying<Answer<Id>, Wishes> & ListHeaders;
