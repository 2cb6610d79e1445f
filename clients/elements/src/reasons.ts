/** Reasons: one line that says why an entry is in a list, of the two that say most. */

import type { Entry, Share } from "./lists.js";

/** How a line says it; `configureWords` puts other words, of another language, in their place. */
export interface Words {
  /** The titles of pieces that the person likes, or keywords, side by side. */
  readonly join: (reasons: readonly string[]) => string;
  readonly liked: (title: string) => string;
  readonly audience: string;
  readonly popular: string;
  readonly new: string;
}

let words: Words = {
  join: (reasons) => reasons.join(" · "),
  liked: (title) => `You like ${title}`,
  audience: "People with your taste like it",
  popular: "Popular now",
  new: "New",
};

/** Say reasons in other words. */
export function configureWords(other: Partial<Words>): void {
  words = { ...words, ...other };
}

/** Return why an entry is in its list; "" where nothing was asked or speaks for it. */
export function reasonOf({ why }: Entry): string {
  if (why === undefined) return "";
  const said: { share: number; text: string }[] = [];
  const say = (share: number, text: string | undefined): void => {
    if (share > 0 && text !== undefined) said.push({ share, text });
  };
  const sayTerms = (terms: readonly Share[] = []): void => terms.forEach(({ share, keyword }) => say(share, keyword));
  sayTerms(why.terms);
  for (const { part, share, terms, pieces = [] } of why.parts ?? []) {
    sayTerms(terms);
    const named = pieces.filter((piece) => piece.label !== undefined && piece.share > 0);
    for (const piece of named) say(piece.share, words.liked(piece.label as string));
    if (part === "audience" && named.length === 0) say(share, words.audience);
    else if (part === "popularity" || part === "popular") say(share, words.popular);
    else if (part === "new") say(share, words.new);
  }
  const strongest = said.sort((one, other) => other.share - one.share).slice(0, 2);
  return strongest.length === 0 ? "" : words.join(strongest.map(({ text }) => text));
}
