/** What two models make of one text. */

import type { TokenList } from "../api/types";

/** Special tokens may have other names; all else must be the same words in the same places. */
export function sameTokens(a: TokenList, b: TokenList): boolean {
  return (
    a.labels.length === b.labels.length &&
    a.labels.every((label, place) => (a.special[place] && b.special[place]) || label === b.labels[place])
  );
}
