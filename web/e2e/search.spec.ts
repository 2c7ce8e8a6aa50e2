import AxeBuilder from "@axe-core/playwright";
import { expect, test } from "@playwright/test";
import { open } from "./page";

test("a word of the text is searched, and its hits lead to the head", async ({ page }) => {
  await open(page, "?view=search", ".suggestions button");
  await page.getByRole("button", { name: "but", exact: true }).click();
  await expect(page.locator(".summary")).toContainText("a head takes at least 30 % of what it takes in from “but”");
  const row = page.locator(".hits tbody tr").first();
  await expect(row).toContainText("but");
  const { violations } = await new AxeBuilder({ page }).include("#view").analyze();
  expect(violations.filter(({ impact }) => impact === "serious" || impact === "critical")).toEqual([]);
  const head = (await row.locator("td").nth(1).textContent())!.trim();
  await row.getByRole("button", { name: "Head" }).click();
  await expect(page).toHaveURL(new RegExp(`head=${head}`));
  await page.locator(".heat image").first().waitFor();
  await page.goBack();
  await expect(page.locator(".summary")).toBeVisible();
});

test("a hit leads to its flow, which shows it", async ({ page }) => {
  await open(page, "?view=search&find=but", ".hits tbody tr");
  await page.locator(".hits tbody tr").first().getByRole("button", { name: "Flow" }).click();
  await expect(page.getByRole("tab", { name: "Flow" })).toHaveAttribute("aria-selected", "true");
  await expect(page).toHaveURL(/word=but/);
  await expect(page).toHaveURL(/threshold=0.3/);
});

test("a square of the matrix keeps its own places alone", async ({ page }) => {
  await open(page, "?view=search&find=but&least=0.1", ".hits tbody tr");
  const all = await page.locator(".hits tbody tr").count();
  await page.locator(".counts").focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowRight");
  await expect(page.locator(".search [role=status]")).toContainText("Layer 1, head 3");
  await page.keyboard.press("Enter");
  const some = await page.locator(".hits tbody tr").count();
  expect(some).toBeLessThan(all);
  await page.getByRole("button", { name: "show all heads" }).click();
  await expect(page.locator(".hits tbody tr")).toHaveCount(all);
});

test("a word that is not there, and a share that nobody reaches, are said", async ({ page }) => {
  await page.goto("/?view=search&find=zebra");
  await expect(page.getByRole("heading", { name: "“zebra” is not in this text" })).toBeVisible();
  await expect(page.getByRole("button", { name: "acting", exact: true })).toBeVisible();
  await page.goto("/?view=search&find=acting&least=1");
  await expect(page.locator(".summary")).toContainText("Nowhere");
});
