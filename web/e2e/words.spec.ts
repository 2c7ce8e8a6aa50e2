import { readFile } from "node:fs/promises";
import AxeBuilder from "@axe-core/playwright";
import { expect, test } from "@playwright/test";
import { LONG, open } from "./page";

const DRAWING = ".words svg text";

test("words and biases add up to the logit", async ({ page }) => {
  await open(page, "?view=words", DRAWING);
  await expect(page.locator(".words svg")).toContainText("adds to positive");
  await expect(page.locator(".details")).toContainText("5.06 from the words and −2.12 from the biases are 2.94");
  await expect(page.locator(".details")).toContainText("has no head that decides anything");
  const { violations } = await new AxeBuilder({ page }).include("#view").analyze();
  expect(violations.filter(({ impact }) => impact === "serious" || impact === "critical")).toEqual([]);
});

test("another class turns the words around, and the flow is asked about it too", async ({ page }) => {
  await open(page, "?view=words", DRAWING);
  await page.getByRole("radio", { name: "negative" }).check();
  await expect(page.locator(".words svg")).toContainText("adds to negative");
  await expect(page).toHaveURL(/target=logit%3Anegative/);
  await expect(page.locator(".words svg")).toContainText("−5.27");
});

test("a word is chosen by keys, and what it receives is shown layer by layer", async ({ page }) => {
  await open(page, "?view=words&order=size", DRAWING);
  await page.locator(".words svg").focus();
  await page.keyboard.press("ArrowDown");
  await expect(page).toHaveURL(/word=wonderful/);
  await expect(page.getByRole("heading", { name: /Layer by layer: wonderful/ })).toBeVisible();
});

test("the methods are put to the test on demand, with the control", async ({ page }) => {
  await open(page, "?view=words", DRAWING);
  await expect(page.locator(".methods")).toHaveCount(0);
  await page.getByRole("button", { name: "Put the methods to the test" }).click();
  await expect(page.locator(".methods")).toContainText("random, the control", { timeout: 40_000 });
  await page.locator(".methods").getByRole("button", { name: "attnlrp" }).click();
  await expect(page).toHaveURL(/method=attnlrp/);
  await expect(page.getByLabel("Method")).toHaveValue("attnlrp");
});

test("the numbers come with their bias", async ({ page }) => {
  await open(page, "?view=words&show=b", DRAWING);
  await page.getByRole("button", { name: "Export" }).click();
  const waiting = page.waitForEvent("download");
  await page.getByRole("button", { name: "Numbers as CSV" }).click();
  const text = await readFile(await (await waiting).path(), "utf8");
  expect(text).toMatch(/^word,contribution_b,weight_b,norm_b/);
  expect(text).toMatch(/\(bias B\),-2\.12/);
});

test("a long text stays within the page", async ({ page }) => {
  await open(page, `?view=words&text=${encodeURIComponent(LONG.repeat(3))}`, DRAWING);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  expect(wide).toBeLessThanOrEqual(0);
});
