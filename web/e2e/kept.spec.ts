/** The page as one file, opened from a folder: everything in it, and nothing asked of anybody. */

import { execFileSync } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import AxeBuilder from "@axe-core/playwright";
import { expect, type Page, test } from "@playwright/test";
import { python, repository } from "../playwright.config.ts";
import { DEMO } from "./page";

const file = join(mkdtempSync(join(tmpdir(), "attnscope-kept-")), "page.html");

test.beforeAll(() => {
  test.setTimeout(180_000);
  const code = `import attnscope as ats
base, tuned = ats.demo_models()
ats.export(base, ${JSON.stringify(DEMO)}, ${JSON.stringify(file)}, tuned=tuned, measures=["weight", "attention_norm"])`;
  execFileSync(python, ["-c", code], {
    cwd: repository,
    env: { ...process.env, PYTHONPATH: join(repository, "src"), OMP_NUM_THREADS: "1" },
  });
});

async function open(page: Page, query = ""): Promise<string[]> {
  const problems: string[] = [];
  page.on("pageerror", (error) => problems.push(error.message));
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) problems.push(message.text());
  });
  page.on("request", (request) => {
    if (!request.isNavigationRequest() && !/^(data|blob):/.test(request.url())) problems.push(request.url());
  });
  await page.goto(pathToFileURL(file).href + query);
  await page.locator("main svg text").first().waitFor();
  return problems;
}

test("every choice that is offered has its answer", async ({ page }) => {
  const problems = await open(page);
  const answered = () => expect(page.getByText("This file holds one text")).toHaveCount(0);
  for (const measure of ["weight", "attention_norm"]) {
    await page.getByLabel("Measure").selectOption(measure);
    for (const reading of ["Rollout", "Max flow", "Direct"]) {
      await page.getByRole("radio", { name: reading }).check({ force: true });
      await expect(page.locator(".sentence button").first()).toBeVisible();
      await answered();
    }
  }
  await page.getByRole("radio", { name: "Sankey" }).check({ force: true });
  await page.locator(".sentence button", { hasText: "acting" }).click();
  await expect(page.getByRole("heading", { name: "acting" })).toBeVisible();
  await page.getByRole("tab", { name: "Words" }).click();
  await expect(page.getByText("It adds up")).toBeVisible();
  for (const target of ["negative", "positive"]) {
    await page.getByRole("radio", { name: target }).check({ force: true });
    await answered();
  }
  await page.getByRole("tab", { name: "Heads" }).click();
  await answered();
  expect(problems).toEqual([]);
});

test("each head is there", async ({ page }) => {
  for (const [layer, head] of [
    [1, 1],
    [6, 12],
  ]) {
    await open(page, `?view=heads&head=${layer}-${head}`);
    await expect(page.getByText(`Layer ${layer}, head ${head}`).first()).toBeVisible();
  }
});

test("it offers no text of one's own, and no view that would have to ask", async ({ page }) => {
  await open(page);
  const text = page.getByRole("textbox", { name: "Text", exact: true });
  await expect(text).toHaveValue(DEMO);
  await expect(text).toHaveAttribute("readonly", "");
  await expect(page.getByRole("button", { name: "Read" })).toHaveCount(0);
  await expect(page.getByRole("tab")).toHaveText(["Flow", "Heads", "Words"]);
});

test("another text in the address is said not to be there", async ({ page }) => {
  await page.goto(`${pathToFileURL(file).href}?text=Another.`);
  await expect(page.getByText("This file holds one text").first()).toBeVisible();
});

for (const theme of ["light", "dark"]) {
  test(`axe has nothing serious to say, ${theme}`, async ({ page }) => {
    await open(page, `?theme=${theme}`);
    const { violations } = await new AxeBuilder({ page }).analyze();
    expect(violations.filter(({ impact }) => impact === "serious" || impact === "critical")).toEqual([]);
  });
}
