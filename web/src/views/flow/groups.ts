/** Which tokens are drawn together: each by itself while there is room, then by words, then by phrases. */

import type { TokenList } from "../../api/types";

export interface Group {
  /** The first token, and the one behind the last. */
  first: number;
  end: number;
  label: string;
  special: boolean;
}

/** More than this many around a ring can't be told apart; zooming in makes room for more. */
export const ROOM = 60;

const BREAK = /^[.,;:!?…。、！？；：)\]}»”"]+$/u;
const PIECE = /^(##|▁|Ġ|@@)/u;
const NUMBERED = / \(\d+\)$/u;

export function groupsOf(tokens: TokenList, room = ROOM): Group[] {
  const single = tokens.labels.map((_, place) => group(tokens, place, place + 1));
  if (single.length <= room) return single;
  const words = wordsOf(tokens);
  for (let size = 1; ; size++) {
    const found = size === 1 ? words : phrases(tokens, words, size);
    if (found.length <= room || size > words.length) return found;
  }
}

/** Which group each token is in. */
export function groupOf(groups: readonly Group[], tokens: number): Uint16Array {
  const found = new Uint16Array(tokens);
  for (const [number, { first, end }] of groups.entries()) found.fill(number, first, end);
  return found;
}

function wordsOf(tokens: TokenList): Group[] {
  const found: Group[] = [];
  let first = 0;
  for (let place = 1; place <= tokens.labels.length; place++) {
    const word = tokens.words[place];
    if (place < tokens.labels.length && word != null && word === tokens.words[first]) continue;
    found.push(group(tokens, first, place));
    first = place;
  }
  return found;
}

/** Words together until there are enough of them, or a comma or full stop comes after half of them. */
function phrases(tokens: TokenList, words: readonly Group[], size: number): Group[] {
  const found: Group[] = [];
  let first = 0;
  for (const [place, word] of words.entries()) {
    const count = place - first + 1;
    const next = words[place + 1];
    const ends = count >= size || (count > size / 2 && BREAK.test(word.label));
    if (!(ends || !next || word.special || next.special) || (next && count < size + 2 && BREAK.test(next.label)))
      continue;
    found.push(group(tokens, words[first]!.first, word.end));
    first = place + 1;
  }
  return found;
}

function group(tokens: TokenList, first: number, end: number): Group {
  if (end - first === 1) return { first, end, label: plain(tokens.labels[first]!), special: tokens.special[first]! };
  let label = "";
  for (let place = first; place < end; place++) {
    const piece = plain(tokens.labels[place]!);
    const joined = !tokens.starts_word[place] || place === first || BREAK.test(piece);
    label += joined ? piece : ` ${piece}`;
  }
  return { first, end, label, special: false };
}

/** A label without what only makes it different from others. */
export function plain(label: string): string {
  return unmarked(label.replace(NUMBERED, "")) || label;
}

/** A token's or class's name without what a tokenizer marks pieces or spaces with. */
export function unmarked(name: string): string {
  return name.replace(PIECE, "") || name;
}
