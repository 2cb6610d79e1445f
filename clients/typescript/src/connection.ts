/** Connection: sends requests to one address with one key, and reads what is answered. */

import { ConnectionLost, errorOf } from "./errors.js";
import type { Versions } from "./types.js";
import { DEFAULT_RETRIES, pauseMs, type Retries } from "./retries.js";

export interface Options {
  /** Sent as `x-penchant-user`: the signed person of a browser key. */
  readonly user?: string;
  readonly retries?: Partial<Retries>;
  /** How long one attempt may take until its answer begins, in milliseconds. */
  readonly timeoutMs?: number;
  readonly fetch?: typeof fetch;
}

export interface RequestOptions {
  readonly query?: object | undefined;
  readonly body?: string | undefined;
  readonly accept?: string;
  /** True where sending it twice changes nothing more than sending it once. */
  readonly repeatable?: boolean;
}

const VERSION_HEADERS = {
  content: "x-penchant-version",
  interactions: "x-penchant-interactions-version",
  audience: "x-penchant-audience-version",
} as const;

export class Connection {
  readonly #versions = new Map<string, Versions>();
  readonly #retries: Retries;
  readonly #fetch: typeof fetch;
  readonly #headers: Record<string, string>;
  readonly #timeoutMs: number;

  constructor(
    readonly address: string,
    readonly key: string,
    readonly options: Options,
  ) {
    this.#retries = { ...DEFAULT_RETRIES, ...options.retries };
    this.#fetch = options.fetch ?? ((input, init) => fetch(input, init));
    this.#timeoutMs = options.timeoutMs ?? 30_000;
    this.#headers = { "x-api-key": key };
    if (options.user !== undefined) this.#headers["x-penchant-user"] = options.user;
  }

  /** Return the address of a path, with its query. */
  url(path: string, query: object = {}): string {
    const text = queryText(query);
    return `${this.address.replace(/\/+$/, "")}${path}${text === "" ? "" : `?${text}`}`;
  }

  /** Return the JSON of an answer. */
  async json<Body>(method: string, path: string, options: RequestOptions = {}): Promise<Body> {
    return (await (await this.send(method, path, options)).json()) as Body;
  }

  /** Return a successful answer, whose body is not read yet. */
  async send(method: string, path: string, options: RequestOptions = {}): Promise<Response> {
    const repeatable = options.repeatable ?? method !== "POST";
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#attempt(method, path, options);
      } catch (error) {
        const pause = pauseMs(this.#retries, error, repeatable, attempt);
        if (pause === null) throw error;
        await new Promise((resume) => setTimeout(resume, pause));
      }
    }
  }

  async #attempt(method: string, path: string, options: RequestOptions): Promise<Response> {
    const headers: Record<string, string> = { ...this.#headers, accept: options.accept ?? "application/json" };
    const { minAudienceVersion, ...query } = (options.query ?? {}) as { minAudienceVersion?: number };
    if (minAudienceVersion !== undefined) headers["x-penchant-min-audience-version"] = String(minAudienceVersion);
    if (options.body !== undefined) headers["content-type"] = "application/json";
    const timeout = new AbortController();
    const timer = setTimeout(() => timeout.abort(), this.#timeoutMs);
    let response: Response;
    try {
      const init: RequestInit = { method, headers, signal: timeout.signal };
      if (options.body !== undefined) init.body = options.body;
      response = await this.#fetch(this.url(path, query), init);
    } catch (error) {
      throw new ConnectionLost(`No answer came from ${this.address}.${originHint(this.address)}`, { cause: error });
    } finally {
      clearTimeout(timer);
    }
    if (!response.ok) throw await errorOf(response);
    this.#note(path, response.headers);
    return response;
  }

  /** Return the greatest versions that were seen of a source. */
  versions(source: string): Versions {
    return this.#versions.get(encodeURIComponent(source)) ?? { content: 0, interactions: 0, audience: 0 };
  }

  #note(path: string, headers: Headers): void {
    const source = path.split("/")[1] ?? "";
    const seen = { ...this.versions(decodeURIComponent(source)) } as Record<keyof Versions, number>;
    for (const [kind, header] of Object.entries(VERSION_HEADERS) as [keyof Versions, string][]) {
      seen[kind] = Math.max(seen[kind], Number(headers.get(header)));
    }
    this.#versions.set(source, seen);
  }
}

/** Return what to look at in a page of another origin: the browser does not tell why it kept an answer to itself. */
function originHint(address: string): string {
  const origin = (globalThis as { location?: { origin?: string } }).location?.origin;
  if (origin === undefined || new URL(address, origin).origin === origin) return "";
  return ` If the service runs, it may not answer pages of ${origin}: name this origin in its setting cors-origins and with the key.`;
}

/** Return a path of segments, each encoded, so that ids may hold slashes. */
export function path(...segments: readonly string[]): string {
  return segments.map((segment) => `/${encodeURIComponent(segment)}`).join("");
}

/** Return the text of a query: names in kebab case, lists repeated, what is undefined left out. */
function queryText(query: object): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined) continue;
    const kebab = name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
    for (const item of Array.isArray(value) ? value : [value]) parameters.append(kebab, String(item));
  }
  // A comma separates catalogs, and URLSearchParams encodes it: each catalog is sent as a parameter of its own.
  return parameters.toString();
}

/** Yield the JSON values of an answer of one value a line, while it arrives. */
export async function* lines<Entry>(response: Response): AsyncGenerator<Entry> {
  const decoder = new TextDecoder();
  let rest = "";
  if (response.body === null) return;
  const reader = response.body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      const parts = (rest + decoder.decode(value, { stream: true })).split("\n");
      rest = parts.pop() ?? "";
      for (const line of parts) if (line !== "") yield JSON.parse(line) as Entry;
    }
    if (rest !== "") yield JSON.parse(rest) as Entry;
  } finally {
    await reader.cancel();
  }
}
