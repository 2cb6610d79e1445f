/** The client of penchant for Node and browsers. */

export { Client } from "./client.js";
export type { Options } from "./connection.js";
export { ConnectionLost, PenchantError, ServiceError, type Problem } from "./errors.js";
export type { Retries } from "./retries.js";
export type { Answer, Body, BulkReceipt, Interaction, InteractionType, Piece, Query, Receipt, Settings, Versions } from "./types.js";
