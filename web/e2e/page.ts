import { expect, type Page } from "@playwright/test";

export const DEMO = "The plot is thin, but the acting is wonderful.";
export const THIRTY =
  "I expected very little from this film, and for the first half hour it gave me exactly that, but then the quiet second act turned everything around and moved me.";
/** 128 tokens. */
export const LONG =
  "The company made radios and, later, television sets in a factory by the canal, which employed 2,300 people in its best years. It was known for good sound and for cabinets of real wood. In the 1970s it could no longer compete with cheaper products from abroad, and it went bankrupt in 1983. The name was sold several times and is now used for headphones. The island is uninhabited today. Until 1930 a few families lived there from fishing and sheep, but after a hard winter they asked to be taken to the mainland. Their houses can still be seen above the harbour, and boats bring visitors.";

/** Opens the page at an address, without the story, and waits until its drawing is there. */
export async function open(page: Page, query = "", ready = ".drawing text"): Promise<void> {
  await page.addInitScript(() => localStorage.setItem("attnscope.story", "1"));
  await page.goto(`/${query}`);
  await page.locator(ready).first().waitFor();
  await settled(page);
}

export async function settled(page: Page): Promise<void> {
  await expect(page.locator("[data-working]")).toHaveCount(0);
}

/** Types a text and reads it. */
export async function read(page: Page, text: string): Promise<void> {
  await page.getByRole("textbox", { name: "Text", exact: true }).fill(text);
  await page.keyboard.press("Enter");
}
