/** Retries: a failed request is sent again only where that cannot do anything twice. */

import { ConnectionLost, OriginRefused, ServiceError } from "./errors.js";

export interface Retries {
  /** How often a request is tried in all; 1 never repeats. */
  readonly attempts: number;
  /** Pauses double from the first to the longest, each shortened at random by up to a half; in milliseconds. */
  readonly firstPauseMs: number;
  readonly longestPauseMs: number;
}

export const DEFAULT_RETRIES: Retries = { attempts: 5, firstPauseMs: 250, longestPauseMs: 20_000 };

/** With these codes the service says that it did nothing of the request. */
const NOTHING_DONE = new Set(["rate-exceeded", "quota-exceeded", "overloaded", "not-yet-visible", "index-not-ready"]);

/** Return the pause before a request is sent again after its n-th attempt, in milliseconds; null gives up. */
export function pauseMs(retries: Retries, error: unknown, repeatable: boolean, attempt: number): number | null {
  if (attempt >= retries.attempts || !mayRepeat(error, repeatable)) return null;
  const step = Math.min(retries.longestPauseMs, retries.firstPauseMs * 2 ** (attempt - 1));
  const requested = error instanceof ServiceError ? error.retryAfterS : null;
  if (requested === null) return step / 2 + (Math.random() * step) / 2;
  // A longer wait than the longest pause is for the caller to decide, a monthly quota for one.
  return requested * 1000 > retries.longestPauseMs ? null : requested * 1000 + Math.random() * step;
}

function mayRepeat(error: unknown, repeatable: boolean): boolean {
  if (error instanceof OriginRefused) return false;
  if (error instanceof ConnectionLost) return repeatable;
  if (!(error instanceof ServiceError)) return false;
  // With any other 503, of an unreachable database for one, a change may have been stored all the same.
  return NOTHING_DONE.has(error.code) || (error.status === 503 && repeatable);
}
