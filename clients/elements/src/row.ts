/** Row: `<penchant-row>`, the list of a placement as a row of cards that scrolls. */

import type { Include } from "penchant";
import { LOADING, PenchantList, type Card, type Entry, type List, type ListState, type ListWish } from "./lists.js";
import { reasonOf } from "./reasons.js";
import { clientOf } from "./setup.js";
import { STYLE } from "./style.js";

const ATTRIBUTES = "source placement content user take rows heading fallback-heading level href link picture picture-base covers reasons include";
/** Pictures within an address, which an image never runs. */
const DATA_PICTURE = /^data:image\/(?:avif|gif|jpeg|png|svg\+xml|webp)[;,]/i;
/** The attributes of a row, as a template writes them. */
export interface RowAttributes {
  source: string;
  placement: string;
  content?: string;
  user?: string;
  take?: number | string;
  rows?: number | string;
  heading?: string;
  "fallback-heading"?: string;
  level?: number | string;
  href?: string;
  link?: string;
  picture?: string;
  "picture-base"?: string;
  covers?: boolean;
  reasons?: "always" | "hover";
  include?: string;
}
let sheet: CSSStyleSheet | undefined;

// Where pages are rendered on a server there are no elements, and nothing is made of this one.
const Base = (globalThis.HTMLElement ?? class {}) as typeof HTMLElement;

export class PenchantRow extends Base {
  static readonly observedAttributes = ATTRIBUTES.split(" ");
  /** Makes the content of a card, in the page's own style; without it a card has picture, label and reason. */
  render: ((entry: Entry, list: List) => Node) | undefined;
  #list: PenchantList | undefined;
  #wished = "";
  /** What is drawn: of each list its cards, and the first list's id. */
  #drawn: HTMLUListElement[] = [];
  #drawnId: string | undefined;
  #held: Card[] = [];
  #isQueued = false;

  /** What the row shows. */
  get state(): ListState {
    return this.#list?.state ?? LOADING;
  }

  /** Show lists that were loaded elsewhere, such as on a server that rendered the page; nothing is requested. */
  set lists(lists: readonly List[]) {
    this.#begin();
    this.#list?.hydrate(lists);
  }

  connectedCallback(): void {
    if (this.shadowRoot === null) {
      if (sheet === undefined) (sheet = new CSSStyleSheet()).replaceSync(STYLE);
      this.attachShadow({ mode: "open" }).adoptedStyleSheets = [sheet];
      this.addEventListener("keydown", (event) => this.#move(event));
    }
    this.#update();
  }

  disconnectedCallback(): void {
    for (const card of this.#held) card.ref(null);
  }

  attributeChangedCallback(): void {
    if (!this.isConnected || this.#isQueued) return;
    this.#isQueued = true;
    queueMicrotask(() => {
      this.#isQueued = false;
      this.#update();
    });
  }

  /** Load the row anew, since what the person did has changed it. */
  async reload(): Promise<void> {
    await this.#list?.reload();
  }

  #text(name: string): string | undefined {
    return this.getAttribute(name) ?? undefined;
  }

  #wish(): ListWish {
    return {
      source: this.#text("source") ?? "",
      placement: this.#text("placement") ?? "",
      content: this.#text("content"),
      user: this.#text("user"),
      take: Number(this.#text("take")) || undefined,
      explain: this.hasAttribute("reasons") || undefined,
      include: this.#text("include")?.split(/[\s,]+/) as Include[] | undefined,
    };
  }

  /** Make the list that the attributes wish for, where it is another one than before. */
  #begin(): boolean {
    const wish = this.#wish();
    const wished = JSON.stringify(wish);
    if (this.#list !== undefined && wished === this.#wished) return false;
    this.#wished = wished;
    const list = new PenchantList(wish);
    this.#list = list;
    list.subscribe(() => this.#list === list && this.#draw(list));
    return true;
  }

  #update(): void {
    if (this.#begin()) this.#take();
    const list = this.#list as PenchantList;
    this.#drawn = [];
    this.#draw(list);
    list.connect();
  }

  /** Take the list that a server has written into the element, if it has. */
  #take(): void {
    const written = this.querySelector('script[type="application/json"]')?.textContent;
    if (written == null) return;
    try {
      const given = JSON.parse(written) as List[] | { lists: List[] };
      this.#list?.hydrate("lists" in given ? given.lists : given);
    } catch (error) {
      this.#complain(error);
    }
  }

  #draw(list: PenchantList): void {
    const { lists, entries, isLoading, error } = list.state;
    const root = this.shadowRoot as ShadowRoot;
    if (error !== null) this.#complain(error);
    const isEmpty = entries.length === 0;
    this.toggleAttribute("empty", isEmpty && !isLoading && this.querySelector("[slot=empty]") === null);
    if (isEmpty || this.#drawn.length === 0 || this.#drawnId !== lists[0]?.listId) {
      for (const card of this.#held.splice(0)) card.ref(null);
      for (const own of this.querySelectorAll("[slot^=card-]")) own.remove();
      this.#drawn = [];
      root.replaceChildren(...(!isEmpty ? [] : isLoading ? this.#placeholders() : [make("slot", { name: "empty" })]));
    }
    if (isEmpty) return;
    this.#drawnId = lists[0]?.listId;
    for (const [place, each] of lists.entries()) {
      const cards = (this.#drawn[place] ??= this.#section(each, place, root));
      for (const entry of each.content.slice(cards.childElementCount)) cards.append(this.#card(entry, each));
    }
    if (!isLoading) this.#say("penchant-list", { lists });
  }

  #complain(error: unknown): void {
    console.error("penchant-row", this.#text("placement"), error);
    this.#say("penchant-error", { error });
  }

  #section(list: List, place: number, root: ShadowRoot): HTMLUListElement {
    const title = this.#title(list);
    const cards = this.#scroller(place);
    if (title !== "") cards.ariaLabel = title;
    const heading = title === "" ? "" : make(`h${this.#text("level") ?? 2}` as "h2", { part: "heading" }, title);
    root.append(make("section", { part: "row" }, place === 0 ? make("slot", { name: "heading" }, heading) : heading, cards));
    return cards;
  }

  #scroller(place: number): HTMLUListElement {
    const cards = make("ul", { part: "cards", role: "list", class: this.#text("reasons") === "hover" ? "hover" : "" });
    // Something in what scrolls must take the focus.
    if (!this.hasAttribute("href") && !this.hasAttribute("link")) cards.tabIndex = 0;
    cards.addEventListener("scroll", () => {
      const scrolled = Math.abs(cards.scrollLeft);
      if (scrolled > 0 && scrolled + 2 * cards.clientWidth >= cards.scrollWidth) void this.#list?.more(this.state.lists[place]);
    });
    return cards;
  }

  #title({ seed }: List): string {
    const heading = this.#text("heading") ?? "";
    if (!heading.includes("{seed}")) return heading;
    const name = seed?.label ?? seed?.keyword ?? seed?.contentId;
    return name === undefined ? (this.#text("fallback-heading") ?? "") : heading.replaceAll("{seed}", name);
  }

  /** Cards of the size of those to come, for nobody to read. */
  #placeholders(): Node[] {
    const reason = this.hasAttribute("reasons") ? [make("p", { part: "reason" })] : [];
    const card = make("li", { part: "card" }, make("span", { part: "picture" }), make("span", { part: "label" }), ...reason);
    const cards = make("ul", { part: "cards" });
    for (let count = Number(this.#text("take")) || 10; count > 0; count -= 1) cards.append(card.cloneNode(true));
    const heading = this.hasAttribute("heading") ? [make("p", { part: "heading" })] : [];
    const row = make("section", { part: "row placeholder", "aria-hidden": "true" }, ...heading, cards);
    return Array.from({ length: Number(this.#text("rows")) || 1 }, () => row.cloneNode(true));
  }

  #card(entry: Entry, list: List): HTMLLIElement {
    const element = make("li", { part: "card" });
    if (this.render === undefined) this.#fill(element, entry);
    else {
      // In the page's tree, so that the page's style holds.
      const own = make("div", { slot: `card-${this.#held.length}` }, this.render(entry, list));
      this.append(own);
      element.append(make("slot", { name: own.slot }));
    }
    const card = (this.#list as PenchantList).card(entry);
    card.ref(element);
    this.#held.push(card);
    const click = (event: Event): void => {
      if (!event.composedPath().some((each) => each instanceof HTMLAnchorElement || each instanceof HTMLButtonElement)) return;
      card.onClick();
      this.#say("penchant-click", { entry, list });
    };
    element.addEventListener("click", click);
    element.addEventListener("auxclick", click);
    return element;
  }

  #fill(element: HTMLElement, entry: Entry): void {
    const address = this.#linkOf(entry);
    const link = address === null ? make("span", { part: "link" }) : make("a", { part: "link", href: address });
    const picture = make("span", { part: "picture" });
    const spare = this.#picturesOf(entry);
    const source = spare.pop();
    if (source) {
      const image = make("img", { part: "image", alt: "", loading: "lazy", decoding: "async", src: source });
      image.addEventListener("error", () => (spare[0] ? (image.src = spare.pop() as string) : image.remove()));
      picture.append(image);
    }
    link.append(picture, make("span", { part: "label" }, entry.label ?? entry.id));
    element.append(link);
    if (!this.hasAttribute("reasons")) return;
    const reason = make("p", { part: "reason", id: `reason-${this.#held.length}` }, reasonOf(entry));
    link.setAttribute("aria-describedby", reason.id);
    element.append(reason);
  }

  #linkOf(entry: Entry): string | null {
    const pattern = this.#text("href");
    const named = this.#text("link");
    if (pattern !== undefined) return addressOf(pattern.replaceAll("{id}", encodeURIComponent(entry.id)), document.baseURI);
    return named === undefined ? null : addressOf(entry.extras?.[named], document.baseURI);
  }

  /** The picture of an entry, last, and before it what stands there where it cannot be loaded. */
  #picturesOf({ extras, label, id }: Entry): string[] {
    const given = extras?.[this.#text("picture") ?? "image"];
    if (typeof given === "string" && DATA_PICTURE.test(given)) return [given];
    const service = clientOf().address;
    const base = this.#text("picture-base");
    const address = addressOf(given, base === undefined ? service : new URL(base, document.baseURI).href);
    const cover = this.hasAttribute("covers") && `${service}-/cover.svg?title=${encodeURIComponent([...(label ?? id)].slice(0, 200).join(""))}`;
    return [cover, address].filter((each) => each) as string[];
  }

  /** Arrows go from card to card, Home and End to the first and the last. */
  #move(event: KeyboardEvent): void {
    const from = event.composedPath().find((each) => each instanceof HTMLLIElement);
    const cards = [...(from?.parentElement?.children ?? [])];
    const here = cards.indexOf(from as Element);
    const isTurned = from !== undefined && getComputedStyle(from).direction === "rtl";
    const steps: Record<string, number> = { ArrowRight: here + (isTurned ? -1 : 1), ArrowLeft: here + (isTurned ? 1 : -1), Home: 0, End: cards.length - 1 };
    const next = cards[steps[event.key] ?? -1]?.querySelector<HTMLElement>("a, button");
    if (here < 0 || next == null || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    next.focus();
  }

  #say(name: string, detail: object): void {
    this.dispatchEvent(new CustomEvent(name, { detail, bubbles: true, composed: true }));
  }
}

/** Return an address that a link or a picture may have: of http and https alone. */
function addressOf(given: unknown, base: string): string | null {
  if (typeof given !== "string" || given === "") return null;
  try {
    const address = new URL(given, base);
    return /^https?:$/.test(address.protocol) ? address.href : null;
  } catch {
    return null;
  }
}

function make<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  attributes: Record<string, string>,
  ...content: (Node | string)[]
): HTMLElementTagNameMap[Name] {
  const element = document.createElement(name);
  for (const key in attributes) element.setAttribute(key, attributes[key] as string);
  element.append(...content);
  return element;
}

declare global {
  interface HTMLElementTagNameMap {
    "penchant-row": PenchantRow;
  }
}
