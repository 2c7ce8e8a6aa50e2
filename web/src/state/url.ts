/** What a person has chosen, and how it stands in the address: what is left as it was is left out. */

export interface Choices {
  /** null: the demo's sentence, where the server has one. */
  text: string | null;
  pair: string | null;
  view: string;
  draw: "rings" | "sankey";
  measure: string;
  reading: "direct" | "cumulative" | "flow";
  unit: "token" | "word";
  /** Shares of a query below this are left out; null: what suits the measure. */
  threshold: number | null;
  /** First and last layer, counted from 1; null: all. */
  layers: readonly [number, number] | null;
  /** Counted from 1; null: all. */
  heads: readonly number[] | null;
  /** A token by its label, or logit:NAME; null: what the model decides from. */
  target: string | null;
  show: "a" | "b" | "both" | "diff";
  /** The label of the selected token. */
  word: string | null;
  /** The statistic that the matrix of heads shows. */
  stat: string | null;
  /** The head that is open: layer and head, counted from 1. */
  head: readonly [number, number] | null;
  /** How the words' contributions are worked out. */
  method: string;
  order: "text" | "size";
  /** Whose attention stands beside the contributions: that of all layers, or of the token that decides in the last. */
  received: "all" | "last";
  /** What is searched for, how much counts, which way it is looked at, and in which texts. */
  find: string | null;
  least: number;
  direction: "to" | "from";
  where: "text" | "corpus";
  theme: "auto" | "light" | "dark";
  /** The step of the story that is open; null: none. */
  story: number | null;
}

export const DEFAULTS: Choices = {
  text: null,
  pair: null,
  view: "flow",
  draw: "rings",
  measure: "weight",
  reading: "direct",
  unit: "token",
  threshold: null,
  layers: null,
  heads: null,
  target: null,
  show: "both",
  word: null,
  stat: null,
  head: null,
  method: "decomposed",
  order: "text",
  received: "all",
  find: null,
  least: 0.3,
  direction: "to",
  where: "text",
  theme: "auto",
  story: null,
};

interface Codec<T> {
  /** undefined: this can't be read, and the default stands. */
  read: (text: string) => T | undefined;
  write: (value: T) => string;
}

const words: Codec<string | null> = { read: (text) => text, write: (value) => value ?? "" };
const name: Codec<string> = {
  read: (text) => (/^[\w-]{1,40}$/.test(text) ? text : undefined),
  write: (value) => value,
};

function oneOf<T extends string>(...allowed: T[]): Codec<T> {
  return { read: (text) => allowed.find((value) => value === text), write: (value) => value };
}

const pairOfNumbers: Codec<readonly [number, number] | null> = {
  read: (text) => {
    const [, first, last] = /^(\d{1,4})-(\d{1,4})$/.exec(text) ?? [];
    return first && last && Number(first) > 0 && Number(last) > 0 ? [Number(first), Number(last)] : undefined;
  },
  write: (value) => (value ?? []).join("-"),
};

const share: Codec<number> = {
  read: (text) => {
    const value = Number(text);
    return text !== "" && value >= 0 && value <= 1 ? value : undefined;
  },
  write: (value) => String(Number((value ?? 0).toPrecision(3))),
};

/** At nothing at all, everything would pass. */
const someShare: Codec<number> = { ...share, read: (text) => share.read(text) || undefined };

const CODECS: { [K in keyof Choices]: Codec<Choices[K]> } = {
  text: words,
  pair: words,
  view: name,
  draw: oneOf("rings", "sankey"),
  measure: name,
  reading: oneOf("direct", "cumulative", "flow"),
  unit: oneOf("token", "word"),
  threshold: share as Codec<number | null>,
  layers: {
    ...pairOfNumbers,
    read: (text) => {
      const found = pairOfNumbers.read(text);
      return found && found[0] <= found[1] ? found : undefined;
    },
  },
  heads: {
    read: (text) => (/^\d{1,3}(,\d{1,3})*$/.test(text) ? text.split(",").map(Number) : undefined),
    write: (value) => (value ?? []).join(","),
  },
  target: words,
  show: oneOf("a", "b", "both", "diff"),
  word: words,
  stat: name as Codec<string | null>,
  head: pairOfNumbers,
  method: name,
  order: oneOf("text", "size"),
  received: oneOf("all", "last"),
  find: words,
  least: someShare,
  direction: oneOf("to", "from"),
  where: oneOf("text", "corpus"),
  theme: oneOf("auto", "light", "dark"),
  story: {
    read: (text) => (/^\d$/.test(text) ? Number(text) : undefined),
    write: (value) => String(value ?? ""),
  },
};

const KEYS = Object.keys(CODECS) as (keyof Choices)[];

/** The query part of an address, with its question mark; empty where everything is as it was. */
export function format(choices: Choices): string {
  const found = new URLSearchParams();
  for (const key of KEYS) {
    const written = write(key, choices);
    if (written !== null && written !== write(key, DEFAULTS)) found.set(key, written);
  }
  const text = found.toString();
  return text && `?${text}`;
}

/** What an address says; what can't be read is left as it was. */
export function parse(query: string): Choices {
  const given = new URLSearchParams(query);
  const found: Record<string, unknown> = { ...DEFAULTS };
  for (const key of KEYS) {
    const text = given.get(key);
    const value = text === null ? undefined : CODECS[key].read(text);
    if (value !== undefined) found[key] = value;
  }
  return found as unknown as Choices;
}

/** null: nothing is chosen, which is not the same as an empty text. */
function write<K extends keyof Choices>(key: K, choices: Choices): string | null {
  const value = choices[key];
  return value === null ? null : CODECS[key].write(value);
}
