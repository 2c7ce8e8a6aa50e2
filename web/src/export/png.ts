/** An SVG file as pixels, twice as many as on the screen. The typefaces travel inside, as an image may fetch nothing. */

import inter from "@fontsource-variable/inter/files/inter-latin-wght-normal.woff2?url";
import mono from "@fontsource-variable/jetbrains-mono/files/jetbrains-mono-latin-wght-normal.woff2?url";

const SCALE = 2;

/** The bundled typefaces as a style sheet that needs nothing from outside. */
export async function fontFaces(): Promise<string> {
  const faces = await Promise.all(
    [
      ["Inter", inter],
      ["JetBrains Mono", mono],
    ].map(async ([family, url]) => {
      const data = await dataUrl(await (await fetch(url!)).blob());
      return `@font-face{font-family:"${family}";src:url(${data}) format("woff2");font-weight:100 900}`;
    }),
  );
  return faces.join("");
}

export async function pngBlob(svg: string): Promise<Blob> {
  const image = new Image();
  image.src = await dataUrl(new Blob([svg], { type: "image/svg+xml" }));
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = image.naturalWidth * SCALE;
  canvas.height = image.naturalHeight * SCALE;
  canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve, reject) => {
    canvas.toBlob(
      (blob) => (blob ? resolve(blob) : reject(new Error("this browser could not make the picture"))),
      "image/png",
    );
  });
}

function dataUrl(blob: Blob): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result));
    reader.onerror = () => reject(reader.error ?? new Error("the picture could not be read"));
    reader.readAsDataURL(blob);
  });
}
