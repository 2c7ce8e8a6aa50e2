import { readFileSync } from "node:fs";
import AxeBuilder from "@axe-core/playwright";
import { expect, type Page, test } from "@playwright/test";
import { DEMO, LONG, open, read, settled, THIRTY } from "./page";

/** The share of influence that a word has in model A, of what is listed beside the drawing. */
async function share(page: Page, word: string): Promise<number> {
  const cell = page
    .locator(".leading tr", { has: page.getByRole("button", { name: word, exact: true }) })
    .locator("td")
    .nth(1);
  return Number.parseFloat((await cell.textContent()) ?? "");
}

const links = (page: Page) => page.locator(".threshold p");

/** How many pixels of the drawing's canvas are painted on. */
function painted(page: Page): Promise<number> {
  return page.locator(".drawing canvas").evaluate((canvas: HTMLCanvasElement) => {
    const copy = new OffscreenCanvas(canvas.clientWidth, canvas.clientHeight);
    const context = copy.getContext("2d")!;
    context.drawImage(canvas, 0, 0, copy.width, copy.height);
    const { data } = context.getImageData(0, 0, copy.width, copy.height);
    return data.filter((value, place) => place % 4 === 3 && value > 0).length;
  });
}

test("the demo opens with its story, which moves the real controls", async ({ page }) => {
  await page.goto("/");
  const story = page.getByRole("region", { name: "Introduction" });
  await expect(story).toContainText("Where it looks");
  await expect(page.getByRole("textbox", { name: "Text", exact: true })).toHaveValue(DEMO);
  await story.getByRole("button", { name: /^Next/ }).click();
  await expect(story).toContainText("What it takes");
  await expect(page.getByLabel("Measure")).toHaveValue("attention_norm");
  await story.getByRole("button", { name: /^Next/ }).click();
  await expect(page.getByRole("radio", { name: "B − A" })).toBeChecked();
  await page.goBack();
  await expect(page.getByLabel("Measure")).toHaveValue("attention_norm");
  await story.getByRole("button", { name: "Skip" }).click();
  await expect(story).toHaveCount(0);
  await page.goto("/");
  await page.locator(".drawing text").first().waitFor();
  await expect(story).toHaveCount(0);
  await page.getByRole("button", { name: "Help" }).click();
  await page.getByRole("button", { name: "Show the introduction" }).click();
  await expect(story).toContainText("Where it looks");
});

test("a text of one's own is read, and both models answer", async ({ page }) => {
  await open(page);
  await read(page, "A dull, lifeless film.");
  await expect(page.locator(".answers")).toContainText("negative");
  await expect(page.locator(".sentence")).toContainText("lifeless");
  await expect(page).toHaveURL(/text=A\+dull/);
  await page.goBack();
  await expect(page.locator(".sentence")).toContainText("wonderful");
});

test("the threshold leaves more or fewer links", async ({ page }) => {
  await open(page);
  const before = await links(page).textContent();
  await expect.poll(() => painted(page)).toBeGreaterThan(1000);
  const most = await painted(page);
  const slider = page.getByRole("slider", { name: "Threshold" });
  await slider.focus();
  for (let press = 0; press < 30; press++) await page.keyboard.press("ArrowRight");
  await expect(links(page)).not.toHaveText(before ?? "");
  await expect.poll(() => painted(page)).toBeLessThan(most * 0.9);
  await expect(page).toHaveURL(/threshold=0\.\d+/);
  await page.goBack();
  await expect(links(page)).toHaveText(before ?? "");
});

test("a click on a word lights up its paths, in rings and Sankey", async ({ page }) => {
  await open(page);
  const label = page.locator(".drawing text", { hasText: /^plot$/ }).first();
  await label.click({ force: true });
  await expect(page).toHaveURL(/word=plot/);
  await expect(page.getByRole("heading", { name: "plot" })).toBeVisible();
  expect(await page.locator(".links path").count()).toBeGreaterThan(0);
  await page.getByRole("radio", { name: "Sankey" }).check({ force: true });
  await expect(page.getByRole("heading", { name: "plot" })).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(page).not.toHaveURL(/word=/);
});

test("what lies under the pointer is told", async ({ page }) => {
  await open(page);
  const box = (await page.locator(".stage").boundingBox())!;
  await page.mouse.move(box.x + box.width / 2 + 60, box.y + 40);
  await expect(page.locator(".tooltip")).toContainText("[CLS] in layer 1");
  await expect(page.locator(".tooltip")).toContainText("head");
});

test("from weights to norms, [CLS] shrinks and the words remain", async ({ page }) => {
  await open(page, "?show=a");
  const before = await share(page, "[CLS]");
  const word = await share(page, "wonderful");
  await page.getByLabel("Measure").selectOption("attention_norm");
  await settled(page);
  await expect.poll(() => share(page, "[CLS]")).toBeLessThan(before / 2);
  expect(await share(page, "wonderful")).toBeGreaterThan(word);
});

test("two models are compared: each alone, both, and their difference", async ({ page }) => {
  await open(page);
  for (const [name, text] of [
    ["A", /^links: A \d+$/],
    ["B", /^links: B \d+$/],
    ["A + B", /^links: A \d+ · B \d+$/],
    ["B − A", /A \d+ · B/],
  ] as const) {
    await page.getByRole("radio", { name, exact: true }).check({ force: true });
    await expect(links(page)).toHaveText(text);
  }
  await expect(page.getByRole("img", { name: /^Key\. A stronger .* B stronger/ })).toBeVisible();
});

test("a class is a target", async ({ page }) => {
  await open(page);
  await page.getByLabel("Target").selectOption("logit:positive");
  await expect(page.locator(".leading")).toContainText("What reaches");
  await expect(page.getByText(/A can’t be traced from a class/)).toBeVisible();
  await page.getByRole("radio", { name: "B", exact: true }).check({ force: true });
  await expect(page.locator(".leading")).toContainText("What reaches “positive”");
});

test("layers, heads, reading and unit are chosen", async ({ page }) => {
  await open(page);
  await page.getByRole("slider", { name: "First layer" }).focus();
  await page.keyboard.press("ArrowRight");
  await expect(page).toHaveURL(/layers=2-6/);
  await page.getByRole("button", { name: "Head 3", exact: true }).click();
  await expect(page).toHaveURL(/heads=3/);
  await page.getByRole("radio", { name: "Rollout" }).check({ force: true });
  await settled(page);
  await expect(page.getByText("Through layers, the heads are taken together.")).toBeVisible();
  await page.getByRole("radio", { name: "Words" }).check({ force: true });
  await settled(page);
  await expect(page.locator(".view-caption")).toContainText("by word");
});

test("the exact parts are a measure, of tokens and through all layers at once", async ({ page }) => {
  await open(page, "?reading=flow&unit=word");
  await page.getByLabel("Measure").selectOption("decomposed");
  await settled(page);
  await expect(page.locator(".view-caption")).toContainText("decomposed by token");
  await expect(page.getByRole("radio", { name: "Through all" })).toBeChecked();
  for (const name of ["Direct", "Max flow", "Words"])
    await expect(page.getByRole("radio", { name, exact: true })).toBeDisabled();
  await expect(page.locator(".leading tbody button").first()).toHaveText("wonderful");
});

test("everything works from the keyboard", async ({ page }) => {
  await open(page);
  await page.keyboard.press("/");
  await expect(page.getByRole("textbox", { name: "Text", exact: true })).toBeFocused();
  await page.locator(".stage").focus();
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowRight");
  await expect(page).toHaveURL(/word=The/);
  await page.keyboard.press("+");
  await expect(page.getByRole("button", { name: "Zoom to fit" })).toHaveText("150 %");
  await page.keyboard.press("0");
  await expect(page.getByRole("button", { name: "Zoom to fit" })).toHaveText("100 %");
  await page.keyboard.press("Escape");
  await expect(page).not.toHaveURL(/word=/);
});

for (const draw of ["rings", "sankey"]) {
  test(`the ${draw} are taken along as SVG, PNG and CSV`, async ({ page }) => {
    await open(page, `?draw=${draw}`);
    const taken = async (name: string) => {
      await page.getByRole("button", { name: "Export" }).click();
      const waiting = page.waitForEvent("download");
      await page.getByRole("button", { name }).click();
      return readFileSync((await (await waiting).path())!);
    };
    const svg = (await taken("Drawing as SVG")).toString();
    expect(svg).toContain("wonderful");
    expect(svg).toContain("reconstruction error");
    expect(svg).toContain("direct, traced from [CLS], shares from 20 %");
    expect(svg).toContain(draw === "rings" ? "100 % share" : "as wide as its part of the target");
    expect(svg.match(/<path/g)?.length).toBeGreaterThan(20);
    const png = await taken("Drawing as PNG");
    expect(png.subarray(1, 4).toString()).toBe("PNG");
    expect(png.length).toBeGreaterThan(20_000);
    const lines = (await taken("Numbers as CSV")).toString().trim().split("\r\n");
    expect(lines[0]).toBe("model,layer,head,query,key,share");
    expect(lines.length).toBeGreaterThan(100);
  });
}

test("an address brings the same view back", async ({ page, context }) => {
  await open(page, "?measure=head_norm&threshold=0.3&word=acting&draw=sankey&theme=dark");
  const other = await context.newPage();
  await open(other, new URL(page.url()).search);
  await expect(other.getByRole("heading", { name: "acting" })).toBeVisible();
  await expect(other.getByLabel("Measure")).toHaveValue("head_norm");
  await expect(other.locator("html")).toHaveAttribute("data-theme", "dark");
});

test("a bad text is refused with a sentence, and the next one is read", async ({ page }) => {
  await open(page);
  await read(page, "   ");
  await expect(page.getByText("Nothing to read yet")).toBeVisible();
  await read(page, "word ".repeat(900));
  await expect(page.getByRole("alert")).toContainText(/512 are the most/);
  await read(page, "Fine again.");
  await expect(page.locator(".sentence")).toContainText("again");
});

test("a server that is gone is said, and asked again once it is back", async ({ page }) => {
  await open(page);
  await page.route("**/api/**", (route) => route.abort());
  await read(page, "Nobody reads this yet.");
  await expect(page.getByRole("alert")).toContainText("Is it still running?");
  await page.unroute("**/api/**");
  await page.getByRole("button", { name: "Try again" }).click();
  await expect(page.locator(".drawing text").first()).toBeVisible();
  await expect(page.locator(".answer", { hasText: "sst2" })).toContainText("%");
});

test("what takes long can be called off, and asked again", async ({ page }) => {
  await open(page);
  await page.route("**/api/views/maps", (route) => {
    void route.fulfill({
      json: { id: "slow", view: "maps", state: "running", done: 2, total: 6, message: null, result: null },
    });
  });
  await page.route("**/api/jobs/slow/events", () => undefined);
  const gone = page.waitForRequest((request) => request.method() === "DELETE");
  await read(page, "A slow one.");
  await page.getByRole("button", { name: "Cancel" }).click();
  await gone;
  await expect(page.getByText("Called off")).toBeVisible();
  await page.unrouteAll({ behavior: "ignoreErrors" });
  await page.getByRole("button", { name: /after all$/ }).click();
  await expect(page.locator(".sentence")).toContainText("slow");
});

for (const [name, text] of [
  ["Japanese", "この映画の筋書きは薄いが、演技は素晴らしい。"],
  ["emoji", "Great film 🎬🍿, would cry again 😭!"],
  ["right to left", "الفيلم رائع جدا"],
  ["markup", '<img src=x onerror=alert(1)> & "quotes"'],
] as const) {
  test(`a text in ${name} is drawn`, async ({ page }) => {
    const problems: string[] = [];
    page.on("pageerror", (error) => problems.push(error.message));
    page.on("dialog", (dialog) => problems.push(dialog.message()));
    await open(page, `?text=${encodeURIComponent(text)}`);
    await expect(page.locator(".sentence button")).not.toHaveCount(0);
    expect(problems).toEqual([]);
  });
}

test("512 tokens are drawn, together at first and unfolded on zooming", async ({ page }) => {
  test.setTimeout(120_000);
  await open(page, `?text=${encodeURIComponent(`${LONG} `.repeat(4).trim().slice(0, 2350))}`, ".drawing text");
  expect(await page.locator(".sentence button").count()).toBeGreaterThan(400);
  await page.locator(".stage").focus();
  await page.keyboard.press("+");
  await page.keyboard.press("+");
  await page.keyboard.press("+");
  await expect(page.getByRole("button", { name: "Zoom to fit" })).toHaveText("338 %");
  await page.getByRole("radio", { name: "Sankey" }).check({ force: true });
  await expect(page.getByRole("img", { name: /^Flow from the words/ })).toBeVisible();
});

test("nothing leaves this machine, and the page keeps its own policy", async ({ page, baseURL }) => {
  const elsewhere: string[] = [];
  const complaints: string[] = [];
  page.on("request", (request) => {
    if (!request.url().startsWith(baseURL!) && !/^(data|blob):/.test(request.url())) elsewhere.push(request.url());
  });
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) complaints.push(message.text());
  });
  await open(page);
  for (const view of ["Heads", "Words", "Search", "Flow"]) await page.getByRole("tab", { name: view }).click();
  await page.locator(".drawing text").first().waitFor();
  expect(elsewhere).toEqual([]);
  expect(complaints).toEqual([]);
});

for (const theme of ["light", "dark"]) {
  for (const view of ["flow", "flow&draw=sankey", "flow&word=plot&story=1", "heads", "words", "search"]) {
    test(`axe has nothing serious to say: ${view}, ${theme}`, async ({ page }) => {
      await open(page, `?theme=${theme}&view=${view}`, "main > *");
      await page.locator(".state progress").waitFor({ state: "detached" });
      const { violations } = await new AxeBuilder({ page }).analyze();
      const serious = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
      expect(
        serious.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 120)).join(" | ")}`),
      ).toEqual([]);
    });
  }
}

test("the page is there within 2 seconds, and a new sentence of 30 tokens within 1.5", async ({ page }) => {
  await open(page);
  const first = await page.evaluate(async () => {
    const [navigation] = performance.getEntriesByType("navigation") as PerformanceNavigationTiming[];
    return navigation!.domInteractive;
  });
  const started = Date.now();
  await page.goto("/");
  await page.locator(".drawing text").first().waitFor();
  const opened = Date.now() - started;
  const before = await page.locator(".sentence").textContent();
  const asked = Date.now();
  await read(page, THIRTY);
  await expect(page.locator(".sentence")).not.toHaveText(before ?? "", { timeout: 10_000 });
  await settled(page);
  const drawn = Date.now() - asked;
  console.log(
    `interactive after ${first.toFixed(0)} ms, demo drawn after ${opened} ms, a new sentence after ${drawn} ms`,
  );
  expect(opened).toBeLessThan(2000);
  expect(drawn).toBeLessThan(1500);
});
