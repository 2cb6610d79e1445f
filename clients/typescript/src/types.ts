/** Types of the interface, derived from its OpenAPI document. */

import type { components, operations } from "./openapi.js";

type Schemas = components["schemas"];

export type Piece = Schemas["Piece"];
export type Receipt = Schemas["Receipt"];
export type BulkReceipt = Schemas["BulkReceipt"];
export type Settings = Schemas["Settings"];

type Camel<Name> = Name extends `${infer First}-${infer Rest}` ? `${First}${Capitalize<Camel<Rest>>}` : Name;
type Parameters<Id extends keyof operations> = Exclude<operations[Id]["parameters"]["query"], undefined>;

type Waits<Id extends keyof operations> = operations[Id]["parameters"] extends {
  header?: { "x-penchant-min-audience-version"?: number };
}
  ? true
  : false;

/**
 * The query parameters of an operation, in camel case: `includeSeen` is sent as `include-seen`. Lists that know what
 * other people like also wait for a version of the interactions, `minAudienceVersion`, which is sent as a header.
 */
export type Query<Id extends keyof operations> = {
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
