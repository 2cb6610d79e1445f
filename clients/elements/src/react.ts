/** React: `usePenchantList`, the list of a placement with cards that are reported when they were seen or clicked. */

import { useEffect, useMemo, useSyncExternalStore } from "react";
import { LOADING, PenchantList, type Card, type Entry, type List, type ListState, type ListWish } from "./lists.js";
import type { PenchantRow, RowAttributes } from "./row.js";

export interface UsedList extends ListState {
  readonly more: (list?: List) => Promise<void>;
  readonly reload: () => Promise<void>;
  /** Spread on the element that shows an entry. */
  readonly card: (entry: Entry) => Card;
}

/** Return the list of a placement; components that are shown together share a request. */
export function usePenchantList(wish: ListWish): UsedList {
  const name = JSON.stringify(wish);
  const list = useMemo(() => new PenchantList(JSON.parse(name) as ListWish), [name]);
  const state = useSyncExternalStore(list.subscribe, () => list.state, () => LOADING);
  useEffect(list.connect, [list]);
  return { ...state, more: list.more, reload: list.reload, card: list.card };
}

declare module "react" {
  namespace JSX {
    interface IntrinsicElements {
      "penchant-row": import("react").HTMLAttributes<PenchantRow> & import("react").RefAttributes<PenchantRow> & RowAttributes;
    }
  }
}
