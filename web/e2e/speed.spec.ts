import { expect, type Page, test } from "@playwright/test";
import { LONG, open } from "./page";
import { pretend } from "./synthetic";

const STEPS = 90;
const FRAME = 1000 / 60;

interface Speed {
  /** Milliseconds from one frame to the next: the median, and what all but one in twenty keep to. */
  median: number;
  late: number;
  /** Milliseconds of work for each frame, on the thread that must not be late; painting is another one's. */
  work: number;
}

/** How fast frames come while something is done at each of them. */
async function speed(page: Page, act: string): Promise<Speed> {
  const session = await page.context().newCDPSession(page);
  // The thread's own time: how busy the machine is with other things is no matter.
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  const busy = async () =>
    (await session.send("Performance.getMetrics")).metrics.find(({ name }) => name === "TaskDuration")!.value * 1000;
  const before = await busy();
  const times = await page.evaluate(
    async ([source, steps]) => {
      const move = new Function("step", source) as (step: number) => void;
      const found: number[] = [];
      let last = performance.now();
      for (let step = 0; step < steps; step++) {
        move(step);
        await new Promise(requestAnimationFrame);
        found.push(performance.now() - last);
        last = performance.now();
      }
      return found.slice(5).sort((one, other) => one - other);
    },
    [act, STEPS] as const,
  );
  const work = ((await busy()) - before) / STEPS;
  return { median: times[Math.floor(times.length / 2)]!, late: times[Math.floor(times.length * 0.95)]!, work };
}

const SLIDE = `
  const slider = document.querySelector(".threshold input");
  const set = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").set;
  set.call(slider, String(70 + (step % 60)));
  slider.dispatchEvent(new Event("input", { bubbles: true }));
`;
const POINT = `
  const stage = document.querySelector(".stage");
  const box = stage.getBoundingClientRect();
  const [angle, radius] = [step / 7, Math.min(box.width, box.height) * (0.15 + 0.02 * (step % 10))];
  stage.dispatchEvent(new PointerEvent("pointermove", {
    bubbles: true,
    clientX: box.x + box.width / 2 + radius * Math.cos(angle),
    clientY: box.y + box.height / 2 + radius * Math.sin(angle),
  }));
`;

// The policy of the page forbids making code from text, which this test does; the other tests keep it.
test.use({ bypassCSP: true });
test.describe.configure({ retries: 2 });

async function measure(page: Page, what: string, most: number): Promise<void> {
  for (const [name, act] of [
    ["slider", SLIDE],
    ["pointer", POINT],
  ] as const) {
    const { work, median, late } = await speed(page, act);
    console.log(
      `${what}, ${name}: ${work.toFixed(1)} ms of work a frame; frames every ${median.toFixed(1)} ms, 95 % within ${late.toFixed(1)} ms`,
    );
    expect(work).toBeLessThan(most);
  }
}

for (const draw of ["rings", "sankey"]) {
  test(`${draw} follow slider and pointer: 128 tokens in the demo’s two models`, async ({ page }) => {
    await open(page, `?draw=${draw}&text=${encodeURIComponent(LONG)}`);
    await measure(page, `${draw}, 6 × 12 × 128`, 0.6 * FRAME);
  });

  test(`${draw} follow slider and pointer: 12 layers, 12 heads, 128 tokens`, async ({ page }) => {
    await pretend(page, 128);
    await open(page, `?draw=${draw}`);
    await measure(page, `${draw}, 12 × 12 × 128`, FRAME);
  });

  test(`${draw} can be used: 12 layers, 12 heads, 512 tokens`, async ({ page }) => {
    await pretend(page, 512);
    await open(page, `?draw=${draw}`);
    await measure(page, `${draw}, 12 × 12 × 512`, 2 * FRAME);
  });
}
