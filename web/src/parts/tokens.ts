/** What two models make of one text. */

import type { TokenList } from "../api/types";

/** Special tokens may have other names; all else must be the same words in the same places. */
export function sameTokens(a: TokenList, b: TokenList): boolean {
  return (
    a.labels.length === b.labels.length &&
    a.labels.every((label, place) => (a.special[place] && b.special[place]) || label === b.labels[place])
  );
}

const RIGHT = /[\u0590-\u08FF\uFB1D-\uFDFF\uFE70-\uFEFF]/u;

/** Whether most words are of a script that is written from right to left. */
export function isFromTheRight(names: readonly string[]): boolean {
  const words = names.filter((name) => /\p{L}/u.test(name));
  return words.length > 0 && words.filter((name) => RIGHT.test(name)).length > words.length / 2;
}
