/** Errors: everything that a request can throw is a `PenchantError`. */

import type { components } from "./openapi.js";

/** The body of an error answer (RFC 9457). */
export type Problem = components["schemas"]["Problem"];

export class PenchantError extends Error {
  override readonly name: string = "PenchantError";
}

/** No answer came. Whether the request was carried out is not known. */
export class ConnectionLost extends PenchantError {
  override readonly name: string = "ConnectionLost";
}

/** The browser refused the request before it was sent, since the service does not answer pages of this origin. */
export class OriginRefused extends ConnectionLost {
  override readonly name = "OriginRefused";

  constructor(
    address: string,
    readonly origin: string,
    options: ErrorOptions,
  ) {
    const remedy = "name this origin in its setting cors-origins and with the key (--origin)";
    super(`${address} answers, but may not answer pages of ${origin}: ${remedy}.`, options);
  }
}

/** The service answered with an error; `code` is stable, `problem.errors` names the place of each fault. */
export class ServiceError extends PenchantError {
  override readonly name = "ServiceError";

  constructor(
    readonly status: number,
    readonly problem: Problem,
    readonly requestId: string | null,
    readonly retryAfterS: number | null,
  ) {
    super(`${problem.title}: ${problem.detail}`);
  }

  get code(): string {
    return this.problem.code;
  }
}

/** Return the error of an answer, whether or not its body is a problem. */
export async function errorOf(response: Response): Promise<ServiceError> {
  const text = await response.text();
  let problem: Problem;
  try {
    problem = JSON.parse(text) as Problem;
  } catch {
    const detail = "The answer is no problem document: something else may listen at this address.";
    const { status, statusText: title } = response;
    problem = { type: "about:blank", title, status, detail, code: "unreadable", errors: null };
  }
  const seconds = Number.parseFloat(response.headers.get("retry-after") ?? "");
  const retryAfterS = Number.isFinite(seconds) ? seconds : null;
  return new ServiceError(response.status, problem, response.headers.get("x-request-id"), retryAfterS);
}
