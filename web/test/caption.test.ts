import { expect, it } from "vitest";
import { briefly, captionOf, scientific } from "../src/parts/caption";
import { isFromTheRight, sameTokens } from "../src/parts/tokens";

it("says what, of which model, and how exact it is", () => {
  const models = { a: { model: "one", reconstruction_error: 1e-7 }, b: { model: "two", reconstruction_error: 8.6e-7 } };
  expect(captionOf("Entropy", models, "13 tokens")).toBe(
    "Entropy · A one, B two · 13 tokens · reconstruction error 8.6·10⁻⁷",
  );
  expect(captionOf("Entropy", { a: { model: "one" } })).toBe("Entropy · A one");
});

it("writes powers of ten as people do", () => {
  expect([0, 4.9e-8, 1.26e-13, 3e10].map(scientific)).toEqual(["0", "4.9·10⁻⁸", "1.3·10⁻¹³", "3.0·10¹⁰"]);
});

it("takes special tokens for the same whatever their names", () => {
  const list = (labels: string[]) => ({
    labels,
    special: labels.map((_, place) => place === 0),
    words: labels.map(() => null),
    starts_word: labels.map(() => true),
  });
  expect(sameTokens(list(["[CLS]", "a", "b"]), list(["<s>", "a", "b"]))).toBe(true);
  expect(sameTokens(list(["[CLS]", "a", "b"]), list(["[CLS]", "a", "c"]))).toBe(false);
  expect(sameTokens(list(["[CLS]", "a"]), list(["[CLS]", "a", "b"]))).toBe(false);
});

it.each([
  ["all-MiniLM-L6-v2", "all-MiniLM-L6-v2"],
  ["org/model", "org/model"],
  ["/home/me/models/bert/model/", "bert/model"],
  ["./runs/7", "runs/7"],
  ["C:\\models\\bert", "models/bert"],
])("calls %s %s", (name, brief) => {
  expect(briefly(name)).toBe(brief);
});

it("knows which scripts are written from right to left, whatever special tokens stand around", () => {
  expect(isFromTheRight(["العلم", "نور", "."])).toBe(true);
  expect(isFromTheRight(["נפלא", "film", "המשחק"])).toBe(true);
  expect(isFromTheRight(["film", "נפלא", "plot"])).toBe(false);
  expect(isFromTheRight(["12", "."])).toBe(false);
});
