/** A page in Vue: a row by the hook. */

import { createApp, defineComponent, h } from "vue";
import { usePenchantList } from "penchant-elements/vue";

const Row = defineComponent(() => {
  const list = usePenchantList({ source: "shop", placement: "home", take: 3 });
  return () => [
    h("ol", list.entries.map((entry) => h("li", { key: entry.id, ...list.card(entry) }, h("a", { href: `#${entry.id}` }, entry.label)))),
    list.hasMore ? h("button", { onClick: () => list.more() }, "More") : null,
  ];
});

createApp(Row).mount("#app");
