/** Lists: what rows show. Those of a page that are wanted at once share a request, and no piece comes twice. */

import type { Client, Include } from "penchant";
import { clientOf } from "./setup.js";
import { entry, unwatch, watch } from "./sightings.js";

/** What adds to a score: a keyword, or a piece that the person likes. */
export interface Share {
  readonly share: number;
  readonly category?: string;
  readonly keyword?: string;
  readonly id?: string;
  readonly label?: string;
}

/** A piece in a list, with what was asked for of it. */
export interface Entry {
  readonly id: string;
  readonly score: number;
  readonly label?: string;
  readonly extras?: Readonly<Record<string, unknown>>;
  readonly catalogs?: readonly string[];
  readonly availableFrom?: string;
  readonly availableUntil?: string;
  /** The list that had it, which reports name. */
  readonly listId?: string;
  readonly why?: {
    readonly parts?: readonly {
      readonly part: string;
      readonly share: number;
      readonly terms?: readonly Share[];
      readonly pieces?: readonly Share[];
    }[];
    readonly terms?: readonly Share[];
  };
}

/**
 * The list of a placement, with all that was loaded of it. One that is about something has a `seed`, and a placement may
 * give several of these.
 */
export interface List {
  readonly placement: string;
  readonly contentId: string | null;
  readonly kind?: string;
  readonly variant?: string;
  readonly listId?: string;
  readonly since?: string;
  /** There where the list goes on. */
  readonly next?: string | undefined;
  readonly seed?: { readonly contentId?: string; readonly label?: string; readonly category?: string; readonly keyword?: string };
  readonly content: readonly Entry[];
}

export interface ListWish {
  readonly source: string;
  readonly placement: string;
  /** The piece beside which the list stands. */
  readonly content?: string | undefined;
  /** The signed person of this list, or somebody's id where a server of yours adds the key; else that of the page. */
  readonly user?: string | undefined;
  readonly take?: number | undefined;
  /** Whether entries have reasons (`why`). */
  readonly explain?: boolean | undefined;
  /** What entries carry of their pieces; by default label and extras. */
  readonly include?: readonly Include[] | undefined;
}

export interface ListState {
  readonly lists: readonly List[];
  /** The entries of all lists, in their order. */
  readonly entries: readonly Entry[];
  readonly isLoading: boolean;
  readonly error: Error | null;
  /** Whether a list goes on. */
  readonly hasMore: boolean;
}

/** What makes an element the card of an entry: spread it in React, bind it in Vue. */
export interface Card {
  readonly ref: (element: unknown) => void;
  readonly onClick: () => void;
}

interface Request {
  readonly wish: ListWish;
  readonly settle: (lists: List[]) => void;
  readonly refuse: (error: unknown) => void;
}

const DEFAULT_TAKE = 10;
const DEFAULT_INCLUDE: readonly Include[] = ["label", "extras"];
/** Of one request, as the service has it. */
const MOST_LISTS = 20;
export const LOADING: ListState = { lists: [], entries: [], isLoading: true, error: null, hasMore: false };
let requested: Request[] = [];

/** One list, or those that one placement gives, loaded when it is connected; `subscribe` and `state` are for views. */
export class PenchantList {
  state: ListState = LOADING;
  #isStarted = false;
  #person: string | null = null;
  #listeners = new Set<() => void>();
  #cards = new Map<string, Card>();

  constructor(readonly wish: ListWish) {}

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** Load the lists, unless that was done before. */
  readonly connect = (): void => {
    if (!this.#isStarted) void this.reload();
  };

  /** Take lists that were loaded elsewhere, on a server that rendered the page. */
  hydrate(lists: readonly List[]): void {
    this.#isStarted = true;
    this.#show(lists.map(named));
    personOf(this.wish).then((person) => (this.#person = person), () => undefined); // prettier-ignore
  }

  /** Load the lists anew. */
  readonly reload = async (): Promise<void> => {
    this.#isStarted = true;
    try {
      this.#person = await personOf(this.wish);
      const lists = await new Promise<List[]>((settle, refuse) => request({ wish: this.wish, settle, refuse }));
      this.#cards.clear();
      this.#show(lists);
    } catch (error) {
      this.#tell({ ...LOADING, isLoading: false, error: error as Error });
    }
  };

  /** Load what comes after the last entry of a list, of the first where none is named. */
  readonly more = async (list: List | undefined = this.state.lists[0]): Promise<void> => {
    if (list?.next === undefined || this.state.isLoading) return;
    this.#tell({ ...this.state, isLoading: true });
    try {
      const [found] = await load([this.wish], this.#person, list.next);
      if (found instanceof Error) throw found;
      const { content = [], next } = found?.[0] ?? {};
      const longer: List = { ...list, content: [...list.content, ...content], next };
      this.#show(this.state.lists.map((each) => (each === list ? longer : each)));
    } catch (error) {
      this.#tell({ ...this.state, isLoading: false, error: error as Error });
    }
  };

  /** Return what makes an element the card of an entry: it is reported when it was seen, and when it is clicked. */
  readonly card = ({ id, listId }: Entry): Card =>
    entry(this.#cards, `${listId} ${id}`, () => {
      let element: Element | undefined;
      let isClicked = false;
      const { source } = this.wish;
      return {
        ref: (given) => {
          if (element !== undefined) unwatch(element);
          // Vue gives components, of which the element is meant.
          element = given instanceof Element ? given : (given as { $el?: Element } | null)?.$el;
          if (element !== undefined && listId !== undefined) watch(element, { client: clientOfWish(this.wish), source, listId, id });
        },
        // Once, while the page may be left, and for a person alone.
        onClick: () => {
          if (this.#person === null || isClicked) return;
          isClicked = true;
          clientOfWish(this.wish).recordOnLeave(source, this.#person, "Click", id, { list: listId });
        },
      };
    });

  #show(lists: readonly List[]): void {
    const entries = lists.flatMap(({ content }) => content);
    this.#tell({ lists, entries, isLoading: false, error: null, hasMore: lists.some(({ next }) => next !== undefined) });
  }

  #tell(state: ListState): void {
    this.state = state;
    for (const listener of this.#listeners) listener();
  }
}

/** Return a list whose entries say which one had them. */
function named(list: List): List {
  return { ...list, content: list.content.map((each) => ({ ...each, ...(list.listId === undefined ? {} : { listId: list.listId }) })) };
}

function clientOfWish({ user }: ListWish): Client {
  return clientOf(isSigned(user) ? user : undefined);
}

async function personOf(wish: ListWish): Promise<string | null> {
  return wish.user === undefined || isSigned(wish.user) ? clientOfWish(wish).person() : wish.user;
}

function isSigned(user: string | undefined): boolean {
  return user !== undefined && /\.\d+\.[\w-]{43}$/.test(user);
}

/** Ask for a list with all others of the page that are wanted by the time that it is read. */
function request(wanted: Request): void {
  if (requested.push(wanted) > 1) return;
  const send = (): void => {
    const all = requested;
    requested = [];
    const alike = new Map<string, Request[]>();
    for (const each of all) {
      const { source, user, explain, include } = each.wish;
      entry(alike, JSON.stringify([source, user, explain, include]), () => []).push(each);
    }
    for (const group of alike.values()) {
      for (let first = 0; first < group.length; first += MOST_LISTS) void answer(group.slice(first, first + MOST_LISTS));
    }
  };
  // While the document is read its rows come one by one.
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", send, { once: true });
  else setTimeout(send);
}

async function answer(group: Request[]): Promise<void> {
  const wishes = group.map(({ wish }) => wish);
  let found: (List[] | Error)[];
  try {
    found = await load(wishes, await personOf(wishes[0] as ListWish));
  } catch (error) {
    found = wishes.map(() => error as Error);
  }
  group.forEach(({ settle, refuse }, place) => {
    const lists = found[place] as List[] | Error;
    if (lists instanceof Error) refuse(lists);
    else settle(lists);
  });
}

/** Return the lists that each of some wishes of one source and person gets, or why it gets none. */
async function load(wishes: readonly ListWish[], user: string | null, after?: string): Promise<(List[] | Error)[]> {
  const [{ source, explain, include }] = wishes as [ListWish];
  const lists = wishes.map(({ placement, content = null, take = DEFAULT_TAKE }) => ({ placement, content, take, ...(after && { after }) }));
  const page = { user, lists, include: include ?? DEFAULT_INCLUDE };
  const answered = await clientOfWish(wishes[0] as ListWish).pageLists(source, page, explain ? { explain } : {});
  const found: (List[] | Error)[] = wishes.map(() => []);
  let place = 0;
  for (const each of answered.lists as (Omit<List, "content"> & { content?: Entry[]; error?: { title: string; detail: string } })[]) {
    // Those of one wish stand together, and only what is about something comes more than once.
    const isFull = (): boolean => each.seed === undefined && (found[place] as List[]).length !== 0;
    const isOther = (): boolean => wishes[place]?.placement !== each.placement || (wishes[place]?.content ?? null) !== each.contentId;
    while (place < wishes.length - 1 && (isFull() || isOther())) place += 1;
    const { error, content = [], ...list } = each;
    if (error !== undefined) found[place] = new Error(`${error.title}: ${error.detail}`);
    else (found[place] as List[]).push(named({ ...list, content }));
  }
  return found;
}
