/** Setup: which service a page asks, with which key, and for whom. */

import { Client, readSignature } from "penchant";

export interface Setup {
  /** Where the service is. */
  readonly address: string;
  /** A browser key. */
  readonly key: string;
  /** The signed person (`kim.1900000000.…`), or a function that has your server sign one anew. */
  readonly user?: string | (() => string | Promise<string>) | undefined;
}

let configured: Partial<Setup> = {};
const clients = new Map<string, Client>();

/**
 * Say where the service is, and who asks. Without it `<meta name="penchant" content="ADDRESS" data-key="KEY">` does, and
 * `<meta name="penchant-user" content="SIGNED">` for the person; a function that signs is asked when that one ends.
 */
export function configure(setup: Partial<Setup>): void {
  configured = { ...configured, ...setup };
  clients.clear();
}

/** Return the client of the page, for the person of the page or another one who is signed. */
export function clientOf(signed?: string): Client {
  const meta = named("penchant");
  const address = configured.address ?? meta?.content;
  const key = configured.key ?? meta?.dataset.key;
  if (address === undefined || key === undefined) throw new Error('No <meta name="penchant" content="ADDRESS" data-key="KEY">');
  const name = JSON.stringify([address, key, signed]);
  let client = clients.get(name);
  if (client === undefined) {
    const user = signed ?? personOfPage();
    client = new Client(new URL(address, location.href).href.replace(/\/*$/, "/"), key, user === undefined ? {} : { user });
    clients.set(name, client);
  }
  return client;
}

/** Return who is signed in the page: what a meta element says for as long as that holds, then what the function gives. */
function personOfPage(): Setup["user"] {
  const { user } = configured;
  let first = named("penchant-user")?.content || undefined;
  if (typeof user !== "function") return user ?? first;
  return () => {
    const known = first;
    first = undefined;
    return known !== undefined && (readSignature(known)?.expiry ?? 0) > Date.now() / 1000 + 60 ? known : user();
  };
}

function named(name: string): HTMLMetaElement | null {
  return document.querySelector<HTMLMetaElement>(`meta[name="${name}"]`);
}
