/** Sightings: which cards were seen, half of them for half a second, and the report of it when the page is left. */

import type { Client } from "penchant";

/** A card of a list: `mark` is where it came from, which a report names once. */
export interface Sighting {
  readonly client: Client;
  readonly source: string;
  readonly listId: string;
  readonly id: string;
}

const SEEN_MS = 500;
/** So many are reported before the page is left: what goes on without a page may have 64 KB. */
const MOST_WAITING = 200;
const watched = new Map<Element, Sighting>();
const timers = new Map<Element, ReturnType<typeof setTimeout>>();
const reported = new Set<string>();
let waiting: Sighting[] = [];
let observer: IntersectionObserver | undefined;

/** Watch a card until it was seen. */
export function watch(card: Element, sighting: Sighting): void {
  if (reported.has(nameOf(sighting))) return;
  if (observer === undefined) {
    observer = new IntersectionObserver(notice, { threshold: 0.5 });
    document.addEventListener("visibilitychange", turn);
    addEventListener("pagehide", reportSeen);
  }
  watched.set(card, sighting);
  observer.observe(card);
}

/** Watch a card no more. */
export function unwatch(card: Element): void {
  observer?.unobserve(card);
  clearTimeout(timers.get(card));
  timers.delete(card);
  watched.delete(card);
}

/** Report now what was seen and not reported yet; done by itself when the page is hidden or left. */
export function reportSeen(): void {
  const byPlace = new Map<Client, Map<string, Map<string, string[]>>>();
  for (const { client, source, listId, id } of waiting) {
    const lists = entry(entry(byPlace, client, () => new Map<string, Map<string, string[]>>()), source, () => new Map<string, string[]>());
    entry(lists, listId, (): string[] => []).push(id);
  }
  waiting = [];
  for (const [client, sources] of byPlace) {
    for (const [source, lists] of sources) {
      client.recordImpressionsOnLeave(source, [...lists].map(([listId, content]) => ({ listId, content })));
    }
  }
}

function notice(changes: IntersectionObserverEntry[]): void {
  for (const { target, intersectionRatio } of changes) {
    clearTimeout(timers.get(target));
    timers.delete(target);
    if (intersectionRatio >= 0.5) timers.set(target, setTimeout(see, SEEN_MS, target));
  }
}

function see(card: Element): void {
  const sighting = watched.get(card);
  // Nobody sees what a hidden tab has; when it is shown again the half second begins anew.
  if (sighting === undefined || document.visibilityState !== "visible") return;
  unwatch(card);
  const name = nameOf(sighting);
  if (reported.has(name)) return;
  reported.add(name);
  if (waiting.push(sighting) >= MOST_WAITING) reportSeen();
}

function turn(): void {
  if (document.visibilityState === "hidden") return reportSeen();
  for (const card of watched.keys()) {
    observer?.unobserve(card);
    observer?.observe(card);
  }
}

function nameOf({ listId, id }: Sighting): string {
  return `${listId} ${id}`;
}

/** Return the value of a key, made where there is none. */
export function entry<Key, Value>(map: Map<Key, Value>, key: Key, make: () => Value): Value {
  const found = map.get(key);
  if (found !== undefined) return found;
  const made = make();
  map.set(key, made);
  return made;
}
