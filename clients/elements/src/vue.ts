/** Vue: `usePenchantList`, the list of a placement with cards that are reported when they were seen or clicked. */

import { onMounted, onScopeDispose, shallowReactive, toValue, watch, type MaybeRefOrGetter } from "vue";
import { LOADING, PenchantList, type Card, type Entry, type List, type ListState, type ListWish } from "./lists.js";

export interface UsedList extends ListState {
  readonly more: (list?: List) => Promise<void>;
  readonly reload: () => Promise<void>;
  /** Bind it to the element that shows an entry: `v-bind="list.card(entry)"` is for `onClick`, `:ref` for the rest. */
  readonly card: (entry: Entry) => Card;
}

/** Return the list of a placement, which follows its wish; components that are shown together share a request. */
export function usePenchantList(wish: MaybeRefOrGetter<ListWish>): UsedList {
  let list = new PenchantList(toValue(wish));
  let end = (): void => undefined;
  const used = shallowReactive({
    ...LOADING,
    more: (of?: List) => list.more(of),
    reload: () => list.reload(),
    card: (entry: Entry) => list.card(entry),
  });
  const begin = (): void => {
    end();
    list = new PenchantList(toValue(wish));
    end = list.subscribe(() => Object.assign(used, list.state));
    Object.assign(used, list.state);
    list.connect();
  };
  onMounted(() => {
    begin();
    watch(() => JSON.stringify(toValue(wish)), begin);
  });
  onScopeDispose(() => end());
  return used;
}

declare module "vue" {
  interface GlobalComponents {
    "penchant-row": import("vue").DefineComponent<import("./row.js").RowAttributes>;
  }
}
