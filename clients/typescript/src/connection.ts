/** Connection: sends requests to one address with one key, and reads what is answered. */

import { ConnectionLost, errorOf, OriginRefused, ServiceError } from "./errors.js";
import type { Versions } from "./types.js";
import { DEFAULT_RETRIES, pauseMs, type Retries } from "./retries.js";

export interface Options {
  /**
   * The signed person of a browser key (`x-penchant-user`), or a function that gives one: it is called for the first
   * request, and again where the one before ends.
   */
  readonly user?: string | (() => string | Promise<string>);
  readonly retries?: Partial<Retries>;
  /** How long one attempt may take until its answer begins, in milliseconds. */
  readonly timeoutMs?: number;
  readonly fetch?: typeof fetch;
}

export interface RequestOptions {
  /** Parameters in camel case; beside them a `signal`, and a `minAudienceVersion`, which is sent as a header. */
  readonly query?: object | undefined;
  readonly body?: string | undefined;
  readonly accept?: string;
  /** True where sending it twice changes nothing more than sending it once. */
  readonly repeatable?: boolean;
  /** True where the request goes on when the page is left. */
  readonly keepalive?: boolean;
}

/** Whom a signature is for, and until when, in seconds since 1970. */
export interface Signature {
  readonly id: string;
  readonly expiry: number;
}

const VERSION_HEADERS = {
  content: "x-penchant-version",
  interactions: "x-penchant-interactions-version",
  audience: "x-penchant-audience-version",
} as const;
/** What answers say beside their body. */
const TOLD_HEADERS = {
  next: "x-penchant-next",
  listId: "x-penchant-list",
  unknownContent: "x-penchant-unknown-content",
  expired: "x-penchant-expired",
} as const;
/** So many seconds before its end a signature is made anew: clocks differ. */
const SIGNATURE_MARGIN_S = 30;

export class Connection {
  readonly #versions = new Map<string, Versions>();
  readonly #retries: Retries;
  readonly #fetch: typeof fetch;
  readonly #timeoutMs: number;
  #signed: string | undefined;
  #signing: Promise<string> | undefined;

  constructor(
    readonly address: string,
    readonly key: string,
    readonly options: Options,
  ) {
    this.#retries = { ...DEFAULT_RETRIES, ...options.retries };
    this.#fetch = options.fetch ?? ((input, init) => fetch(input, init));
    this.#timeoutMs = options.timeoutMs ?? 30_000;
    if (typeof options.user === "string") this.#signed = options.user;
  }

  /** The signed person as last known. */
  get signed(): string | undefined {
    return this.#signed;
  }

  /** Return the address of a path, with its query. */
  url(path: string, query: object = {}): string {
    const text = queryText(query);
    return `${this.address.replace(/\/+$/, "")}${path}${text === "" ? "" : `?${text}`}`;
  }

  /** Return the JSON of an answer; an object has beside its members what headers say. */
  async json<Body>(method: string, path: string, options: RequestOptions = {}): Promise<Body> {
    const { headers, body } = await this.send(method, path, options).then(async (answer) => ({
      headers: answer.headers,
      body: (await answer.json()) as Body,
    }));
    if (Array.isArray(body)) return body;
    for (const [name, header] of Object.entries(TOLD_HEADERS)) {
      if (headers.has(header)) Object.assign(body as object, { [name]: headers.get(header) });
    }
    return body;
  }

  /** Return a successful answer, whose body is not read yet. */
  async send(method: string, path: string, options: RequestOptions = {}): Promise<Response> {
    const repeatable = options.repeatable ?? method !== "POST";
    const { signal } = (options.query ?? {}) as { signal?: AbortSignal };
    let isRenewed = false;
    for (let attempt = 1; ; attempt += 1) {
      try {
        await this.sign();
        return await this.#attempt(method, path, options);
      } catch (error) {
        signal?.throwIfAborted();
        if (this.#mayRenew(error) && !isRenewed) {
          isRenewed = true;
          this.#signed = undefined;
          continue;
        }
        const pause = pauseMs(this.#retries, error, repeatable, attempt);
        if (pause === null) throw error;
        await sleep(pause, signal);
      }
    }
  }

  /** Return the signed person, signed anew where a function does that and the end is near; those who wait share one call. */
  async sign(): Promise<string | undefined> {
    const { user } = this.options;
    const ends = this.#signed === undefined ? 0 : (readSignature(this.#signed)?.expiry ?? Infinity);
    if (typeof user === "function" && ends < Date.now() / 1000 + SIGNATURE_MARGIN_S) {
      this.#signing ??= Promise.resolve(user()).finally(() => (this.#signing = undefined));
      this.#signed = await this.#signing;
    }
    return this.#signed;
  }

  #mayRenew(error: unknown): boolean {
    return error instanceof ServiceError && error.code === "not-signed" && typeof this.options.user === "function";
  }

  async #attempt(method: string, path: string, options: RequestOptions): Promise<Response> {
    const headers: Record<string, string> = { "x-api-key": this.key, accept: options.accept ?? "application/json" };
    type Beside = { minAudienceVersion?: number; signal?: AbortSignal };
    const { minAudienceVersion, signal, ...query } = (options.query ?? {}) as Beside;
    if (minAudienceVersion !== undefined) headers["x-penchant-min-audience-version"] = String(minAudienceVersion);
    if (this.#signed !== undefined) headers["x-penchant-user"] = this.#signed;
    if (options.body !== undefined) headers["content-type"] = "application/json";
    const timeout = new AbortController();
    const timer = setTimeout(() => timeout.abort(), this.#timeoutMs);
    const ends = signal === undefined ? timeout.signal : AbortSignal.any([signal, timeout.signal]);
    let response: Response;
    try {
      const init: RequestInit = { method, headers, signal: ends, keepalive: options.keepalive ?? false };
      if (options.body !== undefined) init.body = options.body;
      response = await this.#fetch(this.url(path, query), init);
    } catch (cause) {
      signal?.throwIfAborted();
      throw (await this.#refusal(cause)) ?? new ConnectionLost(`No answer came from ${this.address}.`, { cause });
    } finally {
      clearTimeout(timer);
    }
    if (!response.ok) throw await errorOf(response);
    this.#note(path, response.headers);
    return response;
  }

  /**
   * Return the error of a page whose origin the service does not let in. A browser does not tell why it kept an answer
   * to itself, but what answers a request that may not be read is there.
   */
  async #refusal(cause: unknown): Promise<OriginRefused | null> {
    const origin = (globalThis as { location?: { origin?: string } }).location?.origin;
    if (origin === undefined || new URL(this.address, origin).origin === origin) return null;
    try {
      await this.#fetch(this.url("/-/health/live"), { mode: "no-cors", credentials: "omit" });
    } catch {
      return null;
    }
    return new OriginRefused(this.address, origin, { cause });
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

/** Return whom a signature (`kim.1900000000.…`) is for and when it ends; null where the text is none. */
export function readSignature(text: string): Signature | null {
  const [, id, expiry] = /^(.+)\.(\d+)\.[\w-]+$/.exec(text) ?? [];
  try {
    return id === undefined ? null : { id: decodeURIComponent(id), expiry: Number(expiry) };
  } catch {
    return null;
  }
}

/** Wait, unless a signal ends that: then its reason is thrown. */
function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resume, refuse) => {
    const end = () => (clearTimeout(timer), refuse(signal?.reason));
    const timer = setTimeout(() => (signal?.removeEventListener("abort", end), resume()), ms);
    signal?.addEventListener("abort", end, { once: true });
  });
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
