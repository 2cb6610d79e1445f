/** Rows of recommendations for web pages: `<penchant-row>` is defined by importing this. */

import { PenchantRow, type RowAttributes } from "./row.js";

export { PenchantList, type Card, type Entry, type List, type ListState, type ListWish, type Share } from "./lists.js";
export { configureWords, reasonOf, type Words } from "./reasons.js";
export { clientOf, configure, type Setup } from "./setup.js";
export { reportSeen } from "./sightings.js";
export { PenchantRow, type RowAttributes };

if (globalThis.customElements !== undefined && customElements.get("penchant-row") === undefined) {
  customElements.define("penchant-row", PenchantRow);
}
