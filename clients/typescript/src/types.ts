/** Types of the interface, derived from its OpenAPI document. */

import type { components, operations } from "./openapi.js";

type Schemas = components["schemas"];

export type Piece = Schemas["Piece"];
export type Receipt = Schemas["Receipt"];
export type BulkReceipt = Schemas["BulkReceipt"];
export type Settings = Schemas["Settings"];

type Camel<Name> = Name extends `${infer First}-${infer Rest}` ? `${First}${Capitalize<Camel<Rest>>}` : Name;
type Parameters<Id extends keyof operations> = Exclude<operations[Id]["parameters"]["query"], undefined>;

/** The query parameters of an operation, in camel case: `includeSeen` is sent as `include-seen`. */
export type Query<Id extends keyof operations> = {
  [Name in keyof Parameters<Id> as Camel<Name>]?: Parameters<Id>[Name] | undefined;
};

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
