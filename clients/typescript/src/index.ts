/** The client of penchant for Node and browsers. */

export { Client } from "./client.js";
export { readSignature, type Options, type Signature } from "./connection.js";
export { ConnectionLost, OriginRefused, PenchantError, ServiceError, type Problem } from "./errors.js";
export type { Retries } from "./retries.js";
export type {
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
