import { readFile } from "node:fs/promises";
import AxeBuilder from "@axe-core/playwright";
import { expect, type Page, test } from "@playwright/test";
import { LONG, open } from "./page";

const DRAWING = ".matrix rect";

async function flawless(page: Page): Promise<void> {
  const { violations } = await new AxeBuilder({ page }).include("#view").analyze();
  const grave = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
  expect(grave.map(({ id, nodes }) => [id, nodes[0]?.html])).toEqual([]);
}

test("norms take from [CLS] what weights give it", async ({ page }) => {
  await open(page, "?view=heads&show=a", DRAWING);
  const shares = (await page.locator(".matrix text").allTextContents())
    .filter((text) => text.endsWith("%"))
    .map((text) => Number.parseFloat(text));
  const [weight, norm] = [shares.slice(0, 6), shares.slice(6, 12)];
  for (const layer of [1, 2, 3, 4, 5]) expect(norm[layer]!).toBeLessThan(weight[layer]! / 2);
  await flawless(page);
});

test("the statistic is in the address, and back undoes it", async ({ page }) => {
  await open(page, "?view=heads", DRAWING);
  await page.getByLabel("Colour shows").selectOption({ label: "Entropy" });
  await expect(page).toHaveURL(/stat=entropy/);
  await expect(page.locator(".view-caption")).toContainText("Entropy");
  await page.goBack();
  await expect(page.getByLabel("Colour shows")).toHaveValue("mass-cls");
});

test("keys go from head to head, open one, and go on to the next", async ({ page }) => {
  await open(page, "?view=heads", DRAWING);
  await page.locator(".matrix").focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowRight");
  await expect(page.locator(".tooltip")).toContainText("Layer 2, head 2");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/head=2-2/);
  await page.locator(".heat image").first().waitFor();
  await page.locator(".heat > svg").focus();
  await page.keyboard.press("Shift+ArrowDown");
  await expect(page).toHaveURL(/head=3-2/);
  await flawless(page);
  await page.getByRole("button", { name: "← All heads" }).click();
  await expect(page).not.toHaveURL(/head=/);
});

test("an open head says what each token takes from each, in both models", async ({ page }) => {
  await open(page, "?view=heads&head=5-3", ".heat image");
  await expect(page.locator(".heat image")).toHaveCount(6);
  await page.locator(".heat > svg").focus();
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowDown");
  const tooltip = page.locator(".tooltip");
  await expect(tooltip).toContainText("The looks at [CLS]");
  await expect(tooltip).toContainText("B − A");
  await page.getByRole("radio", { name: "B − A" }).check();
  await expect(page.locator(".heat image")).toHaveCount(2);
});

test("a long text can be zoomed into, and shown whole again", async ({ page }) => {
  await open(page, `?view=heads&head=4-2&show=b&text=${encodeURIComponent(LONG.repeat(3))}`, ".heat image");
  await page.locator(".heat > svg").focus();
  for (let times = 0; times < 5; times++) await page.keyboard.press("+");
  await expect(page.getByRole("button", { name: "show all", exact: true })).toBeVisible();
  await expect(page.locator(".heat text").filter({ hasText: "radios" }).first()).toBeVisible();
  await page.keyboard.press("0");
  await expect(page.getByRole("button", { name: "show all", exact: true })).toHaveCount(0);
});

test("a head that is open stays as it is when all heads are known", async ({ page }) => {
  let release = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  await page.route("**/api/views/heads", async (route) => {
    await held;
    await route.continue();
  });
  await open(page, `?view=heads&head=4-2&text=${encodeURIComponent(LONG)}`, ".heat image");
  await page.locator(".heat > svg").focus();
  await page.keyboard.press("+");
  const all = page.getByRole("button", { name: "show all", exact: true });
  await expect(all).toBeVisible();
  release();
  await expect(page.locator(".overview")).toBeVisible();
  await expect(all).toBeVisible();
  await expect(page.locator(".heat > svg")).toBeFocused();
});

test("the numbers and the drawing can be taken away as files", async ({ page }) => {
  await open(page, "?view=heads&head=5-3", ".heat image");
  for (const [label, suffix, inside] of [
    ["Numbers as CSV", ".csv", "query,key,a_weight,a_norm,b_weight,b_norm,difference_weight,difference_norm"],
    ["Drawing as SVG", ".svg", "reconstruction error"],
  ] as const) {
    await page.getByRole("button", { name: "Export" }).click();
    const waiting = page.waitForEvent("download");
    await page.getByRole("button", { name: label }).click();
    const file = await waiting;
    expect(file.suggestedFilename()).toContain(suffix);
    expect(await readFile(await file.path(), "utf8")).toContain(inside);
  }
});

test("a head that is not there is refused in a sentence", async ({ page }) => {
  await page.goto("/?view=heads&head=9-1");
  await expect(page.getByRole("alert")).toContainText("no attention layer 9");
});
